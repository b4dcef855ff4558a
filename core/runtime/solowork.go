package runtime

import (
	"context"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/thread"
)

// soloWork does the work of a runtime without workers while a follower waits: on the
// follower's thread as its head requires, and on threads that no call waits for, by their
// hints. Threads that other calls wait for are left to those calls: two of them would only
// compete for the claim.
//
// It runs in the goroutine of its call. When the call returns, its steps have ended.
type soloWork struct {
	worker   *worker
	solo     *solo
	follower *follower
}

// after is a nextHead: it works until the follower's thread has another head than seen.
func (w soloWork) after(ctx context.Context, seen thread.Head) (thread.Head, error) {
	key := w.follower.key
	// tried: the thread was due and stepping it has not changed its head. Another call may
	// hold the claim; the next attempt follows a pause.
	for tried := false; ; {
		changed := w.solo.next(key) // before the looks that a change would correct
		head, err := w.worker.mailbox.Head(ctx, key)
		if err != nil {
			return seen, err
		}
		if differs(head, seen) {
			return head, nil
		}
		// The follower's own thread comes first, then one due hint of another thread; else
		// there is nothing to do.
		now := w.worker.env.Millis()
		if head.DueAt != 0 && head.DueAt <= now && !tried {
			tried = true // a claim that came to nothing is not repeated immediately
			err = w.stepThread(ctx, head)
		} else if hint, due, at := w.solo.pop(); due {
			w.workOff(ctx, hint)
		} else {
			w.pause(ctx, changed, head, at)
			tried = false
		}
		if ctx.Err() != nil {
			return seen, context.Cause(ctx)
		}
		if err != nil {
			return seen, err
		}
	}
}

// pause waits until something has changed or is due: the follower's thread by its head,
// other threads at the time at. Zero: none is.
func (w soloWork) pause(ctx context.Context, changed <-chan struct{}, head thread.Head, at time.Time) {
	env := w.worker.env
	// at becomes the earlier of the two times.
	if head.DueAt != 0 {
		own := time.UnixMilli(head.DueAt)
		if head.DueAt <= env.Millis() {
			own = env.Now().Add(permitPoll) // it is due and could not be claimed
		}
		if at.IsZero() || own.Before(at) {
			at = own
		}
	}
	// Without a time it waits for a change alone: a decision, an edit, a cancel.
	until, cancel := ctx, context.CancelFunc(func() {})
	if !at.IsZero() {
		until, cancel = env.WithDeadline(ctx, at)
	}
	defer cancel()
	_ = env.Wait(until, changed) // its end is not news, ctx's is the caller's
}

// workOff handles the hint of another thread, whose failure is not this run's.
func (w soloWork) workOff(ctx context.Context, hint core.WakeUp) {
	if err := w.worker.work(ctx, hint, nil); err != nil {
		w.worker.log.ErrorContext(ctx, "work for another thread failed, it is tried again", "tenant", hint.Tenant, "thread", hint.Thread, "error", err)
		_ = w.solo.Wake(ctx, hint, aloneDelay) // which has no error
	}
}

// stepThread claims the follower's thread and steps it: the follower's own run inline for
// its stream, any run before it without a listener.
func (w soloWork) stepThread(ctx context.Context, head thread.Head) error {
	key, f := w.follower.key, w.follower
	permit, err := w.worker.permits.acquire(ctx, nil, func() (thread.Head, error) { return w.worker.mailbox.Head(ctx, key) })
	if err != nil {
		return err
	}
	// The claim is of the thread's run that is due: it may be another one than the follower's.
	hint := hintOf(key, head)
	permit.attend(w.worker.stepper, key)
	claimed, ok, err := w.worker.mailbox.ClaimFrom(ctx, head, hint, permit.alone)
	switch {
	case !ok: // also with an error
		permit.release()
		if err == nil {
			w.worker.deliver(ctx, key, claimed, thread.Head{})
		}
		return err
	case claimed.Run.ID == f.stream.run:
		// Before its steps emit, the stream must have what was committed by others.
		permit.classify(claimed.Run.Attempts > thread.SuspectAt)
		f.overtaken(ctx, claimed)
		w.worker.runInline(ctx, key, &f.stream, claimed, permit)
		return nil
	}
	// A run that was queued before the follower's. Its failure does not end the follower's
	// wait: its claim is taken again when its lease is over.
	stepped, err := func() (thread.Head, error) {
		defer permit.release()
		return w.worker.stepOn(ctx, permit, hint, claimed)
	}()
	if err == nil {
		w.worker.deliver(ctx, key, stepped, claimed)
	} else {
		w.worker.log.ErrorContext(ctx, "a run before the one that is waited for failed, it is tried again", "tenant", key.Tenant, "thread", key.Thread, "run", claimed.Run.ID, "error", err)
	}
	return nil
}
