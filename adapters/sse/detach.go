package sse

import "context"

// Detach returns the context for a run that a request starts: a client that
// goes away does not cancel it, but the deadline of the invocation still holds.
func Detach(ctx context.Context) (context.Context, context.CancelFunc) {
	detached := context.WithoutCancel(ctx)
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(detached, deadline)
	}
	return context.WithCancel(detached)
}
