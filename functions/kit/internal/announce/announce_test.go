package announce

import (
	"context"
	"errors"
	"testing"

	"github.com/reveille-run/reveille/core/mailbox"
)

// counting is a publisher that fails, or not.
type counting struct {
	n    int
	fail error
}

func (c *counting) Publish(context.Context, mailbox.Announcement) error {
	c.n++
	return c.fail
}

// One that fails keeps the others from nothing, and makes all of it come again.
func TestEachPublisherIsTried(t *testing.T) {
	down := errors.New("down")
	first, second := &counting{fail: down}, &counting{}
	if err := All(nil, first, second).Publish(t.Context(), mailbox.Announcement{}); !errors.Is(err, down) || first.n != 1 || second.n != 1 {
		t.Errorf("error %v after %d and %d calls", err, first.n, second.n)
	}
	first.fail = nil
	if err := All(first, second).Publish(t.Context(), mailbox.Announcement{}); err != nil {
		t.Error(err)
	}
	if All(nil, nil) != nil || All(nil, second) != mailbox.Publisher(second) {
		t.Error("of none or one something else is made")
	}
}
