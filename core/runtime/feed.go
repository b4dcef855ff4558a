package runtime

import (
	"context"
	"sync"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// feed hands events from the goroutine of a run to that of a loop. It holds as many as
// the loop is behind.
type feed struct {
	env *env.Env

	mu      sync.Mutex // guards what follows
	events  []core.Event
	err     error
	over    bool
	changed chan struct{} // closed with the next event or the end; nil: nobody waits
}

// emit is a Listener's.
func (f *feed) emit(e core.Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, e)
	f.signal()
	return nil
}

// end says that nothing follows; err is what the loop is to be told.
func (f *feed) end(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over, f.err = true, err
	f.signal()
}

func (f *feed) signal() {
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

// next waits for the next event. more is false at the end, whose error it then returns.
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
		_ = f.env.Wait(context.Background(), changed) // the end comes in any case: it has its own context
	}
}
