package store

import (
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
)

// DamagedError is the error of calls for a thread whose stored head cannot be decoded, in
// backends and in what wraps them. Its code is core.CodeCorrupt. A head that a newer program
// has encoded is not damaged: its error has code core.CodeSchema.
type DamagedError struct {
	Key core.ThreadKey
	// Quarantined is when the head was quarantined, in unix milliseconds; 0: it is not. See
	// [Backend.QuarantineHead].
	Quarantined int64
	Cause       error // what was found
}

// Error implements error. The text is for operators.
func (e *DamagedError) Error() string {
	if e.Quarantined == 0 {
		return e.Cause.Error()
	}
	return fmt.Sprintf("%v; it was quarantined at %s: run doctor release THREAD or doctor delete THREAD",
		e.Cause, time.UnixMilli(e.Quarantined).UTC().Format(time.RFC3339))
}

// Unwrap returns [ErrCorrupt] and the cause.
func (e *DamagedError) Unwrap() []error { return []error{ErrCorrupt, e.Cause} }

// StoredHead is a head as it is stored, whether or not it can be decoded. The zero value is
// that of a thread that does not exist. It is the condition of [Backend.QuarantineHead],
// [Backend.ReleaseHead] and [Backend.ReplaceHead]: they change nothing if another one is
// stored by then.
type StoredHead struct {
	Bytes       []byte // in the backend's form; nil: there is no head
	Version     uint64 // 0: not known
	Quarantined int64  // since when, unix milliseconds; 0: it is not
	// Damage is the error of Head for it: nil, a *DamagedError, or one of code
	// core.CodeSchema.
	Damage error
}

// Same reports whether both are the same stored head.
func (h StoredHead) Same(o StoredHead) bool {
	return string(h.Bytes) == string(o.Bytes) && (h.Bytes == nil) == (o.Bytes == nil) && h.Version == o.Version && h.Quarantined == o.Quarantined
}

// CheckDamaged returns nil for a damaged head, else why [Backend.QuarantineHead] and
// [Backend.ReplaceHead] refuse it: an error of code core.CodeNotFound, core.CodeSchema, or
// core.CodeConflict if it can be decoded.
func (h StoredHead) CheckDamaged(key core.ThreadKey) error {
	switch code := core.CodeOf(h.Damage); {
	case h.Bytes == nil && h.Damage == nil:
		return core.Errorf(core.CodeNotFound, "thread %s does not exist", key)
	case h.Damage == nil:
		return core.Errorf(core.CodeConflict, "the head of %s can be read: only damaged ones are quarantined or replaced", key)
	case code != core.CodeCorrupt:
		return h.Damage
	}
	return nil
}
