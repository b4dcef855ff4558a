package store

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/thread"
)

// What a backend answers besides success. Anything else is an unknown outcome.
var (
	// ErrFenced: a later claim wrote the record. The worker must stop. It must
	// not be returned when the write may have happened.
	ErrFenced = thread.ErrFenced
	// ErrConflict: the record exists with other content.
	ErrConflict = core.Errorf(core.CodeConflict, "record exists with other content")
	// ErrTooLarge: the record is over the backend's limit; nothing was sent.
	ErrTooLarge = core.Errorf(core.CodeTooLarge, "record is over the size limit")
	// ErrThrottled: the backend refused for now; nothing was written.
	ErrThrottled = core.Errorf(core.CodeThrottled, "store is throttling")
	// ErrCorrupt: what is stored contradicts itself.
	ErrCorrupt = core.Errorf(core.CodeCorrupt, "stored data is corrupt")
)
