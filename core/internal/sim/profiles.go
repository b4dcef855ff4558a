package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

// ask makes one request about profiles or snapshots: refusal is what the store
// returns, and counts when the response arrives.
func (b backend) ask(ctx context.Context, site Site, name string, do func() (refusal error)) error {
	var refusal error
	if err := b.one(ctx, site, name, func() { refusal = do() }); err != nil {
		return err
	}
	return refusal
}

// ReadProfile implements [store.Backend].
func (b backend) ReadProfile(ctx context.Context, tenant string, name state.ProfileName) (profile state.Profile, err error) {
	err = b.ask(ctx, SiteGet, name.String(), func() (err error) {
		profile, err = b.host.world.storage.profiles.ReadProfile(context.Background(), tenant, name)
		return err
	})
	return profile, err
}

// WriteProfile implements [store.Backend].
func (b backend) WriteProfile(ctx context.Context, tenant string, name state.ProfileName, value json.RawMessage, revision uint64) (next uint64, err error) {
	err = b.ask(ctx, SiteRewrite, name.String(), func() (err error) {
		next, err = b.host.world.storage.profiles.WriteProfile(context.Background(), tenant, name, value, revision)
		return err
	})
	return next, err
}

// DeleteProfile implements [store.Backend].
func (b backend) DeleteProfile(ctx context.Context, tenant string, name state.ProfileName, revision uint64) error {
	return b.ask(ctx, SiteRewrite, name.String(), func() error {
		return b.host.world.storage.profiles.DeleteProfile(context.Background(), tenant, name, revision)
	})
}

// ProfileKeys implements [store.Backend].
func (b backend) ProfileKeys(ctx context.Context, tenant, namespace, prefix, after string, limit int) (keys []string, err error) {
	err = b.ask(ctx, SiteGet, namespace, func() (err error) {
		keys, err = b.host.world.storage.profiles.ProfileKeys(context.Background(), tenant, namespace, prefix, after, limit)
		return err
	})
	return keys, err
}

// PutSnapshot implements [store.Backend].
func (b backend) PutSnapshot(ctx context.Context, hash string, content []byte) error {
	if err := core.CheckName("hash of a snapshot", hash); err != nil {
		return err
	}
	if len(content) > maxRecord {
		return fmt.Errorf("snapshot %s of %d bytes: %w", hash, len(content), store.ErrTooLarge)
	}
	return b.ask(ctx, SiteCreate, hash, func() error {
		stored, ok := b.host.world.storage.configs[hash]
		if ok && !bytes.Equal(stored, content) {
			return &store.RefusedError{Name: hash, Cause: store.ErrConflict}
		}
		b.host.world.storage.configs[hash] = content
		return nil
	})
}

// Snapshot implements [store.Backend].
func (b backend) Snapshot(ctx context.Context, hash string) (content []byte, ok bool, err error) {
	if err := core.CheckName("hash of a snapshot", hash); err != nil {
		return nil, false, err
	}
	err = b.one(ctx, SiteGet, hash, func() { content, ok = b.host.world.storage.configs[hash] })
	return content, ok && err == nil, err
}
