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

// Backend is what a durable store does for the runtime. Implementations must be safe for
// concurrent use and durable when a method returns nil.
//
// Every method refuses a key that does not pass core.ThreadKey.Check, or a tenant that does
// not pass core.CheckName, with code core.CodeInvalid: a separator in an id would reach
// another thread. When ctx is done before a method is, its error wraps ctx's.
type Backend interface {
	// Heads, records and pointers of threads.

	// Head reads a thread's head, strongly consistent. A thread that does not
	// exist is the zero Head and no error.
	Head(ctx context.Context, key core.ThreadKey) (thread.Head, error)
	// Commit makes everything visible that one transition makes. It stores the pointers,
	// then the records, then the mark of the usage's hour, then the head, which is written
	// if the stored head's version is next.Version-1 (no head for version 1). When the head
	// is written, so is every pointer and record. See [Outcome] for its result otherwise; a
	// refused call may leave pointers and records, never a visible half.
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
	// Get reads one record, strongly consistent; ok is false if it does not exist.
	Get(ctx context.Context, key core.ThreadKey, name string) (record Record, ok bool, err error)
	// Log reads the log records with from <= seq <= to in order, strongly
	// consistent. Missing ones are omitted: the reader checks for gaps. The
	// caller may stop early, range again, and write while it ranges.
	Log(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[Record, error]
	// LogBackwards is Log from the newest to the oldest. A backend may read far
	// ahead within from and to: who stops early asks for a small range first.
	LogBackwards(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[Record, error]
	// Pointer reads a pointer that Commit stored, strongly consistent; ok is false if it
	// does not exist.
	Pointer(ctx context.Context, tenant, name string) (value []byte, ok bool, err error)
	// Erase removes at most limit of the records of a deleted thread, in any order, and returns
	// how many it removed; the head and pointers stay. 0: none is left, strongly
	// consistent. An error means that some may have been removed: call it again. The
	// caller has read that the thread is deleted, and no other method removes a record. A
	// limit below 1 is core.CodeInvalid.
	Erase(ctx context.Context, key core.ThreadKey, limit int) (erased int, err error)

	// Heads that cannot be decoded. Calls for their threads return a *DamagedError. Records
	// stay as they are.

	// StoredHead reads a thread's head without decoding it, strongly consistent. A thread
	// that does not exist is the zero StoredHead and no error.
	StoredHead(ctx context.Context, key core.ThreadKey) (StoredHead, error)
	// QuarantineHead marks a damaged head: the thread leaves the indexes of threads that are
	// due or wait, so that no sweep wakes it again. The stored bytes stay as they are. done
	// is false if the stored head is not the given one any more; then nothing has changed.
	// The refusals are those of [StoredHead.CheckDamaged]. since is in unix milliseconds,
	// above 0. A mark has no effect on a head that can be decoded after all, for example by
	// a later program: Head returns it, and Commit writes the next one, without a mark.
	QuarantineHead(ctx context.Context, key core.ThreadKey, was StoredHead, since int64) (done bool, err error)
	// ReleaseHead removes the mark from a head that can be decoded, and puts the thread into
	// the indexes as that head says. done is as of QuarantineHead. A head without a mark
	// stays as it is. Its error for a head that cannot be decoded is Damage.
	ReleaseHead(ctx context.Context, key core.ThreadKey, was StoredHead) (done bool, err error)
	// ReplaceHead puts another head in the place of a damaged one, with or without a mark.
	// done and the refusals are as of QuarantineHead.
	ReplaceHead(ctx context.Context, key core.ThreadKey, was StoredHead, next thread.Head) (done bool, err error)
	// Quarantined lists the threads whose heads have a mark, in the order of tenant and
	// thread, at most limit of them. It starts after the given one (nil: from the first),
	// and may lag.
	Quarantined(ctx context.Context, after *core.ThreadKey, limit int) ([]core.ThreadKey, error)

	// The index of threads that are due, and what people look through. These may lag.

	// Overdue lists threads of the shard (see [Overdue.Shard]) whose DueAt is at or before
	// until (unix milliseconds), most overdue first, at most limit of them. It starts after
	// the given place, which is the last of the previous page (nil: from the start). It may
	// lag: a listed thread may have nothing to do, and a thread that is due is listed
	// eventually.
	Overdue(ctx context.Context, shard int, until int64, after *Overdue, limit int) ([]Overdue, error)
	// DuePolicy is how precisely heads are to be indexed here; the zero value is
	// exact. It is the backend's own, so that every program on it asks alike; it
	// is always the same and costs no I/O.
	DuePolicy() thread.DuePolicy
	// Waiting lists threads of a tenant whose head has a Run.WaitsSince, longest waiting
	// first and at the same time in the order of their names, at most limit of them. It
	// starts after the given place, which is or was the last of the previous page (nil:
	// from the start). A listed thread may no longer wait, which its head shows; one that
	// waits is listed eventually.
	Waiting(ctx context.Context, tenant string, after *Waiting, limit int) ([]Waiting, error)
	// Listed lists records of a tenant's threads whose payload names a list (see
	// [Record.Place]), newest first, at most limit of them. It starts after the place
	// before: the last of the previous page, which may be gone by then, or a time alone, which
	// comes before every record of that time (nil: from the newest). It may
	// lag: a record that has moved, or is gone, may be listed at its earlier place.
	Listed(ctx context.Context, tenant, list string, before *Place, limit int) ([]Listed, error)
	// Records lists a thread's records whose name starts with prefix, in order
	// of name, after the name after, at most limit.
	Records(ctx context.Context, key core.ThreadKey, prefix, after string, limit int) ([]Record, error)
	// RecordsBackwards is Records from the last name to the first: before the name
	// before, where that is not empty.
	RecordsBackwards(ctx context.Context, key core.ThreadKey, prefix, before string, limit int) ([]Record, error)

	// The usage of runs. Commit puts the records, each before the head that it goes with,
	// and after it marks its hour: a mark means that the stored total of the hour is not
	// known to be whole. A Commit in the hour itself may omit the mark if its process has
	// set it before.

	// UsageRecords reads the records of a tenant's hour in order of name, from the first
	// one after the given name, at most limit, strongly consistent.
	UsageRecords(ctx context.Context, tenant string, hour int64, after string, limit int) ([]Record, error)
	// UsageMarks lists marks of a shard (see [UsageMark.Shard]) in order of tenant and
	// hour, from the first one after the given mark (nil: from the first), at most limit,
	// strongly consistent. A tenant that is not empty lists its own alone.
	UsageMarks(ctx context.Context, shard int, tenant string, after *UsageMark, limit int) ([]UsageMark, error)
	// SumUsage stores the total of an hour from its records, in the place of the total that
	// was read before them. It removes the mark unless it was set again since it was
	// listed. ErrConflict: another total is stored there, so that this one may be older;
	// nothing has changed.
	SumUsage(ctx context.Context, mark UsageMark, total UsageTotal) error
	// UsageTotals reads the stored totals of a tenant's hours from..to, both included,
	// in order, at most limit, strongly consistent.
	UsageTotals(ctx context.Context, tenant string, from, to int64, limit int) ([]UsageTotal, error)

	// The admissions of tenants whose use is limited. Each call changes a
	// tenant's record in one write. The counters of a day that is over may be gone the day
	// after the next; slots stay.

	// Admission reads a tenant's record with the counters of a day, strongly consistent. A
	// tenant that has none is the zero counters.
	Admission(ctx context.Context, tenant string, day int64) (Admission, error)
	// Admit counts the run and takes its slot if there is room within the bounds, and
	// returns the record. A run that has a slot is admitted, and nothing is written: so a
	// call that got no answer is made again. false: there is no room; nothing is written.
	Admit(ctx context.Context, tenant string, a Admitting) (after Admission, admitted bool, err error)
	// Charge adds the usage of a run to the day and to its slot, and returns the record;
	// false: the slot is another now, or gone, and nothing is written. So a late charge
	// counts nothing that could not be deducted again. Without a slot nothing guards it. A
	// call without a response may have counted: a caller that repeats it counts twice, in
	// both places.
	Charge(ctx context.Context, tenant string, c Use) (after Admission, charged bool, err error)
	// Release releases a slot; false: it is another now, or gone, and nothing is written.
	Release(ctx context.Context, tenant string, r Use) (released bool, err error)
	// Occupied lists tenants that have slots, in the order of their names, from the first
	// one after the given name, at most limit of them. It may lag; its data of a tenant is
	// strongly consistent.
	Occupied(ctx context.Context, after string, limit int) ([]Occupied, error)

	// The profiles of all tenants: [state.Profiles] with the tenant in each call. Code that
	// runs on behalf of one gets [ProfilesOf] it. Package state defines the valid names and
	// values, and the errors; they are the same on every backend.

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
	// and are kept permanently.

	// PutSnapshot stores content under its hash, which passes core.CheckName; the store
	// does not compute it. If the same bytes are stored already, it succeeds and writes
	// nothing; if others are, it is a *RefusedError with [ErrConflict]. Over the backend's
	// limit it is [ErrTooLarge] before anything is sent. Any other error means that the
	// outcome is not known: call it again.
	PutSnapshot(ctx context.Context, hash string, content []byte) error
	// Snapshot reads content that PutSnapshot stored, strongly consistent; ok is false if
	// it does not exist.
	Snapshot(ctx context.Context, hash string) (content []byte, ok bool, err error)
}

// Commit is what one transition makes visible.
type Commit struct {
	Pointers []Pointer
	Records  []Record
	Usage    *Usage      // of the stretch of a run that the transition ends; nil: it ends none
	Head     thread.Head // the next one
}

// Pointer is a small create-only record in a separate partition, so that a run id or an
// idempotency key finds its thread. After TTL it may vanish; 0 keeps it permanently. The
// name is free text.
type Pointer struct {
	Name  string
	Value []byte
	TTL   time.Duration
}

// Outcome is the result of a Commit, when it is known. It is not about the run: how a step
// ended is a [thread.Outcome].
type Outcome struct {
	// Written: everything is stored.
	Written bool
	// Taken lists the pointers, with the values that are stored, that held
	// another value than the one given: neither records nor head were written.
	Taken []Pointer
	// Head is the stored one when its version refused the write, and only then.
	Head thread.Head
}

// Shards is how many parts Due is cut into, so that the writes are spread over index
// partitions.
const Shards = 16

// Overdue is a thread that is due.
type Overdue struct {
	Key core.ThreadKey
	At  int64 // its DueAt, unix milliseconds
}

// Shard returns the part of [Backend.Overdue] that the thread belongs to, one of [Shards].
func (o Overdue) Shard() int {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(o.Key.String()))
	return int(hash.Sum32() % Shards)
}

// QuietDue is a backend that can find out by one cheap read that nothing is due in any
// shard. A backend need not be one. The sweep uses it first, since most sweeps find
// nothing.
type QuietDue interface {
	// NothingDue reports whether no thread is due, now or later. It may lag as Overdue
	// does. False proves nothing: ask each shard.
	NothingDue(ctx context.Context) (bool, error)
}

// EventualLog is a backend that can read the log of a thread cheaper than Log does. A backend
// need not be one. The runtime verifies the records that it reads so by the checksums in the
// thread's head and in its turns, and reads again what does not match.
type EventualLog interface {
	// LogBackwardsEventually is LogBackwards, eventually consistent: a record may be missing,
	// or be an earlier version, as it was before a write that has returned.
	LogBackwardsEventually(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[Record, error]
}

// Waiting is a thread whose open run waits for a decision.
type Waiting struct {
	Thread string
	Since  int64 // its head's Run.WaitsSince, unix milliseconds
}
