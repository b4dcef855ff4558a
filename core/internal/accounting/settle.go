package accounting

import (
	"context"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/wire"
	"github.com/reveille-run/reveille/core/store"
)

// End is how a write ends the open stretch of a run, or leaves it open.
type End struct {
	// Run is the run's record as the write stores it: its agent, its status and
	// termination, and its usage at the start of its stretches. nil: the write does not end
	// the run's stretch.
	Run  *thread.RunRecord
	User string // owner of the thread
	// Used is the usage of the whole run so far, from its totals. Lost means that it cannot
	// be read.
	Used *thread.Metered
	Lost bool
	// Unlogged is the usage of models for a turn that no log has, unless the log, which
	// ends at LogEnd, has it since: the response of the write that stored it may have been
	// lost. nil: no such turn.
	Unlogged *Spent
	LogEnd   uint64
	Deleted  bool           // the thread is deleted by the write: nothing of it is estimated
	At       int64          // unix milliseconds
	Records  []store.Record // what else the write stores: what that costs is estimated
}

// Settlement is what a write stores for the accounts of a run. The zero value stores
// nothing.
type Settlement struct {
	// Record is the record of usage of the stretch that the write ends, or, where a run
	// stays open after a turn that no log has, that of the stretch's wasted calls. Its
	// Name is empty where there is nothing to store.
	Record store.Record
	// Bases are those of the run's record where the run waits: where its next stretch
	// begins. nil: they stay as they are.
	Bases []thread.Base

	usage  *account.Record // of the stretch that the write ends; nil: it ends none
	wasted *thread.Metered // by the stretch, if Record has it
}

// Has reports whether there is a record to store.
func (s *Settlement) Has() bool { return s.Record.Name != "" }

// Settle returns the records that a write stores for the run's accounts: next and result
// are those of Apply. It reads nothing and changes nothing, so that it may be called for
// each head that a write is tried on; only the one passed to [Run.Report] counts.
//
// A write that ends the stretch has its usage record. A write that leaves the run open, but
// releases its claim or starts to close it, has the record of wasted calls: of all turns of
// the stretch that no log has, so that the newest one in force has everything.
func (r *Run) Settle(next thread.Head, result thread.Result, e End) (s Settlement, err error) {
	if !r.books.Meters() {
		return s, nil
	}
	wasted, more := r.wasted, e.Unlogged.asked() && e.LogEnd <= r.from
	if more {
		wasted = e.Unlogged.addTo(wasted)
	}
	if result.Stretch == nil {
		if more && next.Run.ID == r.claim.Run {
			s.Record.Name, s.wasted = recordname.Wasted(r.claim.Run, next.Version), wasted
			s.Record.Payload, err = r.books.Records.Encode(wastedCalls, wasted)
		}
		return s, err
	}
	if e.Run == nil {
		return s, nil
	}
	base, known := e.Run.Base(*result.Stretch)
	if e.Run.Status == core.RunWaiting {
		s.Bases = []thread.Base{{Version: result.Stretch.Behind, Used: base}, {Version: next.Version, Used: e.Used}}
	}
	used := r.usage(*result.Stretch, e)
	s.usage = &used
	if s.usage.Lost = e.Lost || !known; !s.usage.Lost {
		own := e.Used.Since(base)
		if wasted != nil {
			own = *own.Plus(wasted)
		}
		s.usage.Models, s.usage.Tools, s.usage.ToolTime = own.Models, own.Tools, own.ToolMillis
	}
	s.Record, err = EncodeRecord(s.usage, r.books.Records, r.books.Metering.Keep)
	return s, err
}

// The ends of a stretch in a record of a run without a termination.
const (
	endWaiting = "waiting" // the run waits after it
	endDeleted = "deleted" // its thread was deleted
)

// usage is the record of a stretch without what its models and tools have used.
func (r *Run) usage(stretch thread.Stretch, e End) account.Record {
	u := account.Record{
		User: e.User, Agent: e.Run.AgentID, Run: r.claim.Run, Stretch: stretch.Number, Since: stretch.Since, Until: e.At,
		End: endWaiting, Spent: stretch.Spent, Memory: r.books.Metering.Memory,
	}
	if above := e.Run.Parent; above != nil {
		u.Root = above.Root
	}
	switch {
	case e.Deleted:
		u.End = endDeleted
		return u
	case e.Run.Termination != nil:
		u.End = string(e.Run.Termination.Type)
	}
	if estimator, ok := r.books.Store.(store.Estimator); ok {
		u.Spent = u.Spent.Plus(estimator.EstimateCommit(store.Commit{Records: e.Records, Usage: &store.Usage{}}))
	}
	return u
}

// Report notes that the write of a settlement has succeeded, and gives Metering.Ended the
// usage of the stretch that it ended.
func (r *Run) Report(s Settlement) {
	if s.wasted != nil {
		r.wasted = s.wasted
	}
	if s.usage != nil && r.books.Metering.Ended != nil {
		r.books.Metering.Ended(r.claim.Key.Tenant, *s.usage)
	}
}

// wastedCalls is what errors call the record.
const wastedCalls = "wasted calls"

// Recall reads what the open stretch of the run has wasted under earlier claims. It reads
// nothing where the head names no record of that.
func (r *Run) Recall(ctx context.Context, head *thread.Head) error {
	s := &head.Run.Stretch
	if s.Since == 0 || s.Over || s.Wasted == 0 {
		return nil
	}
	name := recordname.Wasted(r.claim.Run, s.Wasted)
	stored, ok, err := r.books.Store.Get(ctx, r.claim.Key, name)
	switch {
	case err != nil:
		return fmt.Errorf("read %s: %w", wastedCalls, err)
	case !ok:
		return fmt.Errorf("%s %s is missing: %w", wastedCalls, name, store.ErrCorrupt)
	}
	wasted := new(thread.Metered)
	if err := r.books.Records.Decode(wastedCalls, stored.Payload, wasted); err != nil {
		return err
	}
	r.wasted = wasted
	return nil
}

// AddSummary returns totals with what a model has used for a summary, in the step that
// finds the summary. It was charged when it was made, and is in no turn of the run.
func (r *Run) AddSummary(totals thread.Totals, use core.ModelUse) thread.Totals {
	if r.books.Meters() && use.Inferences > 0 {
		totals.Metered = totals.Metered.With(use)
	}
	return totals
}

// EncodeRecord returns the stored form, which is kept so long after the stretch's beginning.
func EncodeRecord(r *account.Record, records thread.Records, keep time.Duration) (store.Record, error) {
	payload, err := records.Encode("usage", (*usage)(r))
	return store.Record{Name: recordname.Usage(r.Run, r.Stretch), Payload: payload, Expires: (r.Since + keep.Milliseconds()) / 1000}, err
}

// usage is a record as it is encoded.
type usage account.Record

// AddTo implements thread.Usual.
func (r *usage) AddTo(m *wire.Members) bool {
	if r.Run.IsZero() { // no record is of none
		return false
	}
	m.Text("user", r.User)
	m.Text("agent", r.Agent)
	m.ID("run", r.Run)
	if !r.Root.IsZero() {
		m.ID("root", r.Root)
	}
	m.AnyUint("stretch", r.Stretch)
	m.AnyInt("since", r.Since)
	m.AnyInt("until", r.Until)
	m.AnyText("end", r.End)
	thread.AddModels(m, r.Models)
	m.Int("tools", int64(r.Tools))
	m.Int("tool_ms", r.ToolTime)
	if s := r.Spent; s != (core.Spent{}) {
		begin := m.Open("spent")
		m.AnyInt("Handler", s.Handler)
		m.AnyInt("Write", s.Write)
		m.AnyInt("Read", s.Read)
		m.AnyInt("Queue", s.Queue)
		m.AnyInt("WriteMore", s.WriteMore)
		m.AnyInt("QueueMore", s.QueueMore)
		m.Close(begin)
	}
	m.Int("memory_mb", int64(r.Memory))
	m.True("lost", r.Lost)
	return true
}
