package store

import (
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// The errors of a backend, which it wraps: errors.Is finds each, and not another error of
// the same code. Any other error is an unknown outcome.
var (
	// ErrFenced: a later claim, or the same at a later version, wrote the record.
	// It must not be returned when the write may have happened.
	ErrFenced = thread.ErrFenced
	// ErrConflict: the record exists with other content, from as late a write.
	ErrConflict = core.Errorf(core.CodeConflict, "record exists with other content")
	// ErrTooLarge: the record is over the backend's limit; nothing was sent. The limit is
	// [thread.MinPayload] or more.
	ErrTooLarge = core.Errorf(core.CodeTooLarge, "record is over the size limit")
	// ErrThrottled: the backend refused for now; nothing was written.
	ErrThrottled = core.Errorf(core.CodeThrottled, "store is throttling")
	// ErrCorrupt: stored data contradicts itself. Code that decides by it must check for
	// core.CodeCorrupt: packages without a store also find data that does not decode.
	ErrCorrupt = core.Errorf(core.CodeCorrupt, "stored data is corrupt")
)

// ErrUnwritable is wrapped by the error of a write that the disk did not take, as a full
// one does not. Whether the write is stored is not known. Stored data can be read.
var ErrUnwritable = core.Errorf(core.CodeUnavailable, "the disk takes no writes, it may be full; stored data can be read")

// RefusedError is a record that was not stored because of the record in its place. Cause is
// ErrFenced or ErrConflict.
type RefusedError struct {
	Name  string
	Cause error
}

// Error implements error.
func (e *RefusedError) Error() string { return fmt.Sprintf("record %s: %v", e.Name, e.Cause) }

// Unwrap returns the cause.
func (e *RefusedError) Unwrap() error { return e.Cause }
