package store

import (
	"context"
	"iter"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/thread"
)

// Threads keeps heads and records. Implementations must be safe for concurrent
// use and durable when a method returns nil.
//
// Every method of this package's interfaces refuses a key that does not pass
// core.ThreadKey.Check, or a tenant that does not pass core.CheckName, with code
// core.CodeInvalid: a separator in an id would reach another thread. When ctx is
// done before a method is, its error wraps ctx's.
type Threads interface {
	// Head reads a thread's head, strongly consistent. A thread that does not
	// exist is the zero Head and no error.
	Head(ctx context.Context, key core.ThreadKey) (thread.Head, error)

	// CompareAndSet writes next if the stored head's version is
	// next.Version-1 (no head for version 1). Otherwise it writes nothing and
	// answers ok false with the stored head; when ok is true stored means
	// nothing. An error means that the outcome is not known: the caller compares
	// the stored CommitID.
	CompareAndSet(ctx context.Context, key core.ThreadKey, next thread.Head) (stored thread.Head, ok bool, err error)

	// Put stores a record under the condition of its kind: see [Kind]. A
	// refused write is ErrFenced or ErrConflict and changes nothing. Over the
	// backend's limit it is ErrTooLarge before anything is sent.
	Put(ctx context.Context, key core.ThreadKey, record Record) error

	// Get reads one record, strongly consistent; ok is false when there is none.
	Get(ctx context.Context, key core.ThreadKey, name string) (record Record, ok bool, err error)

	// Log reads the log records with from <= seq <= to in order, strongly
	// consistent. Missing ones are left out; [ReadLog] checks for gaps. The
	// caller may stop early, range again, and write while it ranges.
	Log(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[Record, error]
}

// Pointers keeps small create-only records in partitions of their own, so that
// a run id or an idempotency key finds its thread.
type Pointers interface {
	// PutPointer stores value under (tenant, name) if there is none yet and
	// answers what is stored now: the same value, or the older one. After ttl
	// it may vanish; 0 keeps it for good. The name is free text.
	PutPointer(ctx context.Context, tenant, name string, value []byte, ttl time.Duration) (stored []byte, err error)
	// Pointer reads a pointer; ok is false when there is none.
	Pointer(ctx context.Context, tenant, name string) (value []byte, ok bool, err error)
}

// Shards is how many parts Due is cut into, so that no one index partition
// takes every write.
const Shards = 16

// Due finds threads that nobody woke.
type Due interface {
	// Overdue lists threads of the shard (see [Shard]) whose DueAt is at or
	// before until (unix milliseconds), most overdue first, at most limit of
	// them. It may lag behind the heads: a listed thread may have nothing to
	// do, and a thread that is due is listed eventually.
	Overdue(ctx context.Context, shard int, until int64, limit int) ([]core.ThreadKey, error)
}

// Lists answers what a person looks through. Answers may lag.
type Lists interface {
	// Records lists a thread's records whose name starts with prefix, in order
	// of name, after the name after, at most limit.
	Records(ctx context.Context, key core.ThreadKey, prefix, after string, limit int) ([]Record, error)
}

// Backend is everything that a durable backend offers.
type Backend interface {
	Threads
	Pointers
	Due
	Lists
}
