package host

import (
	"context"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// ErrStopping is the cause with which a host that is about to stop cancels the
// contexts of its requests. It ends an inline run's step: the run returns to the
// queue and its stream ends with run_yield. Any other cancellation means that the client
// has gone, and does not end the run.
var ErrStopping = core.Errorf(core.CodeUnavailable, "the host is stopping")

// hostKey is the context key of the context that ends with ErrStopping, for [ForHost].
type hostKey struct{}

// ForHost returns a context from which the contexts of a host's requests should descend.
// With it, ErrStopping also reaches inline runs whose client has gone: the context of such a
// request has already ended, with another cause. And a run costs no goroutine that waits for
// the host's end.
func ForHost(ctx context.Context) context.Context {
	stopping, stop := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		if context.Cause(ctx) == ErrStopping {
			stop()
		}
	})
	return context.WithValue(ctx, hostKey{}, stopping)
}

// detach returns a context with the values and the deadline of ctx, which is cancelled only
// if the host stops: a client that goes is not a cancel. The caller must call the returned
// function.
func detach(ctx context.Context, e *env.Env) (context.Context, context.CancelFunc) {
	if stopping, ok := ctx.Value(hostKey{}).(context.Context); ok {
		return cancellable(ctx, &hosted{stopping, context.WithoutCancel(ctx)}, e)
	}
	// A function waits for the end of the request and reads its cause: a derived context would
	// be cancelled for every cause. The returned function waits for that function.
	free, cancel := cancellable(ctx, context.WithoutCancel(ctx), e)
	watch, _ := e.Group(context.WithoutCancel(ctx))
	watch.Go(func(context.Context) error {
		if e.Wait(free, ctx.Done()) == nil && context.Cause(ctx) == ErrStopping {
			cancel()
		}
		return nil
	})
	return free, func() {
		cancel()
		_ = watch.Wait() // it only cancels
	}
}

// cancellable returns a child of free with the deadline of ctx, on the environment's clock,
// which the simulator controls.
func cancellable(ctx, free context.Context, e *env.Env) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		return e.WithDeadline(free, deadline)
	}
	return env.Cancellable(free)
}

// hosted is a context that ends with one context and has the values of another, which never
// ends.
type hosted struct{ stopping, values context.Context }

// Deadline implements context.Context.
func (h *hosted) Deadline() (time.Time, bool) { return h.stopping.Deadline() }

// Done implements context.Context.
func (h *hosted) Done() <-chan struct{} { return h.stopping.Done() }

// Err implements context.Context.
func (h *hosted) Err() error { return h.stopping.Err() }

// Value implements context.Context. A child finds by it the context that it is to end with,
// which a context that never ends does not have.
func (h *hosted) Value(key any) any {
	if value := h.values.Value(key); value != nil {
		return value
	}
	return h.stopping.Value(key)
}
