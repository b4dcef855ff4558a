package store

import (
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/thread"
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
	// KindRewrite: absent, or lower fence, or equal fence and lower step.
	// Equal fence and step: equal bytes are a success, others ErrConflict. A
	// higher stored fence, or step under an equal fence, is ErrFenced.
	KindRewrite
)

// Record is one item around a HEAD.
type Record struct {
	Name    string // from the functions below
	Fence   uint64 // of the claim that wrote it; 0 for KindCreate
	Step    uint32 // orders KindRewrite writes under one fence
	Payload []byte
	Expires int64 // unix seconds after which it may vanish; 0: never
}

// LogName names the log record of a sequence.
func LogName(seq uint64) string { return fmt.Sprintf("M#%012d", seq) }

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
func InputName(id core.ID, revision uint32) string { return fmt.Sprintf("Q#%s#%d", id, revision) }

// DecisionName names a decision.
func DecisionName(decision string) string { return "D#" + decision }

// AuditName names the audit record of a dispatch that no run record tells of.
func AuditName(dispatch core.ID) string { return "A#" + dispatch.String() }

// RunName names a run record.
func RunName(run core.ID) string { return "R#" + run.String() }

// Kind derives the condition from the record's name; an unknown name is 0.
func (r Record) Kind() Kind {
	prefix, _, _ := strings.Cut(r.Name, "#")
	switch prefix {
	case "M", "Z":
		return KindLog
	case "Q", "D", "A":
		return KindCreate
	case "R", "S", "C":
		return KindRewrite
	}
	return 0
}

// Admit decides a put: whether next may replace stored (nil: nothing is
// stored). write is false with no error when the same bytes are stored already.
// Backends without their own condition language call it under their lock; the
// others must answer the same.
func Admit(stored *Record, next Record) (write bool, err error) {
	if next.Kind() == 0 {
		return false, core.Errorf(core.CodeInvalid, "record %q has no kind", next.Name)
	}
	if stored == nil {
		return true, nil
	}
	equal := string(stored.Payload) == string(next.Payload)
	same := func() (bool, error) {
		if equal {
			return false, nil
		}
		return false, fmt.Errorf("record %s: %w", next.Name, ErrConflict)
	}
	switch next.Kind() {
	case KindCreate:
		return same()
	case KindLog:
		if stored.Fence == next.Fence {
			return same()
		}
	case KindRewrite:
		if stored.Fence == next.Fence && stored.Step == next.Step {
			return same()
		}
		if stored.Fence == next.Fence && stored.Step < next.Step {
			return true, nil
		}
	}
	if stored.Fence >= next.Fence {
		return false, fmt.Errorf("record %s was written under fence %d, ours is %d: %w", next.Name, stored.Fence, next.Fence, ErrFenced)
	}
	return true, nil
}

// ReadLog reads the log from..to and checks that it has no gap.
func ReadLog(ctx context.Context, threads Threads, key core.ThreadKey, from, to uint64) ([]thread.Entry, error) {
	if from > to {
		return nil, nil
	}
	entries := make([]thread.Entry, 0, min(to-from+1, 1024)) // to is read from storage: it does not size memory
	next := from
	for record, err := range threads.Log(ctx, key, from, to) {
		if err != nil {
			return nil, fmt.Errorf("read log of %s: %w", key, err)
		}
		if seq, ok := LogSeq(record.Name); !ok || seq != next {
			return nil, fmt.Errorf("log of %s: found %s where sequence %d belongs: %w", key, record.Name, next, ErrCorrupt)
		}
		entry, err := thread.DecodeEntry(record.Payload)
		if err != nil {
			return nil, fmt.Errorf("log of %s at %d: %w", key, next, err)
		}
		entries = append(entries, entry)
		next++
	}
	if next != to+1 {
		return nil, fmt.Errorf("log of %s ends at %d, the head says %d: %w", key, next-1, to, ErrCorrupt)
	}
	return entries, nil
}

// Shard is the part of Due that a thread belongs to.
func Shard(key core.ThreadKey) int {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(key.String()))
	return int(hash.Sum32() % Shards)
}
