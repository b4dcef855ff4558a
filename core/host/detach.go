package host

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// ErrStopping is the cause with which a host that is about to stop cancels the
// contexts of its requests. It ends an inline run's step: the run returns to the
// queue and its stream ends with run_yield. Any other cancellation means that the client
// has gone, and does not end the run.
var ErrStopping = core.Errorf(core.CodeUnavailable, "the host is stopping")

// hostKey is the context key of the context that ForHost was given.
type hostKey struct{}

// ForHost returns a context from which the contexts of a host's requests should descend.
// With it, ErrStopping also reaches inline runs whose client has gone: the context of such a
// request has already ended, with another cause.
func ForHost(ctx context.Context) context.Context { return context.WithValue(ctx, hostKey{}, ctx) }

// detach returns a context with the values and the deadline of ctx, which is cancelled only
// if the host stops: a client that goes is not a cancel.
//
// A function waits for the end of the request, or of the host if ForHost was used, and
// reads its cause: a derived context would be cancelled for every cause. The caller must
// call the returned function, which waits for that function.
func detach(ctx context.Context, e *env.Env) (context.Context, context.CancelFunc) {
	// free has ctx's deadline on the environment's clock, which the simulator controls.
	values := context.WithoutCancel(ctx)
	var free context.Context
	var cancel context.CancelFunc
	if deadline, ok := ctx.Deadline(); ok {
		free, cancel = e.WithDeadline(values, deadline)
	} else {
		free, cancel = context.WithCancel(values)
	}
	host := ctx
	if all, ok := ctx.Value(hostKey{}).(context.Context); ok {
		host = all
	}
	watch, _ := e.Group(values)
	watch.Go(func(context.Context) error {
		if e.Wait(free, host.Done()) == nil && context.Cause(host) == ErrStopping {
			cancel()
		}
		return nil
	})
	return free, func() {
		cancel()
		_ = watch.Wait() // it only cancels
	}
}
