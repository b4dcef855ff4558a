package run

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/thread"
)

// hold is what the step and its watch share: which claim is the step's own, and
// what the step is about to do to the head. The step's goroutine writes it, the
// watch reads it; each field is one fact, so that no two need to change together.
// refencing and ending change before the head write that they announce, and the
// watch reads the head before it reads them: what it finds there is announced by
// then. Fences only grow, so that a lower one than the step's is an old look.
type hold struct {
	fence     atomic.Uint64 // of the claim; 0 is never held
	refencing atomic.Bool   // the next fence is being taken
	ending    atomic.Bool   // the step ends the run: a closing head is no surprise
}

// look is what a fence that was read in the head says of the step's claim.
type look int

const (
	lookLost look = iota // another claim has the head, or none has
	lookOwn
	lookOld // it was read, or is being passed, while the step takes the next fence
)

// look judges a fence. refencing is read before fence and cleared after it is set:
// whoever finds it cleared again finds the new fence.
func (h *hold) look(fence uint64) look {
	refencing, held := h.refencing.Load(), h.fence.Load()
	switch {
	case fence == 0 || fence > held+1 || fence == held+1 && !refencing:
		return lookLost
	case fence != held || refencing:
		return lookOld
	}
	return lookOwn
}

// judge says whether a head ends the step's work: thread.ErrFenced when the claim is lost,
// ErrSuperseded or ErrClosing when the run was ended and the step does not know yet. The
// head was written before judge is called, see hold.
func (h *hold) judge(head *thread.Head) error {
	ending := h.ending.Load()
	switch {
	case h.look(head.Claim.Fence) == lookLost:
		return thread.ErrFenced
	case !ending && head.Claim.Epoch != head.Epoch:
		return thread.ErrSuperseded
	case !ending && head.Run.Status == thread.Closing:
		return thread.ErrClosing
	}
	return nil
}

// watched does the work beside the watch. When the watch stops the work, its
// error is the reason and the work's own, some cancelled call, says nothing. The
// watch is waited for before the next piece of work begins, so that there is
// never a second one, and none outlives the step.
func (h *holder) watched(ctx context.Context, work func(context.Context) (Stepped, error)) (stepped Stepped, err error) {
	// A remedy begins with what the step knows by then: one that ends the run sets it
	// again, before it writes.
	h.hold.ending.Store(h.head.Run.Status == thread.Closing)
	group, shared := h.env.Group(ctx)
	h.chunks.RunIn(group)
	h.told.watches(&h.hold, group)
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
	h.told.watches(&h.hold, nil)
	group.Cancel()
	_ = group.Wait()
	return stepped, err
}

// watch looks at the head while the step runs, at once and then after every
// pause, for what other processes write (for its own see told.go): it renews the lease, and its error stops the step when the run was ended
// or the claim lost. It reads the head for itself: the step's own copy is the
// step's alone.
//
// It serves liveness only. A look that fails is left out, and a lost claim that
// it sees too late is fenced at the next write anyway. A step that itself ends
// the run (ending) must not be stopped by the closing head that it has made.
func (h *holder) watch(ctx context.Context) error {
	for ; ctx.Err() == nil; _ = h.env.Sleep(ctx, h.s.poll) { // which ends early with ctx
		head, err := h.committer.Head(ctx, h.Key)
		if err != nil {
			continue // liveness only: the commit will tell
		}
		if err := h.hold.judge(&head); err != nil {
			return err
		}
		// The claim is the step's own, so that a round may go on from this head.
		h.news.offer(head)
		h.chunks.Look()
		if left := head.Claim.Lease - h.env.Millis(); left >= h.lease.Milliseconds()/3 {
			continue
		}
		extend := thread.ExtendLease{Fence: head.Claim.Fence, Lease: h.lease.Milliseconds(), Closing: h.hold.ending.Load()}
		// The step does not hear of the new version. Its next commit meets a newer head,
		// which differs in the lease alone, and the committer tries it on that.
		_, _, err = h.committer.Commit(ctx, h.Key, head, extend, nil)
		if errors.Is(err, thread.ErrFenced) && h.hold.look(head.Claim.Fence) == lookOld {
			continue // refused for the step's own next fence: the next look will renew
		}
		if stops(err) {
			return err
		}
	}
	return nil
}

// stops reports whether an error says that the claim is lost or the run ended.
func stops(err error) bool {
	return errors.Is(err, thread.ErrFenced) || errors.Is(err, thread.ErrClosing) ||
		errors.Is(err, thread.ErrSuperseded) || errors.Is(err, thread.ErrDeleted)
}
