package runtime

import (
	"context"

	"github.com/reveille-run/reveille/core"
)

// Listener is whom a stream is for.
type Listener interface {
	// Emit takes an event. It returns at once, however slow the reader is: the
	// run that the event tells of does not wait. An error means that nobody
	// listens any more; Emit is not called again then.
	Emit(core.Event) error
	// Ready returns when the reader has taken nearly all that it was sent, so that
	// who only shows what is stored does not read ahead of it. An error means that
	// nobody listens any more, or that ctx is done.
	Ready(ctx context.Context) error
}

// ListenerFunc is a listener that is always ready.
type ListenerFunc func(core.Event) error

// Emit implements [Listener].
func (f ListenerFunc) Emit(e core.Event) error { return f(e) }

// Ready implements [Listener].
func (ListenerFunc) Ready(context.Context) error { return nil }
