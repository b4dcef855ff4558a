package mailbox

import (
	"context"
	"errors"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// outward turns the store's error about the records of a request into an error that the client
// can use. Clients read errors with these codes unchanged, and the store names tenants and
// records. If a record is too large, the client must know, in other words. If a stored record
// is in the way, it need not know, and another attempt succeeds.
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
