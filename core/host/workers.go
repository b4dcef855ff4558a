package host

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// sweepEvery is the interval between two sweeps of [Host.Work]. It is also how soon work
// that another process has left is found.
const sweepEvery = 5 * time.Second

// defaultWorkers is the default of Options.Workers.
const defaultWorkers = 16

// longestRetry bounds the delay after which a hint whose work has failed is tried again; it
// grows by a second with each failure.
const longestRetry = 30 * time.Second

// Work takes the steps of the runs whose hints are in this process's [Queue], of
// Options.Workers concurrently, until ctx ends. It returns when the steps under way have
// released their runs: other callers, another Work or another process continue them. It
// sweeps first and then every 5 seconds, so that it finds what other processes have left. Each
// sweep looks 10 seconds ahead, so that runs of another process start at their time.
// If the store can list them (a method Claimed, which a store for one process has), Work
// first releases the claims of a process that was killed.
//
// The error is not nil if these claims cannot be listed, and has code invalid if the hints go
// to another queue: then [Host.WorkBatch] handles its messages.
func (r *Host) Work(ctx context.Context) error {
	if r.workers.queue == nil {
		return core.Errorf(core.CodeInvalid, "work: the wake-ups of this runtime go to another queue (Options.Waker); leave it empty, or handle its messages with WorkBatch")
	}
	err := r.workers.run(ctx)
	if err == nil || ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("work: %w", err)
}

// workers are those of [Host.Work].
type workers struct {
	env     *env.Env
	log     *slog.Logger
	store   store.Backend
	mailbox *mailbox.Service
	worker  *worker
	queue   *Queue // nil: the hints go to another queue
	number  int
}

// run works until ctx ends.
func (w *workers) run(ctx context.Context) error {
	if err := w.reclaim(ctx); err != nil {
		return fmt.Errorf("release the claims of a process that is gone: %w", err)
	}
	// From here on streams leave their steps to the workers: see streams.follow. A worker is a
	// goroutine for its whole life, so that the number bounds what runs at once.
	defer w.queue.work()()
	group, _ := w.env.Group(ctx)
	group.Go(w.sweep)
	for range w.number {
		group.Go(w.handle)
	}
	return group.Wait()
}

// handle handles the hints of the queue, one after the other, until ctx ends.
func (w *workers) handle(ctx context.Context) error {
	for {
		got := w.queue.Receive(ctx, 1)
		if len(got) == 0 {
			return nil
		}
		w.worker.workOff(ctx, w.queue, got[0])
	}
}

// sweep sweeps until ctx ends. The next sweep repeats a sweep that fails. It finds the work of
// processes that have died, or that have neither their own Work nor a call that waits: their
// hints are in a queue that this process does not see.
func (w *workers) sweep(ctx context.Context) error {
	for ctx.Err() == nil {
		if _, err := w.mailbox.Sweep(ctx); err != nil && ctx.Err() == nil {
			w.log.WarnContext(ctx, "sweep failed, will be retried", "error", err)
		}
		_ = w.env.Sleep(ctx, sweepEvery)
	}
	return nil
}

// reclaim releases the claims that a killed process has left, if the store can list them. Only
// a store for one process can: it knows which claims are older than its own opening.
func (w *workers) reclaim(ctx context.Context) error {
	lister, ok := w.store.(interface {
		Claimed(context.Context) ([]core.ThreadKey, error)
	})
	if !ok {
		return nil
	}
	keys, err := lister.Claimed(ctx)
	if err != nil {
		return err
	}
	return w.mailbox.Reclaim(ctx, keys)
}

// eraseNow erases a deleted thread immediately: in a program whose calls never have to wait,
// no call would handle its hint. The hint remains for what this does not reach, the records of
// a thread that has thousands, or that has something to deliver first. The sweep erases what a
// step that still runs puts later.
func (w *worker) eraseNow(ctx context.Context, q *Queue, key core.ThreadKey) {
	q.forget(key)
	w.workOff(ctx, q, Delivery{Hint: core.WakeUp{Tenant: key.Tenant, Thread: key.Thread, Sweep: true}})
}

// workOff handles a hint of this process's queue. A failure is logged, and the hint is tried
// again, later with each failure but without end: there is no dead-letter queue, and what a
// run may cost is counted in its head, where only Apply ends it.
func (w *worker) workOff(ctx context.Context, q *Queue, d Delivery) {
	err := env.Protect(func() error { return w.work(ctx, d.Hint, nil) })
	if err == nil {
		return
	}
	if ctx.Err() != nil { // another worker or process continues it
		q.Return(d, 0)
		return
	}
	w.log.ErrorContext(ctx, "work on a thread failed, will be retried", "tenant", d.Hint.Tenant, "thread", d.Hint.Thread, "error", err)
	q.Return(d, min(time.Duration(d.Receives)*time.Second, longestRetry))
}
