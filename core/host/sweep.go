package host

import (
	"context"

	"github.com/reveille-run/reveille/core"
)

// Methods that hosts call on a schedule, or when a process or a message is lost. A lost wake-up
// costs time, never a run: the heads have all work that remains.

// Sweep wakes every overdue thread, whose wake-up was lost, and returns how many. A host
// calls it every minute.
func (r *Host) Sweep(ctx context.Context) (int, error) { return r.mailbox.Sweep(ctx) }

// Reclaim releases the claims on threads whose holders are known to be gone, so that other
// workers need not wait for their leases to end.
func (r *Host) Reclaim(ctx context.Context, keys []core.ThreadKey) error {
	return r.mailbox.Reclaim(ctx, keys)
}

// Rewake handles a wake-up of the dead-letter queue: see mailbox.Service.Rewake.
func (r *Host) Rewake(ctx context.Context, hint core.WakeUp) (bool, error) {
	return r.mailbox.Rewake(ctx, hint)
}
