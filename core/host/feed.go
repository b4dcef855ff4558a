package host

import (
	"context"
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
		_ = f.env.Wait(context.Background(), changed) // the feed always ends: the play has a context of its own
	}
}
