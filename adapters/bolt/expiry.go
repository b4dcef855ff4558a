package bolt

import (
	"context"
	"fmt"

	"go.etcd.io/bbolt"
)

// Purge erases at most limit records and pointers that have expired, and
// answers how many it erased; fewer than limit means that none is left. What
// has expired counts as absent before that too: Purge only makes room, which
// the file uses again but does not give back.
func (s *Store) Purge(ctx context.Context, limit int) (purged int, err error) {
	err = s.update(ctx, func(tx *bbolt.Tx) (bool, error) {
		purged = 0
		entries, err := expiredEntries(tx, s.now().Unix(), limit)
		if err != nil {
			return false, err
		}
		for _, entry := range entries {
			if err := bucketOf(tx, entry.of).Delete(entry.key); err != nil {
				return true, err
			}
			if err := tx.Bucket(expiryBucket).Delete(expiryKey(entry.expires, entry.of, entry.key)); err != nil {
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

// entry is one of the expiry index.
type entry struct {
	expires int64
	of      byte
	key     []byte
}

func expiredEntries(tx *bbolt.Tx, now int64, limit int) ([]entry, error) {
	var entries []entry
	cursor := tx.Bucket(expiryBucket).Cursor()
	for k, _ := cursor.First(); k != nil && len(entries) < limit; k, _ = cursor.Next() {
		expires, of, key, err := parseExpiryKey(k)
		if err != nil {
			return nil, err
		}
		if now <= expires {
			break
		}
		entries = append(entries, entry{expires, of, append([]byte{}, key...)})
	}
	return entries, nil
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
		if err := index.Put(expiryKey(expires, of, key), nil); err != nil {
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
