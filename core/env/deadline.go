package env

import (
	"context"
	"sync"
	"time"
)

// deadline is Env.Deadline of the real clock. Most deadlines guard work that is over within
// milliseconds and looks at no more than Err, so that the first call that waits, or reads a
// value, makes the timer.
type deadline struct {
	parent context.Context
	at     time.Time

	mu     sync.Mutex // guards what follows
	timed  context.Context
	cancel context.CancelFunc // of timed
	over   bool               // it was cancelled before there was timed
}

func newDeadline(parent context.Context, at time.Time) (context.Context, context.CancelFunc) {
	d := &deadline{parent: parent, at: at}
	return d, d.stop
}

// Deadline implements context.Context.
func (d *deadline) Deadline() (time.Time, bool) {
	if before, ok := d.parent.Deadline(); ok && before.Before(d.at) {
		return before, true
	}
	return d.at, true
}

// Done implements context.Context.
func (d *deadline) Done() <-chan struct{} { return d.context().Done() }

// Err implements context.Context.
func (d *deadline) Err() error {
	if d.lasts() {
		return nil
	}
	return d.context().Err()
}

// Value implements context.Context. A child finds by it the context that it is to end with,
// and [context.Cause] why a context has ended.
func (d *deadline) Value(key any) any {
	if d.lasts() {
		return d.parent.Value(key)
	}
	return d.context().Value(key)
}

// lasts reports that no goroutine waits and that nothing has ended the context.
func (d *deadline) lasts() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.timed == nil && !d.over && d.parent.Err() == nil && time.Now().Before(d.at)
}

// context returns the context that has the timer, and makes it once.
func (d *deadline) context() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.timed != nil:
	case d.over: // by now the time may be over, too, but that came second
		d.timed, d.cancel = context.WithCancel(d.parent)
		d.cancel()
	default:
		d.timed, d.cancel = context.WithDeadline(d.parent, d.at)
	}
	return d.timed
}

func (d *deadline) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over = true; d.cancel != nil {
		d.cancel()
	}
}
