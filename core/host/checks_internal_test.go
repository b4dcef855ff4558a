package host

import (
	"errors"
	"testing"

	"github.com/reveille-run/reveille/core"
)

func TestAllThatWaitForARunAreAsked(t *testing.T) {
	c := newChecks()
	no := errors.New("no")
	leaveFirst := c.join(core.ID{1}, func(string) error { return nil })
	leaveSecond := c.join(core.ID{1}, func(answer string) error {
		if answer == "bad" {
			return no
		}
		return nil
	})
	c.join(core.ID{1}, nil)()
	if err := c.accept(core.ID{1}, 1, "bad"); !errors.Is(err, no) {
		t.Errorf("%v, want the second one's", err)
	}
	if err := errors.Join(c.accept(core.ID{1}, 1, "good"), c.accept(core.ID{2}, 1, "bad")); err != nil {
		t.Error(err)
	}
	leaveSecond()
	if err := c.accept(core.ID{1}, 1, "bad"); err != nil || len(c.waits) != 1 {
		t.Errorf("%v of one that has left, %d runs are waited for", err, len(c.waits))
	}
	if leaveFirst(); len(c.waits) != 0 {
		t.Errorf("%d runs are waited for", len(c.waits))
	}
}
