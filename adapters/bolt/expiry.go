package bolt

import (
	"context"
	"fmt"

	"go.etcd.io/bbolt"
)

// Purge erases at most limit records and pointers that have expired, and
// returns how many it erased; fewer than limit means that none is left. What
// has expired counts as absent before that too: Purge only makes room, which
// the file uses again but does not give back.
func (s *Store) Purge(ctx context.Context, limit int) (purged int, err error) {
	err = s.update(ctx, func(tx *bbolt.Tx) (bool, error) {
		purged = 0
		for _, k := range expiredEntries(tx, s.now().Unix(), limit) {
			if err := purge(tx, k); err != nil {
				return true, err
			}
			purged++
		}
		return purged > 0, nil
	})
	if err != nil {
		return 0, fmt.Errorf("purge: %w", err)
	}
	return purged, nil
}

// expiredEntries lists keys of the expiry index whose time has come, and those
// that are damaged.
func expiredEntries(tx *bbolt.Tx, now int64, limit int) (keys [][]byte) {
	cursor := tx.Bucket(expiryBucket).Cursor()
	for k, v := cursor.First(); k != nil && len(keys) < limit; k, v = cursor.Next() {
		expires, _, _, err := parseExpiryKey(k)
		if err == nil && inOrder(k, v) && now <= expires {
			break
		}
		keys = append(keys, append([]byte{}, k...))
	}
	return keys
}

// purge erases an entry of the index, and what it is about if that says the same
// time of itself: a damaged entry erases no record.
func purge(tx *bbolt.Tx, k []byte) error {
	if expires, of, key, err := parseExpiryKey(k); err == nil {
		stored, err := readItem(bucketOf(tx, of), key)
		if err == nil && stored != nil && stored.expires == expires {
			if err := bucketOf(tx, of).Delete(key); err != nil {
				return err
			}
		}
	}
	return tx.Bucket(expiryBucket).Delete(k)
}

// writeItem writes the value of a record or pointer over old (nil: nothing) and
// keeps the expiry index with it.
func writeItem(tx *bbolt.Tx, of byte, key, value []byte, old *item, expires int64) error {
	index := tx.Bucket(expiryBucket)
	if old != nil && old.expires != 0 && old.expires != expires {
		if err := index.Delete(expiryKey(old.expires, of, key)); err != nil {
			return err
		}
	}
	if expires != 0 {
		at := expiryKey(expires, of, key)
		if err := index.Put(at, indexValue(at)); err != nil {
			return err
		}
	}
	return bucketOf(tx, of).Put(key, value)
}

func bucketOf(tx *bbolt.Tx, of byte) *bbolt.Bucket {
	if of == expiryOfPointer {
		return tx.Bucket(pointersBucket)
	}
	return tx.Bucket(recordsBucket)
}
