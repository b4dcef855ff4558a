package thread

import (
	"github.com/reveille-run/reveille/core/state"
)

// EndRecord is the payload of C#<run>#end#<version>: what RunEnd has changed in a closing
// run whose claim was given back before its end was final. The next claim goes on from
// there and does not run RunEnd again.
type EndRecord struct {
	At       int64          `json:"at"` // that RunEnd was shown, unix milliseconds
	Patch    state.Patch    `json:"patch,omitempty"`
	Revision uint64         `json:"revision,omitempty"` // of the state after Patch; 0: there is none
	Command  *state.Command `json:"command,omitempty"`  // its effects, which run behind the close
	Form     Form           `json:"form,omitempty"`     // that the end had come to: it takes none larger
}
