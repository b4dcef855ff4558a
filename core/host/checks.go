package host

import (
	"slices"
	"sync"

	"github.com/reveille-run/reveille/core"
)

// checks are the checks of the calls that wait for a typed answer, on the answers that this
// process takes of their runs: see [Host.Play].
type checks struct {
	mu    sync.Mutex // guards waits; not held while a check runs
	waits map[core.ID][]*check
}

// check returns what is wrong with an answer; nil: it is right.
type check func(answer string) error

func newChecks() *checks { return &checks{waits: map[core.ID][]*check{}} }

// join applies f to the run's answers until quit is called. If f is nil, join does nothing.
func (c *checks) join(run core.ID, f check) (quit func()) {
	if f == nil {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits[run] = append(c.waits[run], &f)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		left := slices.DeleteFunc(slices.Clone(c.waits[run]), func(one *check) bool { return one == &f })
		if c.waits[run] = left; len(left) == 0 {
			delete(c.waits, run)
		}
	}
}

// accept applies the checks of all calls that wait for the run, and returns the first
// error. It is run.Options.Accept.
func (c *checks) accept(run core.ID, _ int, answer string) error {
	c.mu.Lock()
	waiting := slices.Clone(c.waits[run])
	c.mu.Unlock()
	for _, f := range waiting {
		if err := (*f)(answer); err != nil {
			return err
		}
	}
	return nil
}
