// Package store declares what the runtime needs of durable storage. Package
// storetest is the contract that every backend passes; package memory is the
// in-memory backend.
//
// A thread is one HEAD (see package thread) and the records around it. Records
// are put before the HEAD that makes them visible; a reader reads the HEAD
// first and the log up to its Seq: a gap is [ErrCorrupt], an orphan behind it
// is invisible, but for results that the HEAD marks done.
//
// A record that is read by its name proves nothing alone, since a refused write
// may have left it: the HEAD, the run record or the log must confirm it.
//
// Beside the threads lie [Profiles], values that several of them share, and
// [Configs], snapshots of the configuration that runs are pinned to. Neither
// takes part in a commit.
package store
