// Package bolt is the embedded backend: one file of go.etcd.io/bbolt, for the local host
// and for tests that inspect the stored data. It implements store.Backend and is exact:
// due and listed entries are visible immediately.
//
// One process at a time has the file open; a second [Open] is [ErrLocked]. So a process
// that has just opened the file is the only worker, and may withdraw every claim that
// [Store.Claimed] lists.
//
// # Durability and speed
//
// A Commit is one transaction of bbolt: pointers, records, head and usage are in the file
// together or not at all. bbolt syncs a transaction's pages, then its meta page, and a
// method returns after both. Reads run concurrently with a transaction, and see it when
// it is on the disk.
//
// Calls that arrive during the commit of a transaction share the next one: the first of
// them leads the others. A single call waits for no other, and under load many calls
// share the two syncs. If every call of a transaction is refused, or finds its bytes
// stored already, the transaction is not committed. bbolt's own DB.Batch does less: it
// delays each call by MaxBatchDelay, since it cannot know whether others will follow; it
// commits transactions that wrote nothing; and it runs a call that returns an error
// again, alone. [Store.Stats] counts transactions and syncs.
//
// The pages of a transaction cost about as much as its syncs. Four decisions keep them
// few. A thread's head and records are adjacent, mostly in one page. The lists of threads
// are in memory (see agenda and listed). There is no index by expiry (see [Store.Purge]).
// The list of free pages is not stored: bbolt computes it when it opens the file.
//
// The package relies on two properties of the disk: if the power fails while a sector of
// 512 bytes is written, the sector has its old or its new content; and a sync that
// returns nil has written. After an error the content of the disk is unknown, and the
// system may not write it again by itself. Until a read or write has determined it, by
// writing the meta page once more and syncing it, every call returns that error. So a
// write whose method returned an error is stored or not, and never appears or disappears
// later.
//
// BenchmarkStep, BenchmarkRuns and the local host's BenchmarkHostRuns measure this; `make
// bench` shows it next to another runtime on SQLite.
//
// # Damage
//
// Stored data never disappears silently. Damage is refused when the file is opened, or it
// is store.ErrCorrupt for the thread that it belongs to:
//
//   - Open reads the whole file, 1 to 2 s a gigabyte. It requires that both meta pages
//     are valid, that the pages are connected, that the keys are in order, and that the
//     entries are those that were written: each transaction stores its number and a sum
//     of all keys and of the checksums of their values, which reveals missing and
//     outdated entries. See verify.
//   - Every value has a checksum over itself and its key. A wrong checksum is an error of
//     the calls that read the value, and of no others.
//   - A fault or panic in the middle of a transaction is ErrCorrupt of that call. If
//     bbolt then holds its locks for ever, it is also the error of every later call.
//   - A file that is truncated or overwritten while it is open is ErrCorrupt. A file that
//     is deleted, moved or replaced is [ErrReplaced] at the next write or sweep.
//
// Such errors name the file and a remedy. A file with one damaged meta page may lack its
// newest transaction. If you accept that loss, copy the other meta page over it:
//
//	bbolt surgery copy-page FILE --from-page 1 --to-page 0 --output REPAIRED
//
// A file that another program has written to, bbolt's own tools among them, is damaged for
// Open: it lacks the sum of that transaction. The exception is surgery copy-page.
//
// Two losses are not detected: an old copy that replaces the file is a valid file, and so
// is a file whose newest meta page the disk has lost after it reported a successful
// write.
//
// # The file
//
// Ids contain no zero byte, so it separates them in keys. Integers in keys are decimal
// with leading zeros, so that keys sort by number. Each value, except those of the schema
// and the sum, begins with a format byte and the checksum, 4 bytes.
//
//	meta        "schema"                       number of this layout
//	            "sum"                          of the entries, see entrySum, and the transaction
//	            "revision"                     the newest profile's as its fence
//	threads     tenant 0 thread 0              thread.Head.AppendBinary; of a quarantined head:
//	                                           time, and the whole damaged value
//	            tenant 0 thread 0 name         a record: fence, version, expiry, payload
//	pointers    tenant 0 name                  as a record, fence and version 0
//	usage       see usageHourKey               as a record
//	profiles    tenant 0 namespace 0 key       as a record, the revision as its fence
//	configs     hash                           as a record, fence and version 0
//	admissions  tenant                         JSON of a store.Tally
//
// A file of an earlier format is an error of code [core.CodeSchema], and stays unchanged.
package bolt
