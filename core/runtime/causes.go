package runtime

import (
	"sync"

	"github.com/reveille-run/reveille/core"
)

// causes are the errors that ended runs in this process, of the runs that a call waits
// for: no other has a use for them.
type causes struct {
	mu    sync.Mutex
	waits map[core.ID]*failing
}

type failing struct {
	calls int // that wait
	cause error
}

func newCauses() *causes { return &causes{waits: map[core.ID]*failing{}} }

// join keeps the error of a run for a call that waits for it, until quit.
func (c *causes) join(run core.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waits[run] == nil {
		c.waits[run] = &failing{}
	}
	c.waits[run].calls++
}

// quit ends a join.
func (c *causes) quit(run core.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.waits[run]; f != nil {
		if f.calls--; f.calls <= 0 {
			delete(c.waits, run)
		}
	}
}

// note keeps what has ended a run.
func (c *causes) note(run core.ID, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.waits[run]; f != nil {
		f.cause = cause
	}
}

// of returns what has ended a run; nil: it is not known.
func (c *causes) of(run core.ID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.waits[run]; f != nil {
		return f.cause
	}
	return nil
}
