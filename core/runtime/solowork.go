package runtime

import (
	"context"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/thread"
)

// workFor returns the thread's head as soon as it is another than seen, and does
// meanwhile what there is to do: on the thread, as its head says, and on threads that
// nobody waits for, of which hints tell. The error is the cause of ctx's end, or why
// the head cannot be read.
func (f *follower) workFor(ctx context.Context, seen thread.Head) (thread.Head, error) {
	for tried := false; ; {
		changed := f.solo.next(f.key) // before the looks that it is to correct
		head, err := f.head(ctx, f.key)
		if err != nil {
			return seen, err
		}
		if head.Version != seen.Version || head.Incarnation != seen.Incarnation {
			return head, nil
		}
		now := f.env.Millis()
		if head.DueAt != 0 && head.DueAt <= now && !tried {
			tried = true // a claim that came to nothing is not repeated at once
			err = f.takeUp(ctx, head)
		} else if hint, due, at := f.solo.take(); due {
			f.workOff(ctx, hint)
		} else {
			f.pause(ctx, changed, head, at)
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

// pause waits until something has changed or is due: on the thread by its head, on
// others at the time at.
func (f *follower) pause(ctx context.Context, changed <-chan struct{}, head thread.Head, at time.Time) {
	if head.DueAt != 0 {
		own := time.UnixMilli(head.DueAt)
		if again := f.env.Now().Add(turnPoll); own.Before(again) && head.DueAt <= f.env.Millis() {
			own = again // it is due, and could not be taken up
		}
		if at.IsZero() || own.Before(at) {
			at = own
		}
	}
	until, cancel := ctx, context.CancelFunc(func() {})
	if !at.IsZero() {
		until, cancel = f.env.WithDeadline(ctx, at)
	}
	defer cancel()
	_ = f.env.Wait(until, changed) // its end is no news, ctx's is the caller's
}

// workOff follows the hint of another thread, whose failure is not this run's.
func (r *Runtime) workOff(ctx context.Context, hint core.WakeUp) {
	if err := r.WorkLocal(ctx, hint); err != nil {
		r.log.ErrorContext(ctx, "work for another thread failed, it is tried again", "tenant", hint.Tenant, "thread", hint.Thread, "error", err)
		_ = r.solo.Wake(ctx, hint, aloneDelay) // which has no error
	}
}

// takeUp claims the thread and steps: the follower's own run for its audience, any
// other, which stands before it, for nobody.
func (f *follower) takeUp(ctx context.Context, head thread.Head) error {
	turn, err := f.turns.enter(ctx, nil, func() (thread.Head, error) { return f.head(ctx, f.key) })
	if err != nil {
		return err
	}
	hint := hintOf(f.key, head)
	turn.attend(f.stepper, f.key)
	claimed, ok, err := f.mailbox.ClaimFrom(ctx, head, hint, turn.alone)
	switch {
	case err != nil || !ok:
		turn.leave()
		if err == nil {
			f.tell(ctx, f.key, claimed, mailbox.Own)
		}
		return err
	case claimed.Run.ID == f.run:
		turn.settle(claimed.Run.Attempts > thread.SuspectAt)
		f.overtaken(ctx, claimed)
		f.inline(ctx, claimed, turn)
		return nil
	}
	stepped, err := func() (thread.Head, error) {
		defer turn.leave()
		return f.stepOn(ctx, hint, claimed, turn)
	}()
	if err == nil {
		f.tell(ctx, f.key, stepped, claimed.Version)
	} else {
		f.log.ErrorContext(ctx, "a run before the one that is waited for failed, it is tried again", "tenant", f.key.Tenant, "thread", f.key.Thread, "run", claimed.Run.ID, "error", err)
	}
	return nil
}
