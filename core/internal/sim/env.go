package sim

import (
	"context"
	"time"

	"github.com/reveille-run/reveille/core/env"
)

// epoch is when every world begins.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// env is the process's way to the world.
func (h *host) env() *env.Env {
	w := h.world
	return &env.Env{
		Now:      h.clock,
		Sleep:    w.sleep,
		Wait:     w.wait,
		Deadline: h.deadline,
		Random:   w.random.fill,
		Start:    func(f func()) { w.current().host.spawn(f) },
		After:    w.after,
		Reach:    func(env.Point) func() { return func() {} },
	}
}

// clock is the process's own, which may be wrong.
func (h *host) clock() time.Time { return epoch.Add(h.world.now + h.skew) }

// poll is how often a holder looks whether it still is one.
func (w *World) poll() time.Duration {
	if w.config.Seed/Kinds%5 == 0 { // in each kind
		return 2 * time.Second
	}
	return lease / 6
}

// sleep is env.Env.Sleep.
func (w *World) sleep(ctx context.Context, d time.Duration) error {
	t := w.current()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	slept, wait := false, t.waits
	w.at(d, func() {
		slept = true
		t.wake(wait)
	})
	t.park(ctx, nil)
	if slept {
		return nil
	}
	return context.Cause(ctx)
}

// after is env.Env.After.
func (w *World) after(d time.Duration, f func()) (stop func() bool) {
	from, over := w.current(), false
	w.at(d, func() {
		if h := from.host; !over && !h.dead {
			over = true
			h.spawn(f).from = from
		}
	})
	return func() bool {
		was := over
		over = true
		return !was
	}
}

// wait is env.Env.Wait.
func (w *World) wait(ctx context.Context, done <-chan struct{}) error {
	for {
		switch {
		case closed(done):
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		w.current().park(ctx, done)
	}
}

// deadlineContext is a context of the simulated clock. It wraps a cancelled
// one without hiding it, so that no goroutine is needed to watch it.
type deadlineContext struct {
	context.Context
	at time.Time
}

// Deadline implements context.Context.
func (c deadlineContext) Deadline() (time.Time, bool) { return c.at, true }

// Err implements context.Context.
func (c deadlineContext) Err() error {
	if err := c.Context.Err(); err == nil || context.Cause(c.Context) != context.DeadlineExceeded {
		return err
	}
	return context.DeadlineExceeded
}

// deadline is env.Env.Deadline.
func (h *host) deadline(parent context.Context, at time.Time) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	stop := func() { cancel(context.Canceled) }
	if was, ok := parent.Deadline(); ok && !at.Before(was) {
		return ctx, stop
	}
	left := at.Sub(h.clock())
	if left <= 0 {
		cancel(context.DeadlineExceeded)
	} else {
		h.world.at(left, func() {
			if ctx.Err() == nil && !h.dead {
				cancel(context.DeadlineExceeded)
				h.poll()
			}
		})
	}
	return deadlineContext{ctx, at}, stop
}
