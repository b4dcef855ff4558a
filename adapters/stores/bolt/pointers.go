package bolt

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// pointerWrite is a pointer on its way into the file.
type pointerWrite struct {
	store.Pointer
	at []byte
}

// checkPointer looks at what needs no file.
func (s *Store) checkPointer(tenant string, p store.Pointer) (at []byte, err error) {
	if len(p.Value) > s.maxPayload {
		return nil, fmt.Errorf("%w: pointer %q has %d bytes, at most %d are allowed", store.ErrTooLarge, core.Excerpt(p.Name), len(p.Value), s.maxPayload)
	}
	return pointerAt(tenant, p.Name)
}

// lookAtPointers finds out which pointers are taken and which must be written.
func (s *Store) lookAtPointers(tx *bbolt.Tx, pointers []store.Pointer, at [][]byte) (writes []pointerWrite, taken []store.Pointer, err error) {
	now := s.now().Unix()
	for i, p := range pointers {
		old, err := readItem(tx.Bucket(pointersBucket), at[i])
		switch {
		case err != nil:
			return nil, nil, fmt.Errorf("pointer %q: %w", core.Excerpt(p.Name), err)
		case old == nil || old.expired(now):
			writes = append(writes, pointerWrite{p, at[i]})
		case string(old.payload) != string(p.Value):
			taken = append(taken, store.Pointer{Name: p.Name, Value: old.payload})
		}
	}
	return writes, taken, nil
}

// write stores a pointer. Its time to live is rounded up to the second.
func (w *pointerWrite) write(to *writeTx, now time.Time) error {
	next := item{payload: w.Value}
	if w.TTL > 0 {
		next.expires = now.Add(w.TTL + time.Second - 1).Unix()
	}
	return to.put(pointersBucket, w.at, next.encode(w.at))
}

// Pointer implements [store.Backend].
func (s *Store) Pointer(ctx context.Context, tenant, name string) (value []byte, ok bool, err error) {
	at, err := pointerAt(tenant, name)
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

func pointerAt(tenant, name string) ([]byte, error) {
	if err := core.CheckName("tenant", tenant); err != nil {
		return nil, err
	}
	at := pointerKey(tenant, name)
	if len(at) > maxKeySize {
		return nil, core.Errorf(core.CodeInvalid, "pointer name %q is %d bytes long", core.Excerpt(name), len(name))
	}
	return at, nil
}
