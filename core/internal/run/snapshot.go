package run

import (
	"context"

	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

// storeSnapshot stores the state (S#): in a run's first step the state in which the
// run found the thread, if it has changed since the last time, so that the run can
// be superseded at little cost. In other steps it stores the newest, when enough
// turns have passed. It comes after a commit, of another step than the state's or
// of the same, and often after the claim: a later claim's snapshot has the higher
// fence and refuses this one. A failure costs a later cold step time, nothing else.
func (b *base) storeSnapshot(ctx context.Context, h *holder) {
	c, of := b.conversation, b.starting
	var values state.Snapshot
	switch {
	case of.Unsaved():
		values = of.Snapshot.BeginRun() // what else it had has ended
	case c.Unstored() >= h.s.snapshotEvery:
		of, values = c, c.Snapshot
	default:
		return
	}
	saved, err := of.SaveState(h.records, values, of != c)
	if err == nil && saved != nil {
		// Fence and version of the head that the step knows: an older step's snapshot never
		// replaces a newer one's. The manifest goes last.
		if err = h.put(ctx, h.ofHead(saved.Values...)...); err == nil {
			err = h.put(ctx, h.ofHead(saved.Manifest)...)
		}
	}
	if err != nil {
		h.warn(ctx, "state snapshot not stored", "error", err)
		return
	}
	if saved == nil {
		return
	}
	b.conversation = c.StateSaved(saved)
	h.s.reader.Keep(h.Key, b.conversation) // else the next step would store it again
}

// ofHead stamps records with the fence and the version of the head that the step knows.
func (h *holder) ofHead(records ...store.Record) []store.Record {
	for i := range records {
		records[i].Fence, records[i].Version = h.fence(), h.head.Version
	}
	return records
}
