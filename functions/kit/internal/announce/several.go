package announce

import (
	"context"
	"errors"

	"github.com/reveille-run/reveille/core/mailbox"
)

// several is more than one publisher.
type several []mailbox.Publisher

// Publish implements mailbox.Publisher. It calls each publisher, also after a failure.
func (s several) Publish(ctx context.Context, a mailbox.Announcement) error {
	var failed error
	for _, p := range s {
		failed = errors.Join(failed, p.Publish(ctx, a))
	}
	return failed
}
