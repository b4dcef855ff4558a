package sim

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// No simulated run damages a head, so that these methods only read: each head is intact,
// and is refused where a damaged one is wanted.

// StoredHead implements [store.Backend].
func (b backend) StoredHead(ctx context.Context, key core.ThreadKey) (stored store.StoredHead, err error) {
	err = b.one(ctx, SiteHead, key.Thread, func() {
		p := b.host.world.partition(key)
		stored = store.StoredHead{Bytes: p.encoded, Version: p.head.Version}
	})
	return stored, err
}

// QuarantineHead implements [store.Backend].
func (b backend) QuarantineHead(ctx context.Context, key core.ThreadKey, was store.StoredHead, _ int64) (bool, error) {
	return b.refuseIntact(ctx, key, was)
}

// ReleaseHead implements [store.Backend].
func (b backend) ReleaseHead(ctx context.Context, key core.ThreadKey, was store.StoredHead) (bool, error) {
	now, err := b.StoredHead(ctx, key)
	return err == nil && now.Same(was), err
}

// ReplaceHead implements [store.Backend].
func (b backend) ReplaceHead(ctx context.Context, key core.ThreadKey, was store.StoredHead, _ thread.Head) (bool, error) {
	return b.refuseIntact(ctx, key, was)
}

func (b backend) refuseIntact(ctx context.Context, key core.ThreadKey, was store.StoredHead) (bool, error) {
	now, err := b.StoredHead(ctx, key)
	if err != nil || !now.Same(was) {
		return false, err
	}
	return false, now.CheckDamaged(key)
}

// Quarantined implements [store.Backend].
func (b backend) Quarantined(ctx context.Context, _ *core.ThreadKey, _ int) ([]core.ThreadKey, error) {
	return nil, ctx.Err()
}
