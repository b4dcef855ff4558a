// Package feed makes loops over the events of a run from calls that show them one by one.
package feed

import (
	"context"
	"iter"
	"sync"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// feed passes events from the goroutine of a run to that of a loop. It is unbounded: the
// run never waits for the loop, so feed holds all events that the loop has not taken.
type feed struct {
	env *env.Env

	mu      sync.Mutex    // guards the fields below
	events  []core.Event  // that the loop has not taken, oldest first
	err     error         // why the run was not followed to its end; nil: it was
	over    bool          // no event follows
	changed chan struct{} // closed with the next event or the end; nil: the loop does not wait
}

// emit adds an event. It is a ListenerFunc.
func (f *feed) emit(e core.Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, e)
	f.signal()
	return nil
}

// end ends the feed after its events. err is the loop's last item; nil: none.
func (f *feed) end(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over, f.err = true, err
	f.signal()
}

// signal wakes the loop. The caller holds mu.
func (f *feed) signal() {
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

// next waits for the next event. more is false at the end; err is the feed's then.
func (f *feed) next() (e core.Event, more bool, err error) {
	for {
		f.mu.Lock()
		switch {
		case len(f.events) > 0:
			e, f.events = f.events[0], f.events[1:]
			f.mu.Unlock()
			return e, true, nil
		case f.over:
			f.mu.Unlock()
			return e, false, f.err
		}
		if f.changed == nil {
			f.changed = make(chan struct{})
		}
		changed := f.changed
		f.mu.Unlock()
		_ = f.env.Wait(context.Background(), changed) // the feed always ends: the play has a separate context
	}
}

// Iterate makes a loop over the events of a call that emits them, such as
// host.Host.Play and Follow. Each loop makes the call, with a context that ends
// with ctx and with the loop. An error of the call is the last item.
//
// The call continues while the loop's body runs, and never waits for it: events that the
// body has not taken are kept. After the loop nothing of the call runs any more.
func Iterate(ctx context.Context, e *env.Env, call func(ctx context.Context, emit func(core.Event) error) error) iter.Seq2[core.Event, error] {
	return func(yield func(core.Event, error) bool) {
		calling, cancel := context.WithCancelCause(ctx)
		// The call runs in another goroutine, so that the loop's body may take its time. The
		// body stays in the caller's goroutine: it may panic, or end the goroutine.
		group, shared := e.Group(calling)
		feed := feed{env: e}
		group.Go(func(context.Context) (err error) {
			defer func() { feed.end(err) }()
			return env.Protect(func() error { return call(shared, feed.emit) })
		})
		defer func() {
			cancel(errLeft)
			_ = group.Wait() // its error was yielded, or the loop is over
		}()
		// The last item may be an error. A body that ends the loop ends the call with it, in
		// the deferred function: also if the body panics.
		for {
			e, more, err := feed.next()
			if more || err != nil {
				more = yield(e, err) && more
			}
			if !more {
				return
			}
		}
	}
}

// errLeft is the cause of a play whose reader broke out of its loop.
var errLeft = core.Errorf(core.CodeUnavailable, "the reader of the events has left")
