package host

import (
	"sync"

	"github.com/reveille-run/reveille/core"
)

// causes keeps the errors that ended runs in this process, for the calls that wait for
// those runs. The errors of other runs have no reader and are dropped.
type causes struct {
	mu    sync.Mutex // guards the map and its values
	waits map[core.ID]*failing
}

// failing is a run that calls wait for.
type failing struct {
	calls int // that wait for the run
	cause error
}

func newCauses() *causes { return &causes{waits: map[core.ID]*failing{}} }

// An error is noted by the step that ends the run, before the call that waits sees the end:
// the follower reads the head that this step has written.

// join keeps the error of a run for a call that waits for it, until quit.
func (c *causes) join(run core.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waits[run] == nil {
		c.waits[run] = &failing{}
	}
	c.waits[run].calls++
}

// quit ends a join. The last one drops the error.
func (c *causes) quit(run core.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.waits[run]; f != nil {
		if f.calls--; f.calls <= 0 {
			delete(c.waits, run)
		}
	}
}

// note keeps the error that has ended a run. It is run.Options.Failed.
func (c *causes) note(run core.ID, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.waits[run]; f != nil {
		f.cause = cause
	}
}

// of returns the error that has ended a run; nil: it is not known.
func (c *causes) of(run core.ID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.waits[run]; f != nil {
		return f.cause
	}
	return nil
}
