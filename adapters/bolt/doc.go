// Package bolt is the embedded backend: everything in one file of
// go.etcd.io/bbolt, for the local host and for tests that need what a process
// leaves behind. It implements store.Backend and is exact: what is due or
// listed is so at once.
//
// One process at a time has the file open; a second [Open] is [ErrLocked].
// Therefore a process that has just opened the file knows that no other worker
// lives, and may take back every claim that [Store.Claimed] lists.
//
// # Durability and speed
//
// A Commit is one write: pointers, records, head and indexes are in the file
// together or not at all. A write is synced to the disk when its method returns,
// and nobody reads it before. That costs one sync, so writers that come while
// another is syncing share the next write: nobody waits for company, and under
// load the price is divided. A write that is refused, or that finds its bytes
// stored already, syncs nothing. [Store.Stats] counts both.
//
// A transaction of bbolt takes two syncs, of some ten pages all over the file.
// One of them is therefore kept under way for many writes; what they change is
// noted in a journal, which lies in the file as a value that bbolt never moves,
// and a write is durable when its part of the journal is. bbolt commits when the
// journal is nearly full, for a write that does not fit in or is of a profile or a
// snapshot, and at Close. [Open] applies the journal of a process that was killed. A
// committed transaction's number is used up, and with it the journal that belonged to it.
// Copy a file after Close: bbolt's own tools do not see what stands in its journal.
//
// What is counted on is that a sector of 512 bytes which is being written when the
// power fails has its old or its new content, and that a sync that returns nil
// has written. After an error nobody knows what the disk has, and the system may
// not write it again by itself. Until a read or write has found out, by writing
// the doubtful page once more and syncing it, every call is that error: a write
// whose method returned an error is there or not, but does not come or go later.
//
// BenchmarkStep (a record of 2 KB and a head in one Commit) and the local host's
// BenchmarkHostRuns print what that comes to. bbolt's own Batch, which waits for
// company, is slower by far with few threads.
//
// # Damage
//
// bbolt reads the file through a memory map and trusts it. This package does not:
//
//   - Every value has a checksum over itself and its key. What does not match it
//     is store.ErrCorrupt, for the thread that it belongs to alone.
//   - Open looks at the file's length and at how its pages hang together, 0.7 s
//     a gigabyte, and refuses what bbolt would not survive.
//   - A fault or panic in the middle of a transaction is ErrCorrupt of that call;
//     only where bbolt then holds its locks for good is it that of every later
//     one.
//   - A file that is cut short while it is open is ErrCorrupt; one that is
//     deleted, moved or replaced is [ErrReplaced] at the next write or sweep.
//
// Such errors name the file and say what to do. A key that is damaged shows as
// an absent record: a gap in the log is found by its readers, a lost head is a
// thread that does not exist. When only the newest meta page is damaged bbolt
// takes the other one, and what its last transaction and the journal had is lost.
// A damaged byte in the journal of a killed process is ErrCorrupt of Open; but the
// last write looks as if it had never been whole, and is lost, and so is what
// stands behind a damaged length.
//
// # The file
//
// Ids hold no zero byte, so it separates them in keys. Integers in keys are
// big-endian, so that keys sort as they count. Each value but the schema's and the
// journal's begins with a format byte and the checksum, 4 bytes.
//
//	meta      "schema"                                  number of this layout
//	heads     tenant 0 thread                           thread.Head.AppendBinary
//	records   tenant 0 thread 0 name                    fence, version, expiry, payload
//	pointers  tenant 0 name                             as a record, fence and version 0
//	due       shard, DueAt, tenant 0 thread             nothing
//	expiry    unix second, bucket, key in that bucket   nothing
//	journal   "frames"                                  1 MiB: a header, frames; see journal.go
//	profiles  tenant 0 namespace 0 key                  as a record, the revision as its fence
//	configs   hash                                      as a record, fence and version 0
//	waiting   tenant 0 Run.WaitsSince, thread           nothing
//
// The index of the lists of threads and runs is kept in memory: see listed.go.
//
// The first write makes profiles, configs and waiting. They are written seldom, and so by
// commits of bbolt alone: the journal does not know them, and a program of this
// schema from before them, which leaves them as they are, can read it.
package bolt
