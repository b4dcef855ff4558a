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
	err = s.update(ctx, nil, func(tx *writeTx) (bool, error) {
		purged = 0
		for _, k := range expiredEntries(tx.Tx, s.now().Unix(), limit) {
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
func purge(tx *writeTx, k []byte) error {
	if expires, of, key, err := parseExpiryKey(k); err == nil {
		stored, err := readItem(tx.Bucket(bucketOf(of)), key)
		if err == nil && stored != nil && stored.expires == expires {
			if err := tx.delete(bucketOf(of), key); err != nil {
				return err
			}
		}
	}
	return tx.delete(expiryBucket, k)
}

// writeItem writes the value of a record or pointer over old (nil: nothing) and
// keeps the expiry index with it.
func writeItem(tx *writeTx, of byte, key, value []byte, old *item, expires int64) error {
	if old != nil && old.expires != 0 && old.expires != expires {
		if err := tx.delete(expiryBucket, expiryKey(old.expires, of, key)); err != nil {
			return err
		}
	}
	if expires != 0 {
		at := expiryKey(expires, of, key)
		if err := tx.put(expiryBucket, at, indexValue(at)); err != nil {
			return err
		}
	}
	return tx.put(bucketOf(of), key, value)
}

func bucketOf(of byte) []byte {
	if of == expiryOfPointer {
		return pointersBucket
	}
	return recordsBucket
}
