package run

import (
	"encoding/json"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/thread"
)

// What a reader is shown of the state: patches at the places of the records that hold
// them, and the whole of it without a place, where a stream begins and behind what has
// changed. A reader that applies the one to the other has the committed state.

// runtimeKeys begin the names of the runtime's own keys, which say nothing to a reader.
const runtimeKeys = "reveille."

// Visible reports whether readers are shown a value: not those of single calls, which
// end with their step, and not the runtime's own.
func Visible(path state.KeyPath) bool {
	return path.Scope != state.ScopeCall && !strings.HasPrefix(path.Name, runtimeKeys)
}

// A state that is larger is not shown, in bytes. The first bound is for a reader who has
// it, and the patches behind it: what a step sends then follows from what it changes, and
// not from what the thread has gathered. The second is for everybody: a stream that is
// far ahead of its reader is ended, and one event must not take it there.
const (
	maxShownAgain = 64 << 10
	maxShown      = 1 << 20
)

// Shown returns the state as readers are shown it; nil: it is too large for that. known
// says that the reader has a state that the patches behind it have led here. empty is as
// of [state.Snapshot.Document].
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

// change emits what a committed record has changed, at the record's place. Where that
// is follows from the record alone: a turn's behind its inference, a step's before its
// end, and what the run's end changed behind that.
func (e *emitter) change(entry *thread.Entry) {
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
		e.emitAt(event, 0, 0)
	case m != nil:
		event.Time = core.Millis(m.CreatedAt)
		e.emitAt(event, len(m.Content)+len(m.ToolCalls), 0)
	case entry.Closing:
		e.emitPlaced(event, core.PositionEndDelta, core.LastBlock, 0)
	default:
		e.emitPlaced(event, core.PositionStepDelta, core.LastBlock, 0)
	}
}

// state emits the state, without a place: it is what stands now. One that is not shown
// (nil) is passed over.
func (e *emitter) state(document json.RawMessage, revision uint64) {
	if e.sink == nil {
		return
	}
	e.changed = false
	if document != nil {
		e.emitUnplaced(core.Event{Type: core.EventStateSnapshot, Snapshot: document, Revision: revision})
	}
}

// announceFound emits the state in which a run finds the thread, if there is any.
func (d *draft) announceFound() {
	if d.events.sink == nil {
		return
	}
	if document, empty := Shown(d.snapshot, false); !empty {
		d.events.state(document, d.snapshot.Revision())
	}
}

// announceChanges emits what the draft's records have changed, once they are
// committed.
func (d *draft) announceChanges() {
	for i := range d.entries {
		d.events.change(&d.entries[i])
	}
}

// announceState emits the state that the step leaves, if it has announced a change.
func (d *draft) announceState() {
	if d.events.changed {
		document, _ := Shown(d.snapshot, true)
		d.events.state(document, d.snapshot.Revision())
	}
}
