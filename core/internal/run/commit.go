package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/point"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// maxRefences bounds how often one commit takes a new fence.
const maxRefences = 8

// write is a change of the head under the claim, with the records that go with it.
// It holds only values, except the code that settles the run's accounts, which
// changes nothing either. It is called again for every head and fence that it is
// tried on: its outcome is in the plan of the last time, and nowhere else.
type write interface {
	// change names the fence, so that it is called again under the next one.
	change(fence uint64) thread.Change
	// records makes the plan for the head that the change leads to, into an empty
	// one. Its records have neither fence nor version yet.
	records(p *plan, next thread.Head, result thread.Result)
}

// plan is what a write stores with one head. The last plan that was made is of the head
// that was written.
type plan struct {
	records []store.Record
	run     *thread.RunRecord     // what is known of the run from then on, stored or not; it is not changed. nil: the write is not about it
	settled accounting.Settlement // of the run's accounts
	left    int                   // bytes of a usage record that it leaves out, as too large; 0: it leaves out none
	err     error                 // a record cannot be encoded, and nothing is stored; nil: all can
}

// add adds a record, or notes that it cannot be encoded.
func (p *plan) add(r store.Record, err error) {
	p.records = append(p.records, r)
	p.fails(err)
}

// fails notes that a record cannot be encoded; nil: it can.
func (p *plan) fails(err error) {
	if err != nil {
		p.err = endWith("encoding", err)
	}
}

// addAccounts adds what the write stores for the run's accounts.
func (p *plan) addAccounts(s accounting.Settlement, err error) {
	if p.settled = s; s.Has() {
		p.add(s.Record, err)
	}
}

// commitTime is how long a started commit may take: longer than those attempts of
// the AWS client that get no response, so that the head, which has their outcome,
// can still be read.
const commitTime = 25 * time.Second

// write writes under the step's claim, and returns the plan that was stored. If
// records that an earlier attempt of this claim left are in the way, it takes the
// next fence, and calls change and records again.
//
// Only the step's goroutine writes, but the watch renews the lease at the same
// time. Both may lose a race to the other; the committer's loop then tries the same
// change on the newer head, which does not differ in anything that the change is
// about.
//
// A started write is completed, even if the host stops: otherwise no process would
// know its outcome. The watch must not stop it either: it finds the claim gone as
// soon as the write itself is applied.
//
// An error has no plan: nil.
func (h *holder) write(ctx context.Context, w write) (*plan, thread.Result, error) {
	if ctx.Err() != nil {
		return nil, thread.Result{}, context.Cause(ctx)
	}
	within, cancel := h.seeThrough(ctx)
	defer cancel()
	last := new(plan)
	build := func(next thread.Head, result thread.Result) ([]store.Record, error) {
		*last = plan{}
		w.records(last, next, result)
		h.stamp(last.records, next.Version)
		return last.records, last.err
	}
	for try := 0; ; try++ {
		head, result, err := h.s.committer.Commit(within, h.Key, h.head, w.change(h.fence()), build)
		// The committer has tried the same bytes until it knew: other bytes of this
		// claim are there permanently, and only a higher fence replaces them.
		if errors.Is(err, store.ErrConflict) && try < maxRefences {
			if err := h.raiseFence(within, head); err != nil {
				return nil, result, err
			}
			continue
		}
		if core.CodeOf(err) == core.CodeTooLarge { // a record or the head: the same turn would have the same size again
			return nil, result, endWith("too_large", err)
		}
		if err != nil {
			return nil, result, err
		}
		h.head, h.moved = head, true
		h.shared.chunks.End() // what the model said is in the log now, or void
		return last, result, nil
	}
}

// seeThrough makes the context of a started write. It is not the step's, which ends
// with the time for work, and with the watch.
func (h *holder) seeThrough(ctx context.Context) (context.Context, context.CancelFunc) {
	until := h.env.Now().Add(commitTime)
	if !h.last.IsZero() && h.last.Before(until) {
		until = h.last
	}
	return h.env.WithDeadline(context.WithoutCancel(ctx), until)
}

// stamp adds fence and version to the records of a plan. Both are those of the very try:
// another head has another version, and another fence may have been taken.
func (h *holder) stamp(records []store.Record, version uint64) {
	for i := range records {
		switch kind := records[i].Kind(); {
		case kind == store.KindLog:
			records[i].Fence = h.fence()
		case kind == store.KindRewrite, kind == store.KindLatest, records[i].IsUsage():
			records[i].Fence, records[i].Version = h.fence(), version
		}
	}
}

// refence takes the next fence outside of a commit. It is completed like one: if
// the step did not learn of its new fence, no worker could continue the run until
// its lease is over.
func (h *holder) refence(ctx context.Context, head thread.Head) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	within, cancel := h.seeThrough(ctx)
	defer cancel()
	return h.raiseFence(within, head)
}

// raiseFence makes the head take the next fence. Under it, other bytes may replace
// some that this claim has put. The watch may read the head between the write and
// the moment when the step knows its new fence, hence refencing: one fence more is
// then not a lost claim. A lease that is over is renewed with it.
func (h *holder) raiseFence(ctx context.Context, head thread.Head) error {
	h.shared.hold.refencing.Store(true)
	defer h.shared.hold.refencing.Store(false)
	change := thread.Refence{Fence: h.fence()}
	if head.Claim.Lease < h.env.Millis() {
		change.Lease = h.s.lease.Milliseconds()
	}
	head, _, err := h.s.committer.Commit(ctx, h.Key, head, change, nil)
	if err != nil {
		return err
	}
	if h.head = head; head.Claim.Fence != h.fence()+1 {
		return thread.ErrFenced // it was taken, and then another worker took the run
	}
	h.shared.hold.fence.Store(head.Claim.Fence) // before refencing ends: the watch must know one of the two
	return nil
}

// Retries of a put outside of a commit: the output of a tool is not thrown away for
// a passing fault of the store.
const (
	putFailures = 6
	putBase     = 50 * time.Millisecond
)

// put stores records concurrently; all must succeed. Each can be put again as often
// as wanted, so that a failure of one leaves nothing to undo. A record that is put
// alone is invisible before a head covers or names it.
func (h *holder) put(ctx context.Context, records ...store.Record) error {
	if len(records) == 0 {
		return nil
	}
	defer h.env.Reach(point.PutResult)()
	if len(records) == 1 {
		return h.putOne(ctx, records[0])
	}
	group, shared := h.env.Group(ctx)
	for _, record := range records[1:] {
		group.Go(func(ctx context.Context) error { return h.putOne(ctx, record) })
	}
	err := h.putOne(shared, records[0])
	return errors.Join(err, group.Wait())
}

// putOne puts a record until the store takes it, refuses it permanently, or has
// failed often enough. The step's goroutine waits for that: pauses add up to 3 s.
func (h *holder) putOne(ctx context.Context, record store.Record) error {
	err := h.persist(ctx, func() error { return h.s.store.Put(ctx, h.Key, record) })
	if err != nil {
		return fmt.Errorf("put %s: %w", record.Name, err)
	}
	return nil
}

// persist repeats an access to the store that failed for a reason that may pass, with
// pauses, up to putFailures times or until ctx ends. It returns the last error.
func (h *holder) persist(ctx context.Context, access func() error) error {
	for failures := 0; ; failures++ {
		err := access()
		if err == nil || ctx.Err() != nil || permanent(err) || failures == putFailures || h.env.Sleep(ctx, h.env.Jitter(putBase<<failures)) != nil {
			return err
		}
	}
}

// permanent reports whether a put failed permanently. Any other failure may pass,
// and the same bytes can always be put again; also an error that wraps a context's,
// which a client returns whose own attempt has timed out.
func permanent(err error) bool {
	switch core.CodeOf(err) {
	case core.CodeInvalid, core.CodeTooLarge, core.CodeCorrupt, core.CodeConflict, core.CodeFenced, core.CodeSchema, core.CodeDeleted:
		return true
	}
	var refused *store.RefusedError
	return errors.As(err, &refused) || errors.Is(err, errOver)
}

// errOver is for a call that keeps parts when it must not any more.
var errOver = errors.New("the call is over: nothing of it is stored any more")
