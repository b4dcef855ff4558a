// Package stateerror has the errors of package state that the engine tells from others.
// Programs match errors by their codes.
package stateerror

import (
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
)

// ErrUnknownKey is a mutation or a reading of a key that is not registered: the plugin that
// owns it is not part of the agent. Folds never return it.
var ErrUnknownKey = errors.New("unknown state key")

// conflict is a change that was made on another state than the one that it meets. Made
// again on the present snapshot it may fit.
var conflict = core.Errorf(core.CodeConflict, "the change does not fit what was changed meanwhile")

// Revision is a batch that was made for another revision than the one that it was committed
// on. Its code is conflict.
type Revision struct {
	Expected uint64 // the batch's base
	Actual   uint64
}

// Error implements error.
func (e *Revision) Error() string {
	return fmt.Sprintf("the batch is for revision %d, the state is at revision %d", e.Expected, e.Actual)
}

// Unwrap returns an error of code conflict.
func (e *Revision) Unwrap() error { return conflict }
