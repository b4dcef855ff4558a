package host

import (
	"context"

	"github.com/reveille-run/reveille/core"
)

// Listener receives the events of a stream. Its methods are never called concurrently.
type Listener interface {
	// Emit receives an event. It must return immediately, however slow the reader is: the
	// run does not wait for it. An error means that the reader is gone; Emit is not
	// called again then.
	Emit(core.Event) error
	// Ready returns when the reader has taken nearly all that it was sent, so that a stream of
	// stored events does not read ahead of its reader. An error means that the reader is gone,
	// or that ctx is done.
	Ready(ctx context.Context) error
}

// Choosing is a listener that chooses among the optional events.
type Choosing interface {
	Listener
	// Wants reports whether the listener receives events of a type. It is called for
	// three types: state_delta and state_snapshot, which every other listener receives,
	// and messages_snapshot, which no other listener does.
	Wants(core.EventType) bool
}

// ListenerFunc is a listener that is always ready.
type ListenerFunc func(core.Event) error

// Emit implements [Listener].
func (f ListenerFunc) Emit(e core.Event) error { return f(e) }

// Ready implements [Listener].
func (ListenerFunc) Ready(context.Context) error { return nil }
