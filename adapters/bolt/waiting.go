package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// moveWaiting moves a thread's entry in the index of those that wait for a decision.
// People are slow: that it makes bbolt commit costs nobody.
func moveWaiting(tx *writeTx, key core.ThreadKey, old, next int64) error {
	if old == next {
		return nil
	}
	bucket, err := tx.beside(waitingBucket)
	if err != nil {
		return err
	}
	if old > 0 {
		if err := bucket.Delete(waitingKey(key.Tenant, store.Waiting{Thread: key.Thread, Since: old})); err != nil {
			return err
		}
	}
	if next > 0 {
		at := waitingKey(key.Tenant, store.Waiting{Thread: key.Thread, Since: next})
		return bucket.Put(at, indexValue(at))
	}
	return nil
}

// waitingKey sorts the threads of a tenant by time, then by name.
func waitingKey(tenant string, w store.Waiting) []byte {
	b := binary.BigEndian.AppendUint64([]byte(tenant+separator), uint64(w.Since))
	return append(b, w.Thread...)
}

func parseWaitingKey(prefix, b []byte) (store.Waiting, error) {
	rest := bytes.TrimPrefix(b, prefix)
	if len(rest) < 8 {
		return store.Waiting{}, core.Errorf(core.CodeCorrupt, "index of what waits has the key %x", b)
	}
	return store.Waiting{Thread: string(rest[8:]), Since: int64(binary.BigEndian.Uint64(rest))}, nil
}

// Waiting implements [store.Lists]. It passes over an entry whose head says
// otherwise: one that is damaged, or that a program without this index has left.
func (s *Store) Waiting(ctx context.Context, tenant string, after *store.Waiting, limit int) (list []store.Waiting, err error) {
	if err := core.CheckName("tenant", tenant); err != nil {
		return nil, err
	}
	prefix := []byte(tenant + separator)
	start := prefix
	if after != nil {
		start = append(waitingKey(tenant, *after), 0) // the first key behind it
	}
	err = s.view(ctx, nil, func(tx *bbolt.Tx) error {
		list = nil
		bucket := tx.Bucket(waitingBucket)
		if bucket == nil {
			return nil
		}
		cursor := bucket.Cursor()
		for k, _ := cursor.Seek(start); bytes.HasPrefix(k, prefix) && len(list) < limit; k, _ = cursor.Next() {
			w, err := parseWaitingKey(prefix, k)
			if err != nil {
				continue
			}
			head, err := readHead(tx, core.ThreadKey{Tenant: tenant, Thread: w.Thread})
			if err == nil && head.Run.WaitsSince == w.Since {
				list = append(list, w)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list what waits of %s: %w", tenant, err)
	}
	return list, nil
}
