package runtime

import (
	"context"

	"github.com/reveille-run/reveille/core"
)

// Sweep wakes every overdue thread and returns how many.
func (r *Runtime) Sweep(ctx context.Context) (int, error) { return r.mailbox.Sweep(ctx) }

// Reclaim takes back the claims on threads whose holders are known to be gone.
func (r *Runtime) Reclaim(ctx context.Context, keys []core.ThreadKey) error {
	return r.mailbox.Reclaim(ctx, keys)
}

// Rewake is the dead-letter queue's consumer: mailbox.Service.Rewake.
func (r *Runtime) Rewake(ctx context.Context, hint core.WakeUp) (bool, error) {
	return r.mailbox.Rewake(ctx, hint)
}
