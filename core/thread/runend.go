package thread

import (
	"github.com/reveille-run/reveille/core/state"
)

// tagRunEnd is the extension with the version of the head that puts the [EndRecord] in
// force, as a varint; the other tags stand in waits.go.
const tagRunEnd = 12

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

// RunEndAt is the version of the head that put the [EndRecord] of the open run in force;
// 0: RunEnd has not run, or under a claim that was lost.
func (h *Head) RunEndAt() uint64 { return uint64(h.since(tagRunEnd)) }

// keepRunEnd notes that RunEnd has run, whose record goes with this write.
func (h *Head) keepRunEnd() {
	h.keepSince(tagRunEnd, int64(h.next()))
}
