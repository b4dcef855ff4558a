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
// A write is synced to the disk when its method returns. That costs two syncs a
// transaction, so writers that come while another is syncing share the next
// transaction: nobody waits for company, and under load the price is divided.
// A write that is refused, or that finds its bytes stored already, syncs
// nothing. BenchmarkStep (a record of 2 KB and a head, two calls) on a disk that
// syncs in 50 µs: 0.2 ms with one thread, 0.11 ms a step with 8 and 0.06 ms with
// 64. A transaction per call stays at 0.33 ms; bbolt's own Batch, which waits for
// company, needs 21 ms, 2.9 ms and 0.43 ms. Leaving the free list out of the
// syncs gained nothing.
//
// # The file
//
// Ids hold no zero byte, so it separates them in keys. Integers in keys are
// big-endian, so that keys sort as they count.
//
//	meta      "schema"                                  number of this layout
//	heads     tenant 0 thread                           thread.Head.AppendBinary
//	records   tenant 0 thread 0 name                    fence, step, expiry, payload
//	pointers  tenant 0 name                             expiry, value
//	due       shard, DueAt, tenant 0 thread             nothing
//	expiry    unix second, bucket, key in that bucket   nothing
package bolt
