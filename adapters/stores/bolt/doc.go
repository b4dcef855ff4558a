// Package bolt is the embedded backend: everything in one file of
// go.etcd.io/bbolt, for the local host and for tests that need what a process
// leaves. It implements store.Backend and is exact: what is due or listed is so
// immediately.
//
// One process at a time has the file open; a second [Open] is [ErrLocked].
// Therefore a process that has just opened the file knows that no other worker
// lives, and may withdraw every claim that [Store.Claimed] lists.
//
// # Durability and speed
//
// A Commit is one transaction of bbolt: pointers, records, head and usage are in
// the file together or not at all. bbolt syncs a transaction's pages, then its meta
// page, and a method returns after both. Reads run in parallel, beside a
// transaction, and see it when it is on the disk.
//
// Calls that come while a transaction is committed share the next one: the first of
// them leads the others. One that comes alone waits for no other, and under load
// the two syncs are divided. A transaction in which every call is refused, or finds
// its bytes stored already, is not committed. bbolt's own DB.Batch does less: it
// delays each call by MaxBatchDelay, since it cannot know whether others come; it
// commits where nothing was written; and it runs a call that returns an error again,
// alone. [Store.Stats] counts transactions and syncs.
//
// The pages of a transaction cost about as much as its syncs. A thread's head and
// records lie together, mostly in one page, the lists of threads are kept in memory
// (see agenda and listed), nothing is indexed by its expiry (see [Store.Purge]), and
// the list of free pages is not stored: bbolt finds them out when it opens the file.
//
// What is counted on is that a sector of 512 bytes which is being written when the
// power fails has its old or its new content, and that a sync that returns nil has
// written. After an error it is not known what the disk has, and the system may not
// write it again by itself. Until a read or write has found out, by writing the meta
// page once more and syncing it, every call is that error: a write whose method
// returned an error is there or not, and does not come or go later.
//
// BenchmarkStep, BenchmarkRuns and the local host's BenchmarkHostRuns measure this;
// `make bench` shows it beside another runtime on SQLite.
//
// # Damage
//
// Nothing that is stored is just not there. Damage is refused when the file is
// opened, or it is store.ErrCorrupt for the thread that it belongs to:
//
//   - Open reads the whole file, 1 to 2 s a gigabyte. It wants both meta pages to be
//     valid, the pages to hang together, the keys to be in order, and the entries to
//     be those that were written: each transaction stores a sum of all keys and of the
//     checksums of their values, so that a missing entry is found, and an older one
//     in its place. See verify.
//   - Every value has a checksum over itself and its key. A wrong one is an error of
//     the calls that read the value, and of no others.
//   - A fault or panic in the middle of a transaction is ErrCorrupt of that call;
//     only where bbolt then holds its locks for ever is it that of every later one.
//   - A file that is cut short or overwritten while it is open is ErrCorrupt; one
//     that is deleted, moved or replaced is [ErrReplaced] at the next write or sweep.
//
// Such errors name the file and say what to do. A file with one damaged meta page may
// lack its newest transaction; who accepts that copies the other one over it:
//
//	bbolt surgery copy-page FILE --from-page 1 --to-page 0 --output REPAIRED
//
// An old copy of the file that takes its place is a valid file, and so is one whose
// newest meta page the disk has lost although it said that it was written.
//
// # The file
//
// Ids hold no zero byte, so it separates them in keys. Integers in keys are decimal
// with leading zeros, so that keys sort as they count. Each value but the schema's and
// the sum's begins with a format byte and the checksum, 4 bytes.
//
//	meta        "schema"                       number of this layout
//	            "sum"                          of the entries, see entrySum
//	            "revision"                     the newest profile's as its fence
//	threads     tenant 0 thread 0              thread.Head.AppendBinary
//	            tenant 0 thread 0 name         a record: fence, version, expiry, payload
//	pointers    tenant 0 name                  as a record, fence and version 0
//	usage       see usageHourKey               as a record
//	profiles    tenant 0 namespace 0 key       as a record, the revision as its fence
//	configs     hash                           as a record, fence and version 0
//	admissions  tenant                         JSON of a store.Tally
//
// A file of an earlier format is an error of code [core.CodeSchema], and stays as it is.
package bolt
