package run

import (
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/state"
)

// The events of a step about the state, in three places: as the run has found it,
// before a hook changes it; the changes of each record, after the commit of the
// record; and the whole of it where the step leaves it.

// announceFound emits the state in which a run finds the thread, if there is any.
func announceFound(events *history.Emitter, found state.Snapshot) {
	if !events.Attached() {
		return
	}
	if document, empty := history.Shown(found, false); !empty {
		events.State(document, found.Revision())
	}
}

// announceChanges emits the changes of records. It comes after their commit: a
// client receives no change that a lost claim would undo.
func announceChanges(events *history.Emitter, committed []thread.Entry) {
	for i := range committed {
		events.Change(&committed[i])
	}
}

// announceState emits the state that the step leaves, if it has announced a change.
func announceState(events *history.Emitter, left state.Snapshot) {
	if events.Changed() {
		document, _ := history.Shown(left, true)
		events.State(document, left.Revision())
	}
}
