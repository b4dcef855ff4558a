package run

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// watched runs the work together with the watch. When the watch stops the work, its
// error is the reason and the work's own, some cancelled call, is dropped. The
// watch is waited for before the next piece of work starts, so that there is never
// a second one, and none outlives the step.
func (h *holder) watched(ctx context.Context, work func(context.Context) (Stepped, error)) (stepped Stepped, err error) {
	// A remedy begins with what the step knows by then: one that ends the run sets it
	// again, before it writes.
	h.shared.hold.ending.Store(h.head.Run.Status == thread.Closing)
	group, shared := h.env.Group(ctx)
	h.shared.chunks.RunIn(group)
	h.shared.told.watches(&h.shared.hold, group)
	group.Later(h.s.poll, func(ctx context.Context) error { return h.watch(ctx, group) }) // most steps are over before
	err = env.Protect(func() (err error) {
		stepped, err = work(shared)
		return err
	})
	if err != nil && shared.Err() != nil {
		if cause := context.Cause(shared); core.CodeOf(cause) != core.CodeInternal {
			err = cause // what the watch saw
		}
	}
	h.shared.told.watches(&h.shared.hold, nil)
	group.Cancel()
	_ = group.Wait()
	return stepped, err
}

// watch looks at the head while the step runs, immediately and then after every
// pause, for writes of other processes (for its own see told.go). It has the lease
// renewed in the group. An error of either stops the step: the run was ended, or the
// claim lost. It reads the head for itself: the step's own copy is the step's alone.
//
// It serves liveness only. A look that fails is skipped, and a lost claim that it
// sees too late is fenced at the next write anyway. A step that itself ends the run
// (ending) must not be stopped by the closing head that it has made.
func (h *holder) watch(ctx context.Context, group *env.Group) error {
	var renewing atomic.Int64 // the lease that is being renewed; noLease: none is
	renewing.Store(noLease)
	for ; ctx.Err() == nil; _ = h.env.Sleep(ctx, h.s.poll) { // which ends early with ctx
		head, err := h.s.committer.Head(ctx, h.Key)
		if err != nil {
			continue // liveness only: the commit will tell
		}
		if err := h.shared.hold.judge(&head); err != nil {
			return err
		}
		// The claim is the step's own, so that a round may go on from this head.
		h.shared.news.offer(head)
		h.shared.chunks.Look()
		lease := head.Claim.Lease
		if left := lease - h.env.Millis(); left >= h.s.lease.Milliseconds()/3 || renewing.Swap(lease) == lease {
			continue
		}
		// A renewal may send a hint. A queue that does not answer must not hide from the
		// step that its claim is lost, or keep the next lease from being renewed.
		group.Go(func(ctx context.Context) error {
			defer renewing.CompareAndSwap(lease, noLease)
			return h.renew(ctx, head)
		})
	}
	return nil
}

// noLease is the lease of no claim.
const noLease = -1

// renew renews the lease of the step's claim. Its error stops the step.
func (h *holder) renew(ctx context.Context, head thread.Head) error {
	extend := thread.ExtendLease{Fence: head.Claim.Fence, Lease: h.s.lease.Milliseconds(), Closing: h.shared.hold.ending.Load()}
	// The step does not hear of the new version. Its next commit meets a newer head,
	// which differs in the lease alone, and the committer tries it on that.
	_, _, err := h.s.committer.Commit(ctx, h.Key, head, extend, nil)
	switch {
	case errors.Is(err, thread.ErrFenced) && h.shared.hold.look(head.Claim.Fence) == lookOld:
		return nil // refused for the step's own next fence: the next look will renew
	case stops(err):
		return err
	}
	return nil // after another failure the next look tries again
}

// stops reports whether an error means that the claim is lost or the run ended.
func stops(err error) bool {
	return errors.Is(err, thread.ErrFenced) || errors.Is(err, thread.ErrClosing) ||
		errors.Is(err, thread.ErrSuperseded) || errors.Is(err, thread.ErrDeleted)
}
