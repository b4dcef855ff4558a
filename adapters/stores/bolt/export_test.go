package bolt

import (
	"os"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/core"
)

// SealHead is the stored form of an encoded head.
func SealHead(key core.ThreadKey, encoded []byte) []byte {
	return seal(append(make([]byte, headerSize), encoded...), headFormat, headKey(key))
}

// Resum stores the sum of the entries that a test has changed.
func Resum(tx *bbolt.Tx) error {
	w := &walk{}
	for _, name := range buckets {
		if bucket := tx.Bucket(name); bucket != nil {
			_ = bucket.ForEach(func(key, value []byte) error { w.entry(name, key, value); return nil })
		}
	}
	if meta := tx.Bucket(metaBucket); meta != nil {
		return meta.Put(sumKey, encodeSum(w.sum, uint64(tx.ID())))
	}
	return nil
}

// WithoutDisk puts the test's files into memory where it can: disks are slow.
func WithoutDisk(t *testing.T) {
	t.Helper()
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		t.Setenv("TMPDIR", "/dev/shm")
	}
}

// Unsynced makes a store not wait for the disk: its files are as they are in
// memory, and gone with it.
func Unsynced(s *Store) { s.db.db.NoSync = true }
