package run

import (
	"context"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

// values is the state of the round when it waits, see waitWrite.values: the claim
// that continues the round recalls it.
func (m *merger) values() thread.RoundRecord {
	r := m.round
	return thread.RoundRecord{
		Turn: r.first - 1, Patch: state.Patch(nil).Join(r.draft.patches...), Revision: r.draft.snapshot.Revision(), Merged: r.calls.merged(), Totals: r.draft.totals, After: r.draft.since,
	}
}

// recall continues from the stored state of a round that waited. Values were
// stored, not intents: it does not matter which build they come from. Without a
// record all stored results are merged again.
func (m *merger) recall(ctx context.Context) error {
	r := m.round
	version := r.holder.head.Run.Round
	if version == 0 {
		return nil
	}
	var open thread.RoundRecord
	if err := r.holder.readRecord(ctx, "round", recordname.Round(r.holder.id, version), &open); err != nil {
		return err
	}
	d := r.draft // started again from the committed thread: nothing of the round is in it
	// A call is merged in the write that makes it done, or after it: a record that
	// says more is not this head's.
	unknown := func(i int) bool {
		return i < 0 || i >= len(r.calls) || r.holder.head.Run.Calls[i] != thread.CallDone
	}
	if open.Turn != r.first-1 || slices.ContainsFunc(open.Merged, unknown) {
		return fmt.Errorf("the open round of version %d is not that of the turn at %d: %w", version, r.first-1, store.ErrCorrupt)
	}
	if len(open.Patch) > 0 {
		fold := d.snapshot.Fold()
		if err := fold.Apply(open.Patch, open.Revision); err != nil {
			return fmt.Errorf("open round: %w", err)
		}
		d.snapshot, d.patches = fold.Snapshot(), []state.Patch{open.Patch}
	}
	// The step record that closes the round names these values, so that a replay of the step
	// begins from them, too.
	d.totals, d.since = open.Totals, version
	m.count, m.waited = len(open.Merged), open.Fence
	for n, i := range open.Merged {
		r.calls[i].result.merged = n + 1
	}
	return nil
}
