package thread

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
)

// Entry is the payload of one log record M#seq. What it is shows in what it
// has: a user's message; an assistant's, the turn, with the patch of the hooks
// before it; a tool's, a result, with the intents of the call; none, the step
// record that closes a round or a run, with the merged patch.
//
// Turn and step records hold values: folding their patches needs no plugin. The
// intents of a result are not folded; the step record has what they came to.
type Entry struct {
	Run  core.ID `json:"run"`
	Step int     `json:"step,omitempty"` // 0: the run's input, before its first step
	// At is the clock that hooks and tools were shown, unix milliseconds. Of a turn:
	// when the claim that said it began the step. Of a result: when the claim that
	// came to it began the round. Of a step record: what the phase that closed the
	// step, or the run, was shown. Whoever runs hooks of the record again shows them
	// the same.
	At      int64         `json:"at,omitempty"`
	Message *core.Message `json:"message,omitempty"`
	Input   core.ID       `json:"input,omitzero"` // of a user's message: the dispatch or inbox entry that brought it

	// Superseded takes the log's tail back: windows and readers pass it over. Such
	// a record comes before the input of the run that begins anew there, and Patch
	// leads back to the state before the tail, so that folds need no exception.
	// It ends just before the record. Earlier are the ranges before From that are
	// superseded as well, newest first, at most [MaxEarlier]; with so many, those
	// before them stand in the record behind the last of them.
	Superseded *Range  `json:"superseded,omitempty"`
	Earlier    []Range `json:"earlier,omitempty"`

	Patch    state.Patch `json:"patch,omitempty"`    // of turn and step records, on scoped paths
	Revision uint64      `json:"revision,omitempty"` // of the state after Patch; 0: there is none
	Totals   *Totals     `json:"totals,omitempty"`   // of turn and step records: the run's so far
	Attempt  uint64      `json:"attempt,omitempty"`  // of a turn: fence that its inference ran under
	Duration int64       `json:"duration,omitempty"` // of a turn: how long its model's calls took; of a result: how long the tool ran; milliseconds
	Closing  bool        `json:"closing,omitempty"`  // of a step record: it is of the run's end, behind the last step's

	// Of a result: what the call asks for. Hooks is the gates' and
	// BeforeToolExecute's part, which runs again where it conflicts with what
	// siblings changed; Intents is the tool's.
	Hooks    *state.Command `json:"hooks,omitempty"`
	Intents  *state.Command `json:"intents,omitempty"`
	Decision string         `json:"decision,omitempty"` // id of the decision that the result follows
	Blocked  string         `json:"blocked,omitempty"`  // why a gate ended the run over the call
}

// MaxEarlier bounds [Entry.Earlier].
const MaxEarlier = 64

// Range is a part of the log, both ends included.
type Range struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
}

// Record is the sequence of the record that supersedes the range.
func (r Range) Record() uint64 { return r.To + 1 }

// Totals are what a run came to so far, so that neither a cold step nor a stop
// policy has to read the whole run.
type Totals struct {
	Usage    core.Usage `json:"usage,omitzero"`
	Steps    int        `json:"steps"`
	Failures int        `json:"failures,omitempty"` // results that are errors
	// Calls is a ring of fingerprints of the newest tool calls, 4 bytes each, at
	// most 64, oldest first: see [Totals.Note].
	Calls []byte `json:"calls,omitempty"`
}

const (
	fingerprintSize = 4
	maxFingerprints = 64
)

// Note adds a call's fingerprint to the ring.
func (t *Totals) Note(call core.ToolCall) {
	f := Fingerprint(call)
	ring := append(append([]byte(nil), t.Calls...), byte(f>>24), byte(f>>16), byte(f>>8), byte(f))
	if over := len(ring) - maxFingerprints*fingerprintSize; over > 0 {
		ring = ring[over:]
	}
	t.Calls = ring
}

// Fingerprint is a hash (FNV-1a, 32 bits) of a call's tool and arguments: equal
// calls have equal ones.
func Fingerprint(call core.ToolCall) uint32 {
	const offset, prime = 2166136261, 16777619
	h := uint32(offset)
	for i := range len(call.Name) {
		h = (h ^ uint32(call.Name[i])) * prime
	}
	h *= prime // a zero byte between the two
	for _, b := range call.Arguments {
		h = (h ^ uint32(b)) * prime
	}
	return h
}
