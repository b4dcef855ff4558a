package store

import (
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// Kind says under which condition a record is put.
type Kind uint8

// The kinds.
const (
	// KindLog: absent, or written under a lower fence. Under an equal fence,
	// equal bytes are a success and other bytes ErrConflict; a higher stored
	// fence is ErrFenced.
	KindLog Kind = iota + 1
	// KindCreate: absent. Equal bytes are a success, other bytes ErrConflict.
	KindCreate
	// KindRewrite: absent, or older by (fence, version). At an equal fence and
	// version equal bytes are a success, others ErrConflict. A later stored one
	// is ErrFenced.
	KindRewrite
	// KindLatest: absent, or not newer by (fence, version). A newer stored one stays,
	// which is a success: such a record is a note for lists, and the newest is right.
	KindLatest
)

// Record is one item around a HEAD.
type Record struct {
	Name    string // LogName and its likes, or of core/internal/recordname
	Fence   uint64 // of the claim that wrote it, or the head's when none did; 0 for KindCreate
	Version uint64 // of the head that a KindRewrite or KindLatest record goes with; 0 for the others
	Payload []byte
	Expires int64 // unix seconds after which it may vanish; 0: never
}

// LogName names the log record of a sequence.
func LogName(seq uint64) string {
	const zeros = "000000000000"
	var room [20]byte
	digits := strconv.AppendUint(room[:0], seq, 10)
	return "M#" + zeros[min(len(digits), len(zeros)):] + string(digits)
}

// LogSeq is the sequence that a log record's name holds.
func LogSeq(name string) (uint64, bool) {
	digits, ok := strings.CutPrefix(name, "M#")
	if !ok || len(digits) != 12 {
		return 0, false
	}
	seq, err := strconv.ParseUint(digits, 10, 64)
	return seq, err == nil
}

// RunName names a run record.
func RunName(run core.ID) string {
	var room [64]byte
	return string(run.AppendTo(append(room[:0], "R#"...)))
}

// ActivityName names the record that lists a thread, by its last activity; with a run's
// id behind it it is the one that lists the run. Their payloads are [thread.Listing]s,
// and backends keep an index of them: see [Lists].
const ActivityName = recordname.Activity

// SnapshotName names the manifest of a thread's state snapshot; with a scoped path behind
// it, one value of it.
const SnapshotName = recordname.Snapshot

// ChunkPrefix begins the names of the event chunks of an attempt at a step: what the
// model says under a fence, before it is committed.
func ChunkPrefix(run core.ID, step int, fence uint64) string {
	return fmt.Sprintf("E#%s#%d#%d#", run, step, fence)
}

// ChunkName names the n-th chunk, from 0, behind its prefix. The names of an attempt are
// in the order of their numbers.
func ChunkName(prefix string, n int) string { return fmt.Sprintf("%s%06d", prefix, n) }

// FollowName names the follow mark: until when somebody in another process than the
// holder's follows the open run. It is read as lists are, which may lag, and nothing but
// a delay may depend on it.
const FollowName = "F#"

// Kind derives the condition from the record's name; an unknown name is 0.
func (r Record) Kind() Kind {
	prefix, rest, _ := strings.Cut(r.Name, "#")
	switch prefix {
	case "M":
		return KindLog
	case "Q", "D", "Z", "E", "P", "O":
		return KindCreate
	case "R", "S", "A", "T", "F":
		return KindRewrite
	case "L":
		return KindLatest
	case "C":
		if parts := strings.SplitN(rest, "#", 5); len(parts) == 5 && parts[3] == "once" {
			return KindCreate
		}
		return KindRewrite
	}
	return 0
}

// Admit decides a put: whether next may replace stored (nil: nothing is
// stored). write is false with no error when the same bytes are stored already.
// A refusal is a *RefusedError. Backends without their own condition language
// call it under their lock; the others must decide the same.
func Admit(stored *Record, next Record) (write bool, err error) {
	kind := next.Kind()
	if kind == 0 {
		return false, core.Errorf(core.CodeInvalid, "record %q has no kind", next.Name)
	}
	if kind == KindLatest {
		if _, err := PlaceOf(next); err != nil {
			return false, err
		}
		return stored == nil || stored.Fence < next.Fence || stored.Fence == next.Fence && stored.Version <= next.Version, nil
	}
	return admit(kind, stored, next)
}

// admit is [Admit] of a kind that refuses.
func admit(kind Kind, stored *Record, next Record) (write bool, err error) {
	if stored == nil {
		return true, nil
	}
	switch {
	case kind == KindCreate, stored.Fence == next.Fence && (kind == KindLog || stored.Version == next.Version):
		if string(stored.Payload) == string(next.Payload) {
			return false, nil
		}
		return false, &RefusedError{next.Name, ErrConflict}
	case stored.Fence > next.Fence, stored.Fence == next.Fence && stored.Version > next.Version:
		return false, &RefusedError{next.Name, fmt.Errorf("stored under fence %d at version %d, ours is %d at %d: %w",
			stored.Fence, stored.Version, next.Fence, next.Version, ErrFenced)}
	}
	return true, nil
}

// ReadLog reads the log from..to and checks that it has no gap.
func ReadLog(ctx context.Context, threads Threads, records thread.Records, key core.ThreadKey, from, to uint64) ([]thread.Entry, error) {
	if from > to {
		return nil, nil
	}
	entries := make([]thread.Entry, 0, min(to-from+1, 1024)) // to is read from storage: it does not size memory
	for entry, err := range Entries(ctx, threads, records, key, from, to) {
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry.Entry)
	}
	return entries, nil
}

// Shard is the part of Due that a thread belongs to.
func Shard(key core.ThreadKey) int {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(key.String()))
	return int(hash.Sum32() % Shards)
}
