package run

import (
	"context"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// find takes over the results that an earlier claim stored, and returns the indexes
// of their calls. Every client can already read a result that the head marks done,
// and its absence is damage.
//
// At a sequence without a done call there may be a result of the previous claim, or
// an orphan of a commit that was refused, since the sequences were then reserved by
// another turn. The message id tells them apart.
//
// A worker of a lower fence may still put a result while this reads, at a sequence
// that was found empty: that call runs again, and its new result takes the place of
// the late one. Where this claim has put its own result, a lower fence is refused.
func (r *round) find(ctx context.Context) (found []int, err error) {
	base := r.holder.head.Run.Base
	last := base + uint64(len(r.calls)) - 1
	// Read in one go, from the log itself: only a holder sees the records after the
	// head's sequence.
	for record, err := range r.holder.s.store.Log(ctx, r.holder.Key, base, last) {
		if err != nil {
			return nil, fmt.Errorf("read stored results: %w", err)
		}
		seq, _ := record.LogSeq()
		i := int(seq - base)
		isDone := r.holder.head.Run.Calls[i] == thread.CallDone
		r.schema = max(r.schema, thread.SchemaOf(record.Payload)) // before it is decoded, which may be beyond this program
		entry, err := r.holder.records.DecodeEntry(record.Payload)
		if err != nil && core.CodeOf(err) != core.CodeCorrupt {
			return nil, fmt.Errorf("result at sequence %d: %w", seq, err)
		}
		if err != nil || !r.isResult(entry, i) {
			continue // an orphan of something that was never committed
		}
		r.calls[i].end(&entry, record.Payload)
		r.calls[i].told = r.calls[i].told || isDone
		found = append(found, i)
	}
	return found, nil
}

// putAgain puts what was found under the claim's own fence: the same bytes, so that no paused
// worker can change them, and no second run. Those that the head marks done are the log's
// already; those that are held back wait for their place.
func (r *round) putAgain(ctx context.Context, found []int) error {
	for i, status := range r.holder.head.Run.Calls {
		if status == thread.CallDone && r.calls[i].stage != concluded {
			return fmt.Errorf("the result of call %d, which is done, is missing: %w", i, store.ErrCorrupt)
		}
	}
	found = slices.DeleteFunc(found, func(i int) bool { return r.calls[i].stage == held })
	var again []store.Record
	for _, i := range found {
		if r.holder.head.Run.Calls[i] != thread.CallDone {
			record := r.logRecord(i)
			record.Fence = r.holder.fence()
			again = append(again, record)
		}
	}
	if err := r.holder.put(ctx, again...); err != nil {
		return err
	}
	// Announced after the put: a result that a reader has seen is one that stays.
	for _, i := range found {
		r.announce(i, safe)
	}
	return nil
}

// isResult reports whether an entry is the result of call i of the open round. Run,
// step and index are in the message id: no other turn's result can have it.
func (r *round) isResult(entry thread.Entry, i int) bool {
	return entry.Run == r.holder.id && entry.Message != nil && entry.Message.ToolResult != nil &&
		entry.Message.ID == history.ResultID(r.holder.id, int(r.holder.head.Run.Step), i)
}
