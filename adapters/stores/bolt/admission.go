package bolt

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// readTally reads a tenant's tally; one that is not there is empty.
func readTally(tx *bbolt.Tx, tenant string) (t store.Tally, err error) {
	at := []byte(tenant)
	return decodeTally(at, tx.Bucket(admissionsBucket).Get(at))
}

func decodeTally(at, value []byte) (t store.Tally, err error) {
	if value == nil {
		return t, nil
	}
	stored, err := unseal(value, itemFormat, at)
	if err == nil {
		err = json.Unmarshal(stored, &t)
	}
	if err != nil {
		return t, fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	}
	return t, nil
}

// changeTally calls change with a tenant's tally and stores it if change returns true. A
// damaged tally cannot be counted with, and is an error.
func (s *Store) changeTally(ctx context.Context, doing, tenant string, change func(*store.Tally) (changed bool)) error {
	if err := core.CheckName("tenant", tenant); err != nil {
		return err
	}
	err := s.update(ctx, func(w *writeTx) (bool, error) {
		t, err := readTally(w.tx, tenant)
		if err != nil || !change(&t) {
			return false, err
		}
		content, err := json.Marshal(t)
		if err != nil {
			return false, err
		}
		at := []byte(tenant)
		return true, w.put(admissionsBucket, at, seal(append(make([]byte, headerSize), content...), itemFormat, at))
	})
	if err != nil {
		return fmt.Errorf("%s of tenant %s: %w", doing, tenant, err)
	}
	return nil
}

// Admission implements [store.Backend].
func (s *Store) Admission(ctx context.Context, tenant string, day int64) (a store.Admission, err error) {
	if err := core.CheckName("tenant", tenant); err != nil {
		return a, err
	}
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		t, err := readTally(tx, tenant)
		a = t.On(day)
		return err
	})
	if err != nil {
		return store.Admission{}, fmt.Errorf("read admission of tenant %s: %w", tenant, err)
	}
	return a, nil
}

// Admit implements [store.Backend].
func (s *Store) Admit(ctx context.Context, tenant string, a store.Admitting) (after store.Admission, admitted bool, err error) {
	err = s.changeTally(ctx, "admit a run", tenant, func(t *store.Tally) (changed bool) {
		admitted, changed = t.Admit(a)
		after = t.On(a.Day)
		return changed
	})
	return after, admitted && err == nil, err
}

// Charge implements [store.Backend].
func (s *Store) Charge(ctx context.Context, tenant string, c store.Use) (after store.Admission, charged bool, err error) {
	err = s.changeTally(ctx, "charge a run", tenant, func(t *store.Tally) bool {
		charged = t.Charge(c)
		after = t.On(c.Day)
		return charged
	})
	return after, charged && err == nil, err
}

// Release implements [store.Backend].
func (s *Store) Release(ctx context.Context, tenant string, r store.Use) (released bool, err error) {
	err = s.changeTally(ctx, "release a slot", tenant, func(t *store.Tally) bool {
		released = t.Release(r)
		return released
	})
	return released && err == nil, err
}

// Occupied implements [store.Backend].
func (s *Store) Occupied(ctx context.Context, after string, limit int) (list []store.Occupied, err error) {
	if err := ctx.Err(); err != nil || limit <= 0 {
		return nil, err
	}
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		list = nil
		cursor := tx.Bucket(admissionsBucket).Cursor()
		at, value := cursor.Seek([]byte(after))
		if bytes.Equal(at, []byte(after)) {
			at, value = cursor.Next()
		}
		for ; at != nil && len(list) < limit; at, value = cursor.Next() {
			t, err := decodeTally(at, value)
			if err != nil {
				return fmt.Errorf("tenant %s: %w", core.Excerpt(string(at)), err)
			}
			if len(t.Slots) > 0 {
				list = append(list, store.Occupied{Tenant: string(at), Slots: t.Slots})
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list tenants with slots: %w", err)
	}
	return list, nil
}
