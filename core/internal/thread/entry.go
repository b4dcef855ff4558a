package thread

import (
	"encoding/json"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/wire"
	"github.com/reveille-run/reveille/core/state"
)

// Entry is the payload of one log record M#seq. Its fields show its kind: a user's
// message; an assistant's, the turn, with the patch of the hooks before it; a tool's,
// a result, with the intents of the call. Without a message it is the step record
// that closes a round or a run, with the merged patch, or the record of a step whose
// inference failed.
//
// Turn and step records hold values: folding their patches needs no plugin. The
// intents of a result are not folded; the step record has their outcome.
type Entry struct {
	Run  core.ID `json:"run"`
	Step int     `json:"step,omitempty"` // 0: the run's input, before its first step
	// At is the clock of hooks and tools, unix milliseconds. In a turn it is the time
	// when the turn's claim started the step. In a result it is the time when the
	// result's claim started the round. In a step record it is the clock of the phase
	// that closed the step, or the run. A claim that runs hooks of the record again
	// shows them the same.
	At      int64         `json:"at,omitempty"`
	Message *core.Message `json:"message,omitempty"`
	Input   core.ID       `json:"input,omitzero"` // of a user's message: the dispatch or inbox entry that brought it

	// Superseded withdraws the log's tail: windows and readers skip it. Such a record
	// comes before the input of the run that starts again there, and Patch leads back
	// to the state before the tail, so that folds need no exception. It ends just
	// before the record. Earlier are the ranges before From that are superseded as
	// well, newest first, at most [MaxEarlier]; with so many, those before them are
	// in the record after the last of them.
	Superseded *Range  `json:"superseded,omitempty"`
	Earlier    []Range `json:"earlier,omitempty"`

	Patch    state.Patch  `json:"patch,omitempty"`    // of turn and step records, on scoped paths
	Revision uint64       `json:"revision,omitempty"` // of the state after Patch; 0: no patch
	Totals   *Totals      `json:"totals,omitempty"`   // of turn and step records: the run's so far
	Round    uint64       `json:"round,omitempty"`    // of the step record that closes a round which waited: version of the [RoundRecord] that it continued from
	Attempt  uint64       `json:"attempt,omitempty"`  // of a turn or a failed inference: the fence of its events; of a result with a place: that of the claim that gave it
	Window   *core.Window `json:"window,omitempty"`   // of a turn: its model's view of the thread; nil: of one without a model call; of a failed inference: its step's decision about summaries, nil: nothing
	Toolless []int        `json:"toolless,omitempty"` // of a turn: indexes of the calls that name no tool which the agent had in the build that called its model
	Member   *Member      `json:"member,omitempty"`   // of a turn, a failed inference or last words, of an agent whose model is a pool
	Duration int64        `json:"duration,omitempty"` // of a turn: how long its model's calls took; of a result: how long the tool ran; milliseconds
	Queued   int64        `json:"queued,omitempty"`   // of a turn or a failed inference: how long the run was due before the claim took it, milliseconds; 0: the claim had it already
	First    int64        `json:"first,omitempty"`    // of a turn of one attempt: milliseconds from its start to the first piece, at least 1; 0: not known
	Attempts []Attempt    `json:"attempts,omitempty"` // of a turn of several attempts, and of a failed inference: those of the claim that made it, the last one made the turn or failed permanently; of earlier deliveries Retried alone knows
	Prompt   string       `json:"prompt,omitempty"`   // of a turn: hash of the [PromptRecord] that its model received; empty: none was stored, as by older programs
	Sent     *Sent        `json:"sent,omitempty"`     // of a turn that names a Prompt: the rest of its request; nil: the conversation, as Window says
	Sum      uint32       `json:"sum,omitempty"`      // of a turn: checksum of the records since the turn before, that one included, as in [NextSum]; 0: none is known
	Place    uint16       `json:"place,omitempty"`    // of a result of a parallel round that changes state: its place in the order in which they are merged, from 1; 0 of any other, and of one that was not tried on the changes of siblings
	Retried  uint8        `json:"retried,omitempty"`  // of a turn: calls of the model that failed before it was whole, as far as they are known
	Closing  bool         `json:"closing,omitempty"`  // of a step record: it is of the run's end, after the last step's

	// Failed takes the place of a turn that a model failed to generate, in a run that
	// continues anyway. Readers of messages and the model see nothing of it.
	Failed *Failure `json:"failed,omitempty"`

	// In a result: the requests of the call. Hooks is the gates' and
	// BeforeToolExecute's part, Intents is the tool's.
	Hooks    *state.Command `json:"hooks,omitempty"`
	Intents  *state.Command `json:"intents,omitempty"`
	Decision string         `json:"decision,omitempty"` // id of the decision that the result follows
	Blocked  string         `json:"blocked,omitempty"`  // why a gate ended the run over the call
	// Arguments are those that the decision put in place of the model's, which the turn
	// keeps. The gates and the tool received these; nil: those of the turn.
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// JSONSize is how many bytes the entry has as JSON. It measures pages, whose readers receive
// messages as JSON.
func (e *Entry) JSONSize() int {
	text, _ := wire.JSON(e) // JSON in an entry was checked when it was read
	return len(text)
}

// Member is the place of a thread in a pool of models. The next step continues from
// the newest one.
type Member struct {
	Pool     string `json:"pool"`
	Model    string `json:"model"`              // id of the model that said the turn; of a failed inference the one that its step began with
	Switches int    `json:"switches,omitempty"` // from one member to another, so far within the pool's sticky scope
}

// Failure is an inference that failed permanently, or as often as its step may call.
type Failure struct {
	Kind  string `json:"kind"`            // a model.ErrorKind, or "other"
	Text  string `json:"text,omitempty"`  // for people; it quotes nothing internal
	Calls int    `json:"calls,omitempty"` // of the model that failed
	At    int64  `json:"at"`              // unix milliseconds
	// Usage is what the calls have used, as far as providers have counted it.
	Usage core.Usage `json:"usage,omitzero"`
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
