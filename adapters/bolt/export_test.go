package bolt

import "github.com/reveille-run/reveille/core"

// SealHead is the stored form of an encoded head.
func SealHead(key core.ThreadKey, encoded []byte) []byte {
	return seal(append(make([]byte, headerSize), encoded...), headFormat, threadKey(key))
}

// WithoutDisk puts the test's files into memory where it can.
var WithoutDisk = withoutDisk

// Unsynced makes a store forget to wait for the disk: its files are as they are
// in memory, and gone with it.
func Unsynced(s *Store) {
	s.db.db.NoSync, s.db.journal.file = true, unsynced{s.db.journal.file}
}
