package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// StoredHead implements [store.Backend].
func (s *backend) StoredHead(ctx context.Context, key core.ThreadKey) (store.StoredHead, error) {
	if err := check(ctx, key); err != nil {
		return store.StoredHead{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.storedHead(key), nil
}

// storedHead is StoredHead under the lock.
func (s *backend) storedHead(key core.ThreadKey) store.StoredHead {
	c := s.threads[key]
	if c == nil || c.head == nil {
		return store.StoredHead{}
	}
	_, damage := s.head(key)
	return store.StoredHead{Bytes: copied(c.head), Version: c.version, Quarantined: c.marked, Damage: damage}
}

// QuarantineHead implements [store.Backend].
func (s *backend) QuarantineHead(ctx context.Context, key core.ThreadKey, was store.StoredHead, since int64) (bool, error) {
	return s.replace(ctx, key, was, func(now store.StoredHead, c *contents) error {
		if err := now.CheckDamaged(key); err != nil {
			return err
		}
		c.marked = since
		s.indexHead(key, 0, 0)
		return nil
	})
}

// ReleaseHead implements [store.Backend].
func (s *backend) ReleaseHead(ctx context.Context, key core.ThreadKey, was store.StoredHead) (bool, error) {
	return s.replace(ctx, key, was, func(now store.StoredHead, c *contents) error {
		head, err := s.head(key)
		if err != nil || now.Quarantined == 0 {
			return err
		}
		c.marked = 0
		s.indexHead(key, head.DueAt, head.Run.WaitsSince)
		return nil
	})
}

// ReplaceHead implements [store.Backend].
func (s *backend) ReplaceHead(ctx context.Context, key core.ThreadKey, was store.StoredHead, next thread.Head) (bool, error) {
	return s.replace(ctx, key, was, func(now store.StoredHead, c *contents) error {
		if err := now.CheckDamaged(key); err != nil {
			return err
		}
		s.setHead(key, c, &next)
		return nil
	})
}

// replace calls do with the head that is stored, if that is the one before.
func (s *backend) replace(ctx context.Context, key core.ThreadKey, was store.StoredHead, do func(now store.StoredHead, c *contents) error) (done bool, err error) {
	if err := check(ctx, key); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.storedHead(key)
	if !now.Same(was) {
		return false, nil
	}
	err = do(now, s.threads[key])
	return err == nil, err
}

// Quarantined implements [store.Backend].
func (s *backend) Quarantined(ctx context.Context, after *core.ThreadKey, limit int) ([]core.ThreadKey, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []core.ThreadKey
	for key, c := range s.threads {
		if c.marked != 0 && (after == nil || compareKeys(key, *after) > 0) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, compareKeys)
	return keys[:min(len(keys), max(limit, 0))], nil
}

func compareKeys(a, b core.ThreadKey) int {
	return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Thread, b.Thread))
}
