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
	// a caller that only shows what is stored does not read ahead of it. An error means that
	// nobody listens any more, or that ctx is done.
	Ready(ctx context.Context) error
}

// Choosing is a listener that chooses among the events that not everybody wants.
type Choosing interface {
	Listener
	// Wants reports whether the listener is given events of a type. It is asked about
	// three: state_delta and state_snapshot, which every other listener is given, and
	// messages_snapshot, which no other one is.
	Wants(core.EventType) bool
}

// ListenerFunc is a listener that is always ready.
type ListenerFunc func(core.Event) error

// Emit implements [Listener].
func (f ListenerFunc) Emit(e core.Event) error { return f(e) }

// Ready implements [Listener].
func (ListenerFunc) Ready(context.Context) error { return nil }
