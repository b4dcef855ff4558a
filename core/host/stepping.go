package host

import (
	"context"
	"time"

	"github.com/reveille-run/reveille/core/internal/thread"
)

// stepping takes the steps of a follower's run while the follower waits, in a process whose
// queue is its own: on the follower's thread as its head requires, and on threads that no
// call waits for, by their hints, child runs among them. Other calls, workers and processes
// may do the same: claims decide who steps.
//
// It runs in the goroutine of its call. When the call returns, its steps have ended.
type stepping struct {
	worker   *worker
	queue    *Queue
	waiter   *waiter // of the follower's thread: this call handles its hints
	follower *follower
	alone    bool        // no other process has the store
	children *childWaits // of a call that returns when a child waits for a person; nil: it does not
}

// claimReserve is the time that a claim needs if another process can use the store too. A claim
// whose response is not awaited may be stored while no worker uses it, and the run would wait
// for the end of its lease.
const claimReserve = 100 * time.Millisecond

// after is a nextHead: it works until the follower's thread has another head than seen, and
// shows the run's model output until then. The watch has the heads that this process writes
// immediately, so that the store is not read here.
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
		// The follower's own thread comes first, then one due hint of another thread; else
		// there is nothing to do.
		now := w.worker.env.Millis()
		if !w.timeToClaim(ctx) {
			err = w.pause(ctx, watch, head, time.Time{})
		} else if head.DueAt != 0 && head.DueAt <= now && !tried {
			tried = true // a claim without effect is not repeated immediately
			err = w.stepThread(ctx, head)
		} else if d, due, at := w.queue.pop(); due {
			w.workOff(ctx, d)
		} else {
			err = w.pause(ctx, watch, head, at)
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

// timeToClaim reports whether enough time is left for a claim.
func (w stepping) timeToClaim(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return !ok || w.alone || deadline.Sub(w.worker.env.Now()) > claimReserve
}

// pause waits until something has changed, was said or is due: the follower's thread by its
// head, other threads at the time at. Zero: none is. Its error is errAsked for a run that
// waits for child runs of which each waits for a person.
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
	if w.children != nil && head.Run.ID == w.follower.stream.run {
		asked, waits, err := w.children.asked(ctx, w.waiter, head)
		if err != nil {
			return err
		}
		if asked {
			return errAsked
		}
		if waits { // another process may step a child, of which this one only hears its end
			earliest(env.Now().Add(watch.watches.interval))
		}
	}
	until, end := w.waiter.pause(ctx, at)
	defer end()
	_, err := w.follower.unsaid.once(ctx, until, watch, head, w.follower.record.AgentID)
	return err
}

// workOff handles the hint of another thread, whose failure is not this run's. It may take
// long; until it returns, any other worker may claim the follower's thread.
func (w stepping) workOff(ctx context.Context, d Delivery) {
	defer w.waiter.away()()
	w.worker.workOff(ctx, w.queue, d)
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
