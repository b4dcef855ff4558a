package runtime

import (
	"context"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/thread"
)

// soloWork does the work of a runtime without workers while a follower waits: on the
// follower's thread as its head says, and on threads that no call waits for, by their
// hints.
type soloWork struct {
	worker   *worker
	solo     *solo
	follower *follower
}

// after is a nextHead: it works until the follower's thread has another head than seen.
func (w soloWork) after(ctx context.Context, seen thread.Head) (thread.Head, error) {
	key := w.follower.key
	for tried := false; ; {
		changed := w.solo.next(key) // before the looks that a change would correct
		head, err := w.worker.mailbox.Head(ctx, key)
		if err != nil {
			return seen, err
		}
		if head.Version != seen.Version || head.Incarnation != seen.Incarnation {
			return head, nil
		}
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
	if head.DueAt != 0 {
		own := time.UnixMilli(head.DueAt)
		if again := env.Now().Add(permitPoll); own.Before(again) && head.DueAt <= env.Millis() {
			own = again // it is due and could not be claimed
		}
		if at.IsZero() || own.Before(at) {
			at = own
		}
	}
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
	hint := hintOf(key, head)
	permit.attend(w.worker.stepper, key)
	claimed, ok, err := w.worker.mailbox.ClaimFrom(ctx, head, hint, permit.alone)
	switch {
	case err != nil || !ok:
		permit.release()
		if err == nil {
			w.worker.announce(ctx, key, claimed, mailbox.Own)
		}
		return err
	case claimed.Run.ID == f.stream.run:
		permit.classify(claimed.Run.Attempts > thread.SuspectAt)
		f.overtaken(ctx, claimed)
		w.worker.runInline(ctx, key, &f.stream, claimed, permit)
		return nil
	}
	stepped, err := func() (thread.Head, error) {
		defer permit.release()
		return w.worker.stepOn(ctx, permit, hint, claimed)
	}()
	if err == nil {
		w.worker.announce(ctx, key, stepped, claimed.Version)
	} else {
		w.worker.log.ErrorContext(ctx, "a run before the one that is waited for failed, it is tried again", "tenant", key.Tenant, "thread", key.Thread, "run", claimed.Run.ID, "error", err)
	}
	return nil
}
