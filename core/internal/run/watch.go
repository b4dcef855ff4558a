package run

import (
	"context"
	"errors"

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
	group.Later(h.s.poll, h.watch) // most steps are over before
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
// pause, for writes of other processes (for its own see told.go). It renews the
// lease, and its error stops the step when the run was ended or the claim lost. It
// reads the head for itself: the step's own copy is the step's alone.
//
// It serves liveness only. A look that fails is skipped, and a lost claim that it
// sees too late is fenced at the next write anyway. A step that itself ends the run
// (ending) must not be stopped by the closing head that it has made.
func (h *holder) watch(ctx context.Context) error {
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
		if left := head.Claim.Lease - h.env.Millis(); left >= h.s.lease.Milliseconds()/3 {
			continue
		}
		extend := thread.ExtendLease{Fence: head.Claim.Fence, Lease: h.s.lease.Milliseconds(), Closing: h.shared.hold.ending.Load()}
		// The step does not hear of the new version. Its next commit meets a newer head,
		// which differs in the lease alone, and the committer tries it on that.
		_, _, err = h.s.committer.Commit(ctx, h.Key, head, extend, nil)
		if errors.Is(err, thread.ErrFenced) && h.shared.hold.look(head.Claim.Fence) == lookOld {
			continue // refused for the step's own next fence: the next look will renew
		}
		if stops(err) {
			return err
		}
	}
	return nil
}

// stops reports whether an error means that the claim is lost or the run ended.
func stops(err error) bool {
	return errors.Is(err, thread.ErrFenced) || errors.Is(err, thread.ErrClosing) ||
		errors.Is(err, thread.ErrSuperseded) || errors.Is(err, thread.ErrDeleted)
}
