package run

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/run/inference"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// maxRemedies bounds how often a step changes its way: from stepping to failing
// to closing is the longest.
const maxRemedies = 4

// A step goes wrong in one of four ways, which this file chooses between: stop
// without a word (the claim is another's), close (the run was ended from outside),
// fail (no second try can mend it), give back (everything else).

// run guards the step with a watch on the head and turns what goes wrong into
// the right end. A remedy is work like any other and is watched, too: a run that
// fails may be cancelled while it does, and a close may lose its claim. It gets
// a context of its own when the step's is over.
func (m *machine) run(ctx context.Context) (Stepped, error) {
	defer func() {
		if err := m.holder.chunks.Err(); err != nil {
			m.holder.warn(ctx, "a part of what the model said was not shown before its commit to readers beside the run's own", "error", err)
		}
	}()
	m.holder.at = m.holder.beganAt()
	if deadline, ok := ctx.Deadline(); ok {
		m.holder.last = deadline.Add(afterDeadline)
	}
	stepped, err := m.holder.watched(ctx, m.work)
	// A remedy may fail in its turn, and need another: fail meets a cancel, a close
	// finds that its claim is lost. The claim is given back when none is left.
	for remedies := 0; err != nil; remedies++ {
		remedy := m.remedy(ctx, err)
		if remedy == nil || remedies == maxRemedies {
			return m.giveBack(ctx, err)
		}
		free, cancel := m.holder.detached(ctx)
		stepped, err = m.holder.watched(free, remedy)
		cancel()
	}
	if stepped.Outcome == thread.Continue { // what was told since the commit is the next step's
		m.holder.hearHead()
		stepped.Head = m.holder.head
	}
	return stepped, nil
}

// work is what there is to do under the claim as it was found, if it still stands: one
// of which the process has heard when its lease was over is another's, perhaps. Nothing
// is asked of anybody before that is known, no model above all.
func (m *machine) work(ctx context.Context) (Stepped, error) {
	if m.holder.head.Claim.Lease < m.holder.env.Millis() {
		if err := m.holder.refence(ctx, m.holder.head); err != nil {
			return Stepped{}, err
		}
		m.holder.hold.ending.Store(m.holder.head.Run.Status == thread.Closing)
		if m.holder.head.Run.Cursor != thread.CursorTools {
			m.holder.events.SetFence(m.holder.fence())
		}
	}
	if m.holder.head.Run.Status == thread.Closing {
		return m.closeRun(ctx)
	}
	return m.advance(ctx)
}

// remedy is what to do about an error but giving the claim back; nil: nothing.
// The order matters: a lost claim beats everything, an end from outside beats a
// failure of the step (a person's cancel makes a model call fail), and a failure
// that says how the run ends beats the clock.
func (m *machine) remedy(ctx context.Context, err error) func(context.Context) (Stepped, error) {
	fail := func(t core.Termination) func(context.Context) (Stepped, error) {
		if m.holder.head.Run.Status == thread.Closing {
			return nil // closeRun has failed; another claim tries again
		}
		return func(ctx context.Context) (Stepped, error) { return m.fail(ctx, t, err) }
	}
	var end *ended
	var lacks *lacking
	switch {
	case errors.Is(err, thread.ErrFenced), errors.Is(err, thread.ErrDeleted), errors.Is(err, thread.ErrApplied):
		return nil
	case errors.Is(err, thread.ErrClosing), errors.Is(err, thread.ErrSuperseded):
		return m.closeRun
	case errors.As(err, &lacks): // given back
		return nil
	case errors.As(err, &end):
		return fail(end.termination)
	case core.CodeOf(err) == core.CodeCorrupt: // no later claim could read it either
		return fail(core.Termination{Type: core.TerminationError, Code: "corrupt", Detail: "what is stored of the thread cannot be read"})
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded) && m.holder.whole && m.base.agent != nil && !m.progressed():
		return fail(core.Termination{Type: core.TerminationError, Code: "timeout", Detail: "the step did not finish within a whole invocation"})
	}
	return nil
}

// progressed reports whether the step brought a commit or a newly done call:
// one whose result is still to be stored counts.
func (m *machine) progressed() bool {
	return m.holder.moved || m.round != nil && m.round.concluded(m.holder.head.Run.Calls)
}

// Pauses before a failed step is tried again: full jitter over base * 2^attempts.
const (
	backoffBase = 250 * time.Millisecond
	backoffCap  = 30 * time.Second
	storePause  = 400 * time.Millisecond // after a store that does not respond; up to twice that
	schemaPause = 30 * time.Second       // before a newer program is looked for
)

// giveBack gives up the claim after an error: at once when the time was over,
// after a pause when something failed. What was stored stays, and its calls are
// done. A claim that is lost, or whose commit was applied by a lost write, has
// nothing to give back.
func (m *machine) giveBack(ctx context.Context, cause error) (Stepped, error) {
	switch {
	case errors.Is(cause, thread.ErrDeleted):
		m.chargeLost(ctx)
		return Stepped{}, gone(cause, nil)
	case errors.Is(cause, thread.ErrFenced):
		m.chargeLost(ctx)
		return Stepped{}, cause
	case errors.Is(cause, thread.ErrApplied):
		return Stepped{}, cause
	}
	// Asked before detached makes a context of its own.
	over := ctx.Err() != nil
	late := over && errors.Is(context.Cause(ctx), context.DeadlineExceeded)
	ctx, cancel := m.holder.detached(ctx)
	defer cancel()
	// Results first: a nack says which calls are done, and what it does not say runs
	// again. One that cannot be stored does not stop the nack.
	if err := m.round.storeResults(ctx); stops(err) {
		return Stepped{}, gone(err, cause)
	}
	if err := m.chargeUnlogged(ctx, m.holder.head.Seq); err != nil { // the claim runs out instead
		return Stepped{}, gone(err, cause)
	}
	kind, at := m.holder.nackKind(cause, over, late)
	pause := time.Duration(max(0, at-m.holder.env.Millis())) * time.Millisecond
	level := slog.LevelWarn
	if kind == thread.NackGiven || kind == thread.NackLacks { // it goes on elsewhere, as it should: a host that stops says it of each of its runs
		level = slog.LevelInfo
	}
	m.holder.log.out.Log(ctx, level, "step was given back and will be tried again", slices.Concat(m.holder.log.attrs(), []any{"kind", kind.String(), "pause", pause}, failure(cause))...)
	err := m.nack(ctx, kind, at)
	if m.form < thread.FormStateless && errors.Is(err, store.ErrTooLarge) { // what RunEnd has changed
		m.form = thread.FormStateless
		err = m.nack(ctx, kind, at)
	}
	if err != nil {
		return Stepped{}, gone(err, cause)
	}
	return Stepped{Outcome: thread.Yield, Head: m.holder.head, Retry: true}, nil
}

// nackWrite gives the claim back. Nothing of the log becomes visible; what was stored stays,
// and its calls are done.
type nackWrite struct {
	draft    *draft
	kind     thread.NackKind
	at       int64 // when the run is tried again, unix milliseconds; 0: at once
	closing  bool
	calls    []thread.CallStatus // of the open round; nil: none is known
	progress bool                // a result that this claim has stored is not done yet
	adopted  uint16
	through  *uint32
	failed   uint8             // calls of the model for the turn that is begun
	unlogged *account.Spent    // what was asked for that turn, which counts unless the log has it; nil: there is none
	ended    *thread.EndRecord // what RunEnd has changed; nil: it has not run
	form     thread.Form       // of the run's end
	followed int64
}

// change implements write.
func (w *nackWrite) change(fence uint64) thread.Change {
	return thread.Nack{
		Fence: fence, Kind: w.kind, AvailableAt: w.at, Closing: w.closing, Followed: w.followed,
		Calls: w.calls, Progress: w.progress, Schema: w.adopted, ModelFailed: w.failed, RunEnd: w.ended != nil,
		Through: w.through,
	}
}

// records implements write.
func (w *nackWrite) records(p *plan, next thread.Head, result thread.Result) (err error) {
	if p.settled, err = w.draft.base.holder.account.Settle(next, result, account.End{Unlogged: w.unlogged, LogEnd: next.Seq}); err != nil {
		return err
	}
	if p.settled.Has() {
		p.records = append(p.records, p.settled.Record)
	}
	if w.ended == nil {
		return nil
	}
	record, err := endRecord(w.draft.base.holder.records, w.ended, w.form, w.draft.base.holder.id, next.Version)
	p.records = append(p.records, record)
	return err
}

// nack gives the claim back.
func (m *machine) nack(ctx context.Context, kind thread.NackKind, at int64) error {
	w := &nackWrite{
		draft: &m.draft, kind: kind, at: at, closing: m.holder.head.Run.Status == thread.Closing, adopted: m.round.schemaMet(), through: m.round.letThrough(m.holder.head),
		failed: m.unsaid.Failures(), unlogged: m.unsaid.Spent(), ended: m.runEnded, form: m.form, followed: m.holder.chunks.Followed(),
	}
	if m.round != nil {
		w.calls, w.progress = m.round.statuses(m.holder.head.Run.Calls)
	}
	_, _, err := m.draft.save(ctx, m.round, w)
	return err
}

// gone joins what kept a step from giving its claim back with why it gave it back. Of a
// thread that was deleted there is nothing to give: whoever asks reads of a lost claim.
func gone(err, cause error) error {
	if errors.Is(err, thread.ErrDeleted) {
		err = errors.Join(thread.ErrFenced, err)
	}
	return errors.Join(err, cause)
}

// Which pause is waited where: here it is only written into the head, and the
// mailbox wakes the run when it is over. No process waits.

// nackKind says whether a failure counts as an attempt, and when to try again.
// Attempts judge the run, never the host: what says nothing about the run (a
// stop, an edited input, a record that only a newer program reads, a tool that only
// another build has) is not counted, however often it happens.
func (h *holder) nackKind(cause error, over, late bool) (kind thread.NackKind, at int64) {
	var again *inference.RetryError
	var lacks *lacking
	switch {
	case errors.As(cause, &again):
		return thread.NackModel, h.env.Millis() + again.Wait.Milliseconds()
	case errors.As(cause, &lacks):
		return thread.NackLacks, h.leftUntil()
	case errors.Is(cause, thread.ErrStale):
		return thread.NackGiven, 0
	case core.CodeOf(cause) == core.CodeSchema: // a newer program's: this one would only take it again
		return thread.NackGiven, h.env.Millis() + schemaPause.Milliseconds()
	case late: // the run may be what takes so long: an attempt, and no pause after a whole invocation
		return thread.NackFailed, 0
	case over:
		return thread.NackGiven, 0 // the host stops
	}
	switch core.CodeOf(cause) {
	case core.CodeThrottled, core.CodeUnavailable: // attempts judge the run, not its store
		return thread.NackGiven, h.env.Millis() + (storePause + h.env.Jitter(storePause)).Milliseconds()
	}
	delay := h.env.Jitter(min(backoffCap, backoffBase<<min(h.head.Run.Attempts, 7)))
	return thread.NackFailed, h.env.Millis() + delay.Milliseconds()
}
