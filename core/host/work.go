package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
)

// aloneDelay is the delay of the other hints of a batch with a suspect: long enough for
// the process to crash, if that is what the suspect makes it do.
const aloneDelay = time.Second

// WorkBatch handles the wake-ups of one delivery of the queue concurrently. It claims each
// thread, takes as many steps as the configuration and the context's deadline allow, and leaves
// the next wake-up on the queue. It returns an error for each wake-up that should be delivered
// again, nil for the others; the failure of one never affects another.
//
// A crash of the process affects the whole batch, which nothing prevents.
// The heads are therefore read before any claim, and if one of them shows a
// suspect (see thread.Head.Suspect), that run goes alone and the hints of the
// others are sent again.
func (r *Host) WorkBatch(ctx context.Context, hints []core.WakeUp) []error {
	return r.worker.batch(ctx, hints)
}

// WorkLocal is WorkBatch for one wake-up in a process that works on others at
// the same time: the local host, or a function that serves several invocations
// concurrently. A suspect waits until nothing else runs, and nothing else is claimed
// while it runs: see permits.
func (r *Host) WorkLocal(ctx context.Context, hint core.WakeUp) error {
	return r.worker.work(ctx, hint, nil)
}

// worker claims threads and takes their steps, each under a permit. All work of a process
// goes through its one worker: wake-ups, inline streams, and calls that wait in a runtime
// without workers.
type worker struct {
	env     *env.Env
	log     *slog.Logger
	mailbox *mailbox.Service
	stepper *run.Stepper
	permits *permits
	meter   *meter
	steps   int           // Options.Steps: at 0 it takes one, too
	reserve time.Duration // Options.Reserve: minimum time to start another step
}

// batch is [Host.WorkBatch].
func (w *worker) batch(ctx context.Context, hints []core.WakeUp) []error {
	errs := make([]error, len(hints))
	ctx = w.meter.received(ctx, len(hints))
	if len(hints) == 1 {
		errs[0] = w.work(ctx, hints[0], nil)
		return errs
	}
	// With a suspect in the batch, only that run is claimed now.
	heads, suspect := w.readHeads(ctx, hints)
	group, shared := w.env.Group(ctx)
	for i, hint := range hints {
		group.Go(func(context.Context) error {
			errs[i] = env.Protect(func() error {
				if suspect >= 0 && i != suspect {
					return w.mailbox.Wake(shared, hint, aloneDelay)
				}
				return w.work(shared, hint, heads[i])
			})
			return nil // an error would cancel the other threads
		})
	}
	_ = group.Wait() // it has no error: each hint has its own
	return errs
}

// readHeads reads the heads of the hints, and returns the index of the first whose run is a
// suspect that can be claimed, or -1. A head that cannot be read is nil: its claim will return
// the error.
func (w *worker) readHeads(ctx context.Context, hints []core.WakeUp) (heads []*thread.Head, suspect int) {
	heads = make([]*thread.Head, len(hints))
	group, shared := w.env.Group(ctx)
	for i, hint := range hints {
		if hint.Kind == core.WakeCompact {
			continue
		}
		group.Go(func(context.Context) error {
			if head, err := w.mailbox.Head(shared, hint.Key()); err == nil { // the store refuses an invalid key
				heads[i] = &head
			}
			return nil
		})
	}
	_ = group.Wait() // it only reads
	for i, head := range heads {
		if head != nil && head.Suspect() && !head.Live(w.env.Millis()) {
			return heads, i
		}
	}
	return heads, -1
}

// work waits for the thread's permit, claims the thread and steps it. known is its head,
// if the caller has read it.
//
// The permit precedes the claim, whose lease would run out while it waits. Work
// acknowledges the hint, by returning nil, only when the thread has another hint or needs
// none: after a step that was committed, since the commit sends the next hint, and after
// a lost claim, when handOver has ensured one.
func (w *worker) work(ctx context.Context, hint core.WakeUp, known *thread.Head) error {
	if err := hint.Check(); err != nil {
		return err
	}
	if hint.Kind == core.WakeCompact { // it claims nothing and needs no permit
		return w.stepper.Summaries().Compact(ctx, hint.Key())
	}
	ctx, stop := w.meter.start(ctx, hint.Key())
	defer stop()
	var head thread.Head
	if known != nil {
		head = *known
	}
	permit, err := w.permits.acquire(ctx, known, func() (_ thread.Head, err error) {
		if head, err = w.mailbox.Head(ctx, hint.Key()); err != nil && ctx.Err() == nil {
			return thread.Head{}, nil // the claim returns the error, and when to repeat it
		}
		return head, err
	})
	if err != nil { // the time is over; a failed message would be hidden for minutes by the queue
		if failed := w.mailbox.Wake(ctx, hint, aloneDelay); failed != nil {
			return errors.Join(err, failed)
		}
		return nil
	}
	head, claimed, err := w.workUnder(ctx, permit, hint, head)
	if err == nil { // without a permit: announcements may take their time
		w.deliver(ctx, hint.Key(), head, claimed)
	}
	return err
}

// workUnder is work under a permit, which it releases. It returns the newest head that it
// knows, and the one that it has claimed; the zero Head: it has claimed none.
func (w *worker) workUnder(ctx context.Context, permit *permit, hint core.WakeUp, known thread.Head) (head, claimed thread.Head, err error) {
	defer permit.release()
	permit.attend(w.stepper, hint.Key())
	head, ok, err := w.mailbox.ClaimFrom(ctx, known, hint, permit.alone)
	if err != nil || !ok {
		return head, thread.Head{}, err
	}
	claimed = head
	head, err = w.stepOn(ctx, permit, hint, head)
	return head, claimed, err
}

// deliver delivers what the thread owes. If something could not be delivered, it gets a
// separate hint: the hint that brought the worker here is done.
func (w *worker) deliver(ctx context.Context, key core.ThreadKey, head, claimed thread.Head) {
	if err := w.mailbox.Deliver(ctx, key, head, claimed); err != nil {
		w.log.WarnContext(ctx, "outbox not cleared, delivered again", "tenant", key.Tenant, "thread", key.Thread, "error", err)
		w.mailbox.WakeToDeliver(ctx, key, head)
	}
}

// stepOn steps a thread that was claimed under the permit, as often as the configuration
// and the time allow, and returns the newest head that it knows.
func (w *worker) stepOn(ctx context.Context, permit *permit, hint core.WakeUp, head thread.Head) (thread.Head, error) {
	permit.classify(head.Run.Attempts > thread.SuspectAt) // Attempts includes this claim
	// The hint tells until when a stream follows its run, which the first step need not look
	// up. A hint for another dispatch knows nothing of this run.
	var followed int64
	if hint.Dispatch == head.Run.Dispatch {
		followed = hint.Followed
	}
	for n := 1; ; n++ {
		// Whole: the step has all the time that an invocation has. If even that is not
		// enough, no other attempt will be.
		stepped, err := w.stepper.Step(ctx, run.Work{
			Key: hint.Key(), Head: head, Keep: n < w.steps && w.keeps(ctx), Whole: n == 1 && !permit.waited,
			Proved: permit.proved, Followed: followed,
		}, nil)
		if lostClaim(err) {
			return head, w.handOver(ctx, hint, err)
		}
		if err != nil {
			return head, fmt.Errorf("step: %w", err)
		}
		head, followed = stepped.Head, stepped.Followed
		if stepped.Outcome != thread.Continue {
			return head, nil
		}
		permit.proved()
	}
}

// timeLeft reports whether another step may start before the deadline.
func (w *worker) timeLeft(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return !ok || deadline.Sub(w.env.Now()) > w.reserve
}

// keeps reports whether a run may keep its claim after its next step, for another one.
func (w *worker) keeps(ctx context.Context) bool { return w.timeLeft(ctx) && !w.permits.wanted() }

// lostClaim reports whether a step ended because its claim is lost: a later claim has the
// run, or will have it when the lease is over. Nothing that the step did is visible, but
// for results of tools, which the later claim adopts.
func lostClaim(err error) bool {
	return errors.Is(err, thread.ErrFenced) || errors.Is(err, thread.ErrApplied)
}

// handOver wakes the thread of a lost claim, unless it has a hint. A later claim has its
// own hints. But the step's own write may have released the claim although its
// confirmation was lost: then no hint was sent.
func (w *worker) handOver(ctx context.Context, hint core.WakeUp, why error) error {
	if errors.Is(why, thread.ErrApplied) { // the claim lasts until its lease is over, and no step works under it
		return w.mailbox.Wake(ctx, hint, w.mailbox.Lease())
	}
	head, err := w.mailbox.Head(ctx, hint.Key())
	if err == nil && (head.Live(w.env.Millis()) || head.DueAt == 0 || head.Deleted) { // a deleted thread is the sweep's
		return nil
	}
	return w.mailbox.Wake(ctx, hint, 0)
}

// wakeNow sends the hint that an inline decision has left out. If that fails, a follower or the
// sweep finds the thread.
func (w *worker) wakeNow(ctx context.Context, key core.ThreadKey, head thread.Head) {
	if !head.Ready() {
		return
	}
	if err := w.mailbox.Wake(ctx, hintOf(key, head), 0); err != nil {
		w.log.WarnContext(ctx, "wake-up lost, the sweep will find the thread", "tenant", key.Tenant, "thread", key.Thread, "error", err)
	}
}

// hintOf returns the hint for the run that a head has open.
func hintOf(key core.ThreadKey, head thread.Head) core.WakeUp {
	return core.WakeUp{Tenant: key.Tenant, Thread: key.Thread, Dispatch: head.Run.Dispatch, Epoch: head.Epoch}
}
