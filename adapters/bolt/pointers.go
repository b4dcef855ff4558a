package bolt

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/core"
)

// PutPointer implements [store.Pointers]. The time to live is rounded up to the
// second.
func (s *Store) PutPointer(ctx context.Context, tenant, name string, value []byte, ttl time.Duration) (stored []byte, err error) {
	at, err := checkPointer(tenant, name)
	if err != nil {
		return nil, err
	}
	if len(value) > s.maxPayload {
		return nil, core.Errorf(core.CodeTooLarge, "pointer %q has %d bytes, at most %d are allowed", core.Excerpt(name), len(value), s.maxPayload)
	}
	err = s.update(ctx, func(tx *bbolt.Tx) (bool, error) {
		old, err := readItem(tx.Bucket(pointersBucket), at)
		if err != nil {
			return false, err
		}
		now := s.now()
		if old != nil && !old.expired(now.Unix()) {
			stored = old.payload
			return false, nil
		}
		next := item{payload: value}
		if ttl > 0 {
			next.expires = now.Add(ttl + time.Second - 1).Unix()
		}
		stored = append([]byte{}, value...)
		return true, writeItem(tx, expiryOfPointer, at, next.encode(), old, next.expires)
	})
	if err != nil {
		return nil, fmt.Errorf("put pointer %q of %s: %w", core.Excerpt(name), tenant, err)
	}
	return stored, nil
}

// Pointer implements [store.Pointers].
func (s *Store) Pointer(ctx context.Context, tenant, name string) (value []byte, ok bool, err error) {
	at, err := checkPointer(tenant, name)
	if err != nil {
		return nil, false, err
	}
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		stored, err := readItem(tx.Bucket(pointersBucket), at)
		if stored != nil && !stored.expired(s.now().Unix()) {
			value, ok = stored.payload, true
		}
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("read pointer %q of %s: %w", core.Excerpt(name), tenant, err)
	}
	return value, ok, nil
}

func checkPointer(tenant, name string) ([]byte, error) {
	if err := core.CheckName("tenant", tenant); err != nil {
		return nil, err
	}
	at := pointerKey(tenant, name)
	if len(at) > bbolt.MaxKeySize/2 { // the rest is for the index
		return nil, core.Errorf(core.CodeInvalid, "pointer name %q is %d bytes long", core.Excerpt(name), len(name))
	}
	return at, nil
}
