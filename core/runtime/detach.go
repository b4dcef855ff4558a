package runtime

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// ErrStopping is the cause with which a host that is about to end cancels the
// contexts of its requests. Such a context ends an inline run's step: the run
// goes back to the queue and its stream ends with run_yield. Any other
// cancellation is a client that went away, and ends nothing.
var ErrStopping = core.Errorf(core.CodeUnavailable, "the host is stopping")

// hostKey is the context key of what ForHost makes.
type hostKey struct{}

// ForHost returns the context that a host's requests are to descend from. Its end
// with the cause [ErrStopping] reaches inline runs whose client has left, too: the
// context of such a request has ended before, for another cause.
func ForHost(ctx context.Context) context.Context { return context.WithValue(ctx, hostKey{}, ctx) }

// detach keeps a context's values, its deadline and the cancellation of a host
// that stops, not any other: a client that goes away is not a cancel.
//
// One function waits for the end of the request, or of its host where that is known,
// and reads the cause then: a cancelled context does not say why to whoever merely
// inherits it.
// The caller must call the returned function, which waits for it.
func detach(ctx context.Context, e *env.Env) (context.Context, context.CancelFunc) {
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
