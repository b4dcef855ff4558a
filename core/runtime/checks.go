package runtime

import (
	"slices"
	"sync"

	"github.com/reveille-run/reveille/core"
)

// checks are what the calls that wait for a typed answer say about those that their runs
// come to in this process: see [RunTyped].
type checks struct {
	mu    sync.Mutex
	waits map[core.ID][]*check
}

// check returns what is wrong with an answer.
type check func(answer string) error

func newChecks() *checks { return &checks{waits: map[core.ID][]*check{}} }

// join asks f about the run's answers until quit is called; nil: it asks nothing.
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

// accept asks all calls that wait for the run: it is run.Options.Accept.
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
