package thread

import (
	"github.com/reveille-run/reveille/core/state"
)

// EndRecord is the payload of C#<run>#end#<version>: the changes of RunEnd in a
// closing run whose claim was released before its end was final. The next claim
// continues from there and does not run RunEnd again.
type EndRecord struct {
	At       int64          `json:"at"` // that RunEnd was shown, unix milliseconds
	Patch    state.Patch    `json:"patch,omitempty"`
	Revision uint64         `json:"revision,omitempty"` // of the state after Patch; 0: no patch
	Command  *state.Command `json:"command,omitempty"`  // its effects, which run after the close
	Form     Form           `json:"form,omitempty"`     // the form of the end: it takes none larger
}
