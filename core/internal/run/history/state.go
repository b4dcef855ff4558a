package history

import (
	"encoding/json"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/position"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/state"
)

// The state as clients see it: patches at the places of the records that hold them,
// and all of it without a place, where a stream starts and after a step that has
// changed it. A client that applies the patches to the whole has the committed
// state.

// runtimeKeys begin the names of the runtime's own keys, which mean nothing to a client.
const runtimeKeys = "reveille."

// Visible reports whether clients see a value: not those of single calls, which end with
// their step, and not the runtime's own.
func Visible(path state.KeyPath) bool {
	return path.Scope != state.ScopeCall && !strings.HasPrefix(path.Name, runtimeKeys)
}

// A state that is larger is not shown, in bytes. The first bound is for a client that has
// the state before it and the patches since: what a step sends then follows from what it
// changes, and not from what the thread has gathered. The second is for every client: a
// stream that is far ahead of its reader is ended, and one event must not take it there.
const (
	maxShownAgain = 64 << 10
	maxShown      = 1 << 20
)

// Shown returns the state as clients see it; nil: it is too large for that, over 1
// MiB, or over 64 KiB where known reports that the client has a state that the
// patches since have led here. empty is as of [state.Snapshot.Document].
func Shown(now state.Snapshot, known bool) (document json.RawMessage, empty bool) {
	most := maxShown
	if known {
		most = maxShownAgain
	}
	// The size is a few bytes too large at most, which decides nothing: what is built is
	// measured.
	const inexact = 1 << 10
	if now.DocumentSize(Visible) > most+inexact {
		return nil, false
	}
	if document, empty = now.Document(Visible); len(document) > most {
		return nil, false
	}
	return document, empty
}

// Change emits what a committed record has changed, at the record's place. That follows
// from the record alone: after the inference for a turn, before the end of its step for a
// step record, and after that for what the end of the run changed. A record that
// supersedes others changes nothing that a client follows.
func (e *Emitter) Change(entry *thread.Entry) {
	if e.sink == nil || len(entry.Patch) == 0 || entry.Superseded != nil {
		return
	}
	patch := entry.Patch.Only(Visible)
	if len(patch) == 0 {
		return
	}
	text, err := core.EncodeJSON(patch)
	if err != nil {
		return // cannot be: it came from a record, or went into one
	}
	event := core.Event{Type: core.EventStateDelta, Time: core.Millis(entry.At), Patch: text, Revision: entry.Revision}
	e.changed = true
	switch m := entry.Message; {
	case entry.Failed != nil: // in the place of the turn
		event.Time = core.Millis(entry.Failed.At)
		e.EmitAt(event, 0, 0)
	case m != nil:
		event.Time = core.Millis(m.CreatedAt)
		e.EmitAt(event, len(m.Content)+len(m.ToolCalls), 0)
	case entry.Closing:
		e.emitPlaced(event, position.EndDelta, lastBlock, 0)
	default:
		e.emitPlaced(event, position.StepDelta, lastBlock, 0)
	}
}

// Changed reports whether a change was emitted since the state as a whole was.
func (e *Emitter) Changed() bool { return e.changed }

// OweState makes [Emitter.Changed] true: the client of a stream that starts where its run
// ends has not received the earlier state.
func (e *Emitter) OweState() { e.changed = true }

// State emits the state as a whole, without a place: it is what holds now. A document of
// nil, one that is too large to be shown, is passed over.
func (e *Emitter) State(document json.RawMessage, revision uint64) {
	if e.sink == nil {
		return
	}
	e.changed = false
	if document != nil {
		e.EmitUnplaced(core.Event{Type: core.EventStateSnapshot, Snapshot: document, Revision: revision})
	}
}
