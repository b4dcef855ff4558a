package store

import (
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core"
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
	Name    string // from the functions below
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

// SummaryName names the summary of a log up to a sequence, that of a closed turn.
func SummaryName(upTo uint64) string { return "Z#" + strconv.FormatUint(upTo, 10) }

// PromptName names what a model was told that mostly stays the same, by its hash: a
// [thread.PromptRecord].
func PromptName(hash string) string { return "P#" + hash }

// OutboxName names whom an outbox entry is for and what it says: a [thread.OutboxRecord].
func OutboxName(id core.ID) string { return idName("O#", id, "") }

// idName puts an id between two texts. Such names are made for every step.
func idName(before string, id core.ID, behind string) string {
	var room [64]byte
	return string(append(id.AppendTo(append(room[:0], before...)), behind...))
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

// InputName names the queued input of a dispatch, or one revision of an inbox
// entry's text.
func InputName(id core.ID, revision uint32) string {
	var room [64]byte
	b := append(id.AppendTo(append(room[:0], "Q#"...)), '#')
	return string(strconv.AppendUint(b, uint64(revision), 10))
}

// DecisionName names a decision about a call of the turn at a sequence, by the
// hash of its id that the head holds.
func DecisionName(run core.ID, turn uint64, call uint8, decision uint64) string {
	return fmt.Sprintf("D#%s#%d#%d#%016x", run, turn, call, decision)
}

// ReadName names the record that says where an inbox entry was read; the log
// confirms it.
func ReadName(id core.ID) string { return idName("A#", id, "#read") }

// EndedName names the record that says how a dispatch or inbox entry ended that
// no step read. It counts when the head has passed its version and lists the id
// no more.
func EndedName(id core.ID) string { return idName("A#", id, "#ended") }

// RunName names a run record.
func RunName(run core.ID) string { return idName("R#", run, "") }

// ActivityName names the record that lists a thread, by its last activity, and
// ListingName the one that lists a run. Their payloads are [thread.Listing]s, and
// backends keep an index of them: see [Lists].
const ActivityName = "L#"

// ListingName names the record that lists a run.
func ListingName(run core.ID) string { return idName(ActivityName, run, "") }

// AboutName names what people and programs have said about a thread: its title and
// metadata.
const AboutName = "T#"

// SnapshotName names the manifest of a thread's state snapshot;
// SnapshotValueName one value of it, by its scoped path.
const SnapshotName = "S#"

// SnapshotValueName names one value of the state snapshot.
func SnapshotValueName(path string) string { return SnapshotName + path }

// RoundName names the record of an open tool round that waits, by the version
// of the head that puts it in force.
func RoundName(run core.ID, version uint64) string { return fmt.Sprintf("C#%s#round#%d", run, version) }

// EndName names the record of what RunEnd has changed in a closing run whose claim was
// given back behind it, by the version of the head that puts it in force.
func EndName(run core.ID, version uint64) string { return fmt.Sprintf("C#%s#end#%d", run, version) }

// SuspensionName names what a suspended call waits with, by the hash of the
// suspension's id that the head holds.
func SuspensionName(run core.ID, turn uint64, call uint8, ticket uint64) string {
	return fmt.Sprintf("C#%s#%d#%d#%016x", run, turn, call, ticket)
}

// PartName names the stored result of a part of a tool call.
func PartName(run core.ID, turn uint64, call uint8, part string) string {
	return fmt.Sprintf("C#%s#%d#%d#once#%s", run, turn, call, part)
}

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
