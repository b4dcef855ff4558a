package store

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// Kind is the condition under which a record is put.
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
	Name    string // [LogName] of a log record; of the others a backend knows the [Kind]
	Fence   uint64 // of the claim that wrote it, or the head's when none did; 0 for KindCreate
	Version uint64 // of the head that a KindRewrite or KindLatest record goes with; 0 for the others
	// Payload is not changed any more by a caller that has put it: a store may keep these
	// very bytes. A reader may change the bytes that it receives.
	Payload []byte
	Expires int64 // unix seconds after which it may vanish; 0: never
}

// LogName names the log record of a sequence, which has at most twelve digits.
func LogName(seq uint64) string {
	const zeros = "000000000000"
	var room [20]byte
	digits := strconv.AppendUint(room[:0], seq, 10)
	return "M#" + zeros[min(len(digits), len(zeros)):] + string(digits)
}

// LogSeq returns the sequence of a log record, which its name holds.
func (r Record) LogSeq() (uint64, bool) {
	digits, ok := strings.CutPrefix(r.Name, "M#")
	if !ok || len(digits) != 12 {
		return 0, false
	}
	seq, err := strconv.ParseUint(digits, 10, 64)
	return seq, err == nil
}

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

// Admit decides a put: whether the record may replace the stored one (nil: nothing is
// stored). write is false with no error when the same bytes are stored already.
// A refusal is a *RefusedError. Backends without their own condition language
// call it under their lock; the others must decide the same.
func (r Record) Admit(stored *Record) (write bool, err error) {
	kind := r.Kind()
	if kind == 0 {
		return false, core.Errorf(core.CodeInvalid, "record %q has no kind", r.Name)
	}
	if kind == KindLatest {
		if err := r.admitPlace(); err != nil {
			return false, err
		}
		return stored == nil || stored.Fence < r.Fence || stored.Fence == r.Fence && stored.Version <= r.Version, nil
	}
	return admit(kind, stored, r)
}

// admit is [Record.Admit] of a kind that refuses.
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
