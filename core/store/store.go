package store

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"iter"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/state"
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
	// Commit makes everything visible that one transition makes: it stores the
	// pointers, then the records, then the mark of the usage's hour, then the head, which is written if the stored
	// head's version is next.Version-1 (no head for version 1). When the head is
	// written, so is every pointer and record. See [Outcome] for what it returns
	// otherwise; a refused call may leave pointers and records behind, never a
	// visible half.
	//
	// A record that is refused under the condition of its kind is a
	// *RefusedError, and the head is not written. Over the backend's limit it is
	// ErrTooLarge before anything is sent. Any other error means that the outcome
	// is not known: the caller compares the stored commit ids.
	Commit(ctx context.Context, key core.ThreadKey, c Commit) (Outcome, error)
	// Put stores a record alone, under the condition of its kind: see [Kind]. A
	// refused write is a *RefusedError and changes nothing. Over the backend's
	// limit it is ErrTooLarge before anything is sent.
	Put(ctx context.Context, key core.ThreadKey, record Record) error
	// Get reads one record, strongly consistent; ok is false when there is none.
	Get(ctx context.Context, key core.ThreadKey, name string) (record Record, ok bool, err error)
	// Log reads the log records with from <= seq <= to in order, strongly
	// consistent. Missing ones are left out: the reader checks for gaps. The
	// caller may stop early, range again, and write while it ranges.
	Log(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[Record, error]
	// LogBackwards is Log from the newest to the oldest. A backend may read far
	// ahead within from and to: who stops early asks for a small range first.
	LogBackwards(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[Record, error]
	// Pointer reads a pointer that Commit stored, strongly consistent; ok is false when there
	// is none.
	Pointer(ctx context.Context, tenant, name string) (value []byte, ok bool, err error)
	// Erase removes at most limit of the records of a deleted thread, in any order, and returns
	// how many it removed; the head and pointers stay. 0: none is left, strongly
	// consistent. An error means that some may have been removed: call it again. The
	// caller has read that the thread is deleted, and no other method removes a record. A
	// limit below 1 is core.CodeInvalid.
	Erase(ctx context.Context, key core.ThreadKey, limit int) (erased int, err error)
}

// Commit is what one transition makes visible.
type Commit struct {
	Pointers []Pointer
	Records  []Record
	Usage    *Usage      // of the stretch of a run that the transition ends; nil: it ends none
	Head     thread.Head // the next one
}

// Pointer is a small create-only record in a partition of its own, so that a
// run id or an idempotency key finds its thread. After TTL it may vanish; 0
// keeps it for good. The name is free text.
type Pointer struct {
	Name  string
	Value []byte
	TTL   time.Duration
}

// Outcome is what a Commit came to, when it is known. It says nothing about the
// run: how a step ended is a [thread.Outcome].
type Outcome struct {
	// Written: everything is stored.
	Written bool
	// Taken lists the pointers, with the values that are stored, that held
	// another value than the one given: neither records nor head were written.
	Taken []Pointer
	// Head is the stored one when its version refused the write, and only then.
	Head thread.Head
}

// Shards is how many parts Due is cut into, so that no one index partition
// takes every write.
const Shards = 16

// Overdue is a thread that is due.
type Overdue struct {
	Key core.ThreadKey
	At  int64 // its DueAt, unix milliseconds
}

// Shard returns the part of [Due] that the thread belongs to, one of [Shards].
func (o Overdue) Shard() int {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(o.Key.String()))
	return int(hash.Sum32() % Shards)
}

// Due finds threads that nobody woke.
type Due interface {
	// Overdue lists threads of the shard (see [Overdue.Shard]) whose DueAt is at or
	// before until (unix milliseconds), most overdue first, at most limit of
	// them, behind after, which is the last of the page before (nil: from the
	// start). It may lag behind the heads: a listed thread may have nothing to
	// do, and a thread that is due is listed eventually.
	Overdue(ctx context.Context, shard int, until int64, after *Overdue, limit int) ([]Overdue, error)
	// DuePolicy is how precisely heads are to be indexed here; the zero value is
	// exact. It is the backend's own, so that every program on it asks alike; it
	// is always the same and costs no I/O.
	DuePolicy() thread.DuePolicy
}

// QuietDue is a [Due] that can tell by one cheap read that there is nothing in any
// shard. A backend need not be one; the sweep of one that is looks there first, since
// most sweeps find nothing.
type QuietDue interface {
	// NothingDue reports whether no thread is due, now or later. It may lag behind the
	// heads as Overdue does. False says nothing: ask each shard.
	NothingDue(ctx context.Context) (bool, error)
}

// Waiting is a thread whose open run waits for a decision.
type Waiting struct {
	Thread string
	Since  int64 // its head's Run.WaitsSince, unix milliseconds
}

// Lists returns what a person looks through. It may lag.
type Lists interface {
	// Waiting lists threads of a tenant whose head has a Run.WaitsSince, longest
	// waiting first and in the order of their names where that is the same, at most
	// limit of them, behind after, which is the last of the page before or was (nil:
	// from the start). A listed thread may wait no more, which its head says; one
	// that waits is listed eventually.
	Waiting(ctx context.Context, tenant string, after *Waiting, limit int) ([]Waiting, error)
	// Listed lists records of a tenant's threads whose payload says that they belong to
	// a list (see [Record.Place]), newest first, at most limit of them, behind before, which
	// is the place of the last of the page before or was (nil: from the newest). It may
	// lag: one that has moved, or is gone, may be listed where it was.
	Listed(ctx context.Context, tenant, list string, before *Place, limit int) ([]Listed, error)
	// Records lists a thread's records whose name starts with prefix, in order
	// of name, after the name after, at most limit.
	Records(ctx context.Context, key core.ThreadKey, prefix, after string, limit int) ([]Record, error)
	// RecordsBackwards is Records from the last name to the first: before the name
	// before, where that is not empty.
	RecordsBackwards(ctx context.Context, key core.ThreadKey, prefix, before string, limit int) ([]Record, error)
}

// Backend is everything that a durable backend offers.
type Backend interface {
	Threads
	Due
	Lists
	Usages
	Admissions

	// The profiles of all tenants: [state.Profiles] with the tenant said in each call. Code
	// that runs on behalf of one gets [ProfilesOf] it. What a name or a value may be, and
	// which errors there are, package state says; it does the same on every backend.

	// ReadProfile is [state.Profiles] Read.
	ReadProfile(ctx context.Context, tenant string, name state.ProfileName) (state.Profile, error)
	// WriteProfile is [state.Profiles] Write.
	WriteProfile(ctx context.Context, tenant string, name state.ProfileName, value json.RawMessage, revision uint64) (uint64, error)
	// DeleteProfile is [state.Profiles] Delete.
	DeleteProfile(ctx context.Context, tenant string, name state.ProfileName, revision uint64) error
	// ProfileKeys is [state.Profiles] Keys.
	ProfileKeys(ctx context.Context, tenant, namespace, prefix, after string, limit int) ([]string, error)

	// Immutable snapshots of configuration by the hash of their content, so that a run can
	// continue with what it started with. They belong to the deployment, not to a tenant,
	// and are kept for good.

	// PutSnapshot stores content under its hash, which passes core.CheckName; the
	// store does not compute it. Where the same bytes stand it succeeds and writes
	// nothing, where others do it is a *RefusedError with [ErrConflict]. Over the
	// backend's limit it is [ErrTooLarge] before anything is sent. Any other error
	// means that the outcome is not known: call it again.
	PutSnapshot(ctx context.Context, hash string, content []byte) error
	// Snapshot reads what PutSnapshot stored, strongly consistent; ok is false
	// when there is none.
	Snapshot(ctx context.Context, hash string) (content []byte, ok bool, err error)
}
