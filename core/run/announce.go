package run

import (
	"github.com/reveille-run/reveille/core/run/history"
)

// announceStart emits the run's first event, once: with its end, when the run ended
// before its first step.
func (b *base) announceStart() { b.holder.events.Start(&b.record.Run, b.holder.Key.Thread) }

// announceFound emits the state in which a run finds the thread, if there is any.
func (d *draft) announceFound() {
	if !d.base.holder.events.Attached() {
		return
	}
	if document, empty := history.Shown(d.snapshot, false); !empty {
		d.base.holder.events.State(document, d.snapshot.Revision())
	}
}

// announceChanges emits what the draft's records have changed. It comes after their
// commit: a client is told of no change that a lost claim would take away again.
func (d *draft) announceChanges() {
	for i := range d.entries {
		d.base.holder.events.Change(&d.entries[i])
	}
}

// announceState emits the state that the step leaves, if it has announced a change.
func (d *draft) announceState() {
	if d.base.holder.events.Changed() {
		document, _ := history.Shown(d.snapshot, true)
		d.base.holder.events.State(document, d.snapshot.Revision())
	}
}
