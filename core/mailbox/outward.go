package mailbox

import (
	"context"
	"errors"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// outward turns what the store says of the records of a request into what its
// sender can use: errors with these codes are read by clients as they are, and the
// store names tenants and records. That a record is too large is the sender's
// affair, in other words; that one stands in the way is not, and another try gets
// past it.
func (s *Service) outward(ctx context.Context, key core.ThreadKey, what string, err error) error {
	switch {
	case errors.Is(err, store.ErrConflict):
		return core.Errorf(core.CodeThrottled, "%s: %w", what, err)
	case errors.Is(err, store.ErrTooLarge):
		s.log.WarnContext(ctx, what+" is too large for the store", "tenant", key.Tenant, "thread", key.Thread, "error", err)
		return core.Errorf(core.CodeTooLarge, "thread %s: the %s is larger than can be stored", key.Thread, what)
	}
	return err
}
