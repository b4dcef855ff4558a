package env

import (
	"context"
	"sync"
	"time"
)

// lazy is a child context that package context makes at the first call that waits for it.
// Most contexts guard work that is over within milliseconds and looks at no more than Err:
// those cost no channel, no timer and no place in their parent.
//
// It has the clock of package time.
type lazy struct {
	parent context.Context
	at     time.Time // when it ends by itself; zero: never

	mu     sync.Mutex // guards what follows
	made   context.Context
	cancel context.CancelCauseFunc // of made
	over   bool                    // it was cancelled before there was made, and before its parent and its time ended it
}

// newDeadline is Env.Deadline of the real clock.
func newDeadline(parent context.Context, at time.Time) (context.Context, context.CancelFunc) {
	l := &lazy{parent: parent, at: at}
	return l, l.stop
}

// Cancellable is [context.WithCancel], and costs less as long as no goroutine waits for the
// context. The caller must call the function.
func Cancellable(parent context.Context) (context.Context, context.CancelFunc) {
	l := &lazy{parent: parent}
	return l, l.stop
}

// Deadline implements context.Context.
func (l *lazy) Deadline() (time.Time, bool) {
	if before, ok := l.parent.Deadline(); ok && (l.at.IsZero() || before.Before(l.at)) {
		return before, true
	}
	return l.at, !l.at.IsZero()
}

// Done implements context.Context.
func (l *lazy) Done() <-chan struct{} { return l.context().Done() }

// Err implements context.Context.
func (l *lazy) Err() error {
	if l.lasts() {
		return nil
	}
	return l.context().Err()
}

// Value implements context.Context. A child finds by it the context that it is to end with,
// and [context.Cause] why a context has ended.
func (l *lazy) Value(key any) any {
	if l.lasts() {
		return l.parent.Value(key)
	}
	return l.context().Value(key)
}

// lasts reports that no goroutine waits and that nothing has ended the context.
func (l *lazy) lasts() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.made == nil && !l.over && l.open()
}

// open reports whether neither the parent nor the time has ended the context.
func (l *lazy) open() bool {
	return l.parent.Err() == nil && (l.at.IsZero() || time.Now().Before(l.at))
}

// context returns the context of package context, and makes it once.
func (l *lazy) context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.create()
	return l.made
}

// create makes the context of package context, once. The caller holds mu.
func (l *lazy) create() {
	switch {
	case l.made != nil:
	case l.over: // what has ended since came second
		l.made, l.cancel = context.WithCancelCause(context.WithoutCancel(l.parent))
		l.cancel(nil)
	case l.at.IsZero():
		l.made, l.cancel = context.WithCancelCause(l.parent)
	default:
		made, cancel := context.WithDeadline(l.parent, l.at)
		l.made, l.cancel = made, func(error) { cancel() }
	}
}

func (l *lazy) stop() { l.end(nil) }

// end cancels the context with a cause; nil: context.Canceled. A context with a time of its
// own has no other.
func (l *lazy) end(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made == nil && cause == nil && l.open() {
		l.over = true
		return
	}
	l.create()
	l.cancel(cause)
}
