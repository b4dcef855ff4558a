package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"sync"

	"go.etcd.io/bbolt"
)

// purging is how far Purge has come.
type purging struct {
	mu     sync.Mutex
	bucket int    // of expiring
	key    []byte // of the entry to look at next; empty: the first one
}

// expiring are the buckets whose entries can expire.
var expiring = [][]byte{threadsBucket, pointersBucket, usageBucket}

// purgeScan is how many entries Purge looks at.
const purgeScan = 2000

// Purge erases expired records and pointers, at most limit, and returns their number.
// Each call examines the next 2,000 entries of the file, and after its last entry starts
// at the first: an index by time would be written with most commits. Expired entries
// count as absent even before Purge erases them. Purge only frees space in the file,
// which later writes use; the file does not become smaller.
func (s *Store) Purge(ctx context.Context, limit int) (purged int, err error) {
	s.purging.mu.Lock()
	defer s.purging.mu.Unlock()
	now := s.now().Unix()
	var found []entry
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		found = s.purging.look(tx, now, limit)
		return nil
	})
	if err == nil && len(found) > 0 {
		err = s.update(ctx, func(w *writeTx) (wrote bool, err error) {
			purged = 0
			for _, e := range found {
				stored, err := readItem(w.tx.Bucket(e.bucket), e.key)
				if err != nil || stored == nil || !stored.expired(now) {
					continue // damaged, or written again since
				}
				if err := w.remove(e.bucket, e.key); err != nil {
					return true, err
				}
				purged++
			}
			return purged > 0, nil
		})
	}
	if err != nil {
		return 0, fmt.Errorf("purge: %w", err)
	}
	return purged, nil
}

// entry is one of a bucket.
type entry struct{ bucket, key []byte }

// look finds entries that have expired, from the place after the last one. It ends where
// it started.
func (p *purging) look(tx *bbolt.Tx, now int64, limit int) (found []entry) {
	seen := 0
	for range len(expiring) + 1 {
		bucket := expiring[p.bucket]
		cursor := tx.Bucket(bucket).Cursor()
		for at, value := cursor.Seek(p.key); at != nil; at, value = cursor.Next() {
			if seen == purgeScan || len(found) == limit {
				p.key = bytes.Clone(at)
				return found
			}
			seen++
			if expires := expiresOf(value); expires != 0 && now > expires {
				found = append(found, entry{bucket, bytes.Clone(at)})
			}
		}
		p.bucket, p.key = (p.bucket+1)%len(expiring), nil
	}
	return found
}

// expiresOf reads when a value expires, without a look at its checksum; 0: it does not.
func expiresOf(value []byte) (expires int64) {
	if len(value) < headerSize || value[0] != itemFormat {
		return 0
	}
	rest := value[headerSize:]
	for range 2 { // fence and version
		_, n := binary.Uvarint(rest)
		if n <= 0 {
			return 0
		}
		rest = rest[n:]
	}
	expires, _ = binary.Varint(rest)
	return expires
}
