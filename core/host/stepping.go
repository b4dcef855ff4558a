package host

import (
	"context"
	"errors"
	"time"

	"github.com/reveille-run/reveille/core/internal/thread"
)

// stepping takes the steps of a follower's run while the follower waits, in a process whose
// queue is its own: on the follower's thread as its head requires, and on threads that no
// call waits for, by their hints, child runs among them. Other calls, workers and processes
// may do the same: claims decide who steps.
//
// When the call returns, its steps have ended.
type stepping struct {
	worker   *worker
	queue    *Queue
	waiter   *waiter // of the follower's thread: this call handles its hints
	follower *follower
	alone    bool // no other process has the store
}

// claimReserve is the time that a claim needs if another process can use the store too. A claim
// whose response is not awaited may be stored while no worker uses it, and the run would wait
// for the end of its lease.
const claimReserve = 100 * time.Millisecond

// after is a nextHead: it works until the follower's thread has another head than seen, and
// shows the run's model output until then. The watch has the heads that this process writes
// immediately, so that the store is not read here. With child runs it also returns after each
// pause, and after each step of another thread, for a look at them.
func (w stepping) after(ctx context.Context, watch *watch, seen thread.Head) (thread.Head, error) {
	// tried: the thread was due and stepping it has not changed its head. Another process may
	// hold the claim; the next attempt follows a pause.
	for tried := false; ; {
		// Before the looks that news would correct. The watch has what this process writes when
		// the write returns, so that a step's own commit is seen here without a pause.
		w.waiter.look()
		head, err := watch.newer(seen)
		if err != nil || differs(head, seen) {
			return head, err
		}
		looks := false
		// The follower's own thread comes first, then one due hint of another thread; else
		// there is nothing to do.
		now := w.worker.env.Millis()
		if !w.timeToClaim(ctx) {
			err, looks = w.pause(ctx, watch, head, time.Time{}), true
		} else if head.DueAt != 0 && head.DueAt <= now && !tried {
			tried = true // a claim without effect is not repeated immediately
			err = w.stepThread(ctx, head)
		} else if d, due, at := w.queue.pop(); due {
			head, err = w.workOff(ctx, watch, head, d)
			seen, looks = head, true
		} else {
			err, looks = w.pause(ctx, watch, head, at), true
			tried = false
		}
		if ctx.Err() != nil {
			return seen, context.Cause(ctx)
		}
		if err != nil || looks && w.follower.below != nil {
			return seen, err
		}
	}
}

// timeToClaim reports whether enough time is left for a claim.
func (w stepping) timeToClaim(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return !ok || w.alone || deadline.Sub(w.worker.env.Now()) > claimReserve
}

// pause waits until something has changed, was said or is due: the follower's thread by its
// head, other threads at the time at. Zero: none is.
func (w stepping) pause(ctx context.Context, watch *watch, head thread.Head, at time.Time) error {
	env := w.worker.env
	// at becomes the earliest of the times.
	earliest := func(own time.Time) {
		if at.IsZero() || own.Before(at) {
			at = own
		}
	}
	if head.DueAt > env.Millis() {
		earliest(time.UnixMilli(head.DueAt))
	} else if head.DueAt != 0 {
		earliest(env.Now().Add(permitPoll)) // it is due and could not be claimed
	}
	until, end := w.waiter.pause(ctx, at)
	defer end()
	_, err := w.follower.wait(ctx, until, watch, head)
	return err
}

// workOff handles the hint of another thread, whose failure is not this run's. It may take
// long; until it returns, any other worker may claim the follower's thread. It may be the thread
// of a child run: the stream shows what child runs do while it is stepped, and the heads of its
// own thread, since the words of a run are heard only under a head that was shown. workOff returns
// the last head that was. Its error is of the stream.
func (w stepping) workOff(ctx context.Context, watch *watch, seen thread.Head, d Delivery) (head thread.Head, err error) {
	defer w.waiter.away()()
	f := w.follower
	if f.below == nil || f.quiet {
		w.workSideBySide(ctx, d)
		return seen, nil
	}
	// The step runs beside this goroutine, which alone emits to the stream. Both have ended when
	// workOff returns. The looks here take all news, and none is left to end the next pause, so
	// that the caller must look at the head again for the end of the stream.
	until, done := context.WithCancel(ctx)
	group, _ := w.worker.env.Group(ctx)
	group.Go(func(ctx context.Context) error {
		defer done()
		w.workSideBySide(ctx, d)
		return nil
	})
	head, err = f.showUntil(ctx, until, watch, seen)
	return head, errors.Join(err, group.Wait())
}

// workSideBySide handles a hint, and concurrently those that are due with it: child runs of one
// turn work at the same time.
func (w stepping) workSideBySide(ctx context.Context, d Delivery) {
	due := []Delivery{d}
	for len(due) < defaultWorkers {
		d, more, _ := w.queue.pop()
		if !more {
			break
		}
		due = append(due, d)
	}
	if len(due) == 1 {
		w.worker.workOff(ctx, w.queue, d)
		return
	}
	group, _ := w.worker.env.Group(ctx)
	for _, d := range due {
		group.Go(func(ctx context.Context) error {
			w.worker.workOff(ctx, w.queue, d)
			return nil // it ends none of the others
		})
	}
	_ = group.Wait()
}

// stepThread claims the follower's thread and steps it: the follower's own run inline for
// its stream, any run before it without a listener.
func (w stepping) stepThread(ctx context.Context, head thread.Head) error {
	key, f := w.follower.key, w.follower
	permit, err := w.worker.permits.acquire(ctx, nil, func() (thread.Head, error) { return w.worker.mailbox.Head(ctx, key) })
	if err != nil {
		return err
	}
	// The claim is of the thread's run that is due: it may be another one than the follower's.
	// A failed claim is repeated here: like a sweep's, it sends no hint that is retried.
	hint := hintOf(key, head)
	trying := hint
	trying.Sweep = true
	permit.attend(w.worker.stepper, key)
	claimed, ok, err := w.worker.mailbox.ClaimFrom(ctx, head, trying, permit.alone)
	switch {
	case !ok: // also with an error
		permit.release()
		if err == nil {
			f.watches.moved(key, claimed) // it is another process's, or has nothing to do
			w.worker.deliver(ctx, key, claimed, thread.Head{})
		}
		return err
	case claimed.Run.ID == f.stream.run:
		// Before its steps emit, the stream must have what was committed by others.
		permit.classify(claimed.Run.Attempts > thread.SuspectAt)
		f.overtaken(ctx, claimed)
		w.worker.runInline(ctx, key, f.stream, claimed, permit)
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
		w.worker.log.ErrorContext(ctx, "step of an earlier run failed, will be retried", "tenant", key.Tenant, "thread", key.Thread, "run", claimed.Run.ID, "error", err)
	}
	return nil
}
