package run

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/run/history"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// openRound finds the committed turn, what the round has come to, and what earlier
// claims stored of it. It returns the round as far as it came, also with an error.
func openRound(ctx context.Context, h *holder, b *base, d *draft) (*round, error) {
	// The head says how many calls the round has and not which: the turn must be
	// theirs, or results would be stored under calls that nobody made.
	messages := d.messages.Slice()
	if len(messages) == 0 || len(messages[len(messages)-1].ToolCalls) != len(h.head.Run.Calls) {
		return nil, fmt.Errorf("the turn before sequence %d has not the calls that the head says: %w", h.head.Run.Base, store.ErrCorrupt)
	}
	r := newRound(h, b, d, messages[len(messages)-1], h.head.Run.Base)
	// First what was merged, then what is stored: a result that the round's record
	// does not have is merged from the log.
	if err := r.recallRound(ctx); err != nil {
		return r, err
	}
	r.mode = r.chooseMode()
	if err := r.adopt(ctx, true); err != nil {
		return r, err
	}
	r.findThrough()
	r.showResults(-1)
	return r, nil
}

// recallRound goes on from what a round that waited had come to. Values were
// stored, not intents: it does not matter which build they come from. Without a
// record everything that is stored is merged again.
func (r *round) recallRound(ctx context.Context) error {
	version := r.holder.head.Run.Round
	if version == 0 {
		return nil
	}
	var open thread.RoundRecord
	if err := r.base.readRecord(ctx, "round", store.RoundName(r.holder.id, version), &open); err != nil {
		return err
	}
	d := r.draft
	// A call is merged in the write that makes it done, or after it: a record that
	// says more is not this head's.
	unknown := func(i int) bool {
		return i < 0 || i >= len(r.calls) || r.holder.head.Run.Calls[i] != thread.CallDone
	}
	if open.Turn != r.first-1 || slices.ContainsFunc(open.Merged, unknown) {
		return fmt.Errorf("the open round of version %d is not that of the turn at %d: %w", version, r.first-1, store.ErrCorrupt)
	}
	if len(open.Patch) > 0 {
		fold := state.NewFold(d.snapshot)
		if err := fold.Apply(open.Patch, open.Revision); err != nil {
			return fmt.Errorf("open round: %w", err)
		}
		d.snapshot, d.patches = fold.Snapshot(), []state.Patch{open.Patch}
	}
	d.totals, d.since = open.Totals, version
	r.merged, r.waited = len(open.Merged), open.Fence
	for n, i := range open.Merged {
		r.calls[i].result.merged = n + 1
	}
	return nil
}

// adopt takes over results that an earlier claim stored: the same bytes under
// our fence, so that no paused worker can change them, and no second run. What
// the head marks done is readable for ever already, and its absence is damage.
//
// At a sequence without a done call anything may stand: a result of the claim
// before, or an orphan of a commit that was refused, since the sequences were
// reserved by another turn then. The message id tells them apart.
//
// A worker of a lower fence may still put a result while this reads, at a sequence
// that was found empty: that call runs again, and its new result takes the place of
// the late one. Where the own put stands, a lower fence is refused.
//
// Results that stand in no line are tried before, and may come to an error: see line.go.
// ask says whether hooks can be asked.
func (r *round) adopt(ctx context.Context, ask bool) error {
	r, base := r, r.holder.head.Run.Base
	last := base + uint64(len(r.calls)) - 1
	// Read in one go, from the log itself: what is behind the head's sequence is
	// invisible to everybody but a holder.
	var found []int
	for record, err := range r.holder.store.Log(ctx, r.holder.Key, base, last) {
		if err != nil {
			return fmt.Errorf("read stored results: %w", err)
		}
		seq, _ := store.LogSeq(record.Name)
		i := int(seq - base)
		isDone := r.holder.head.Run.Calls[i] == thread.CallDone
		r.schema = max(r.schema, schemaOf(record.Payload)) // before it is decoded, which may be beyond this program
		entry, err := r.holder.records.DecodeEntry(record.Payload)
		if err != nil && core.CodeOf(err) != core.CodeCorrupt {
			return fmt.Errorf("result at sequence %d: %w", seq, err)
		}
		if err != nil || !r.isResult(entry, i) {
			continue // an orphan of something that was never committed
		}
		r.calls[i].end(&entry, record.Payload)
		r.calls[i].told = r.calls[i].told || isDone
		found = append(found, i)
	}
	if err := r.lineUp(ctx, ask); err != nil {
		return err
	}
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
		if r.holder.head.Run.Calls[i] == thread.CallDone {
			r.announce(i, done)
		} else {
			r.announce(i, adopted)
		}
	}
	return nil
}

// schemaMet is the highest schema of the results that this claim has met in the
// log, 0 when there are none: the head must say it, so that a program which
// cannot read them leaves the thread alone. One that is too new for this program
// goes into the nack.
func (r *round) schemaMet() uint16 {
	if r == nil {
		return 0
	}
	return r.schema
}

// schemaOf is the schema number of a payload, also of one that this program
// does not understand; 0 when it has none.
func schemaOf(payload []byte) uint16 {
	var frame struct {
		Schema uint16 `json:"schema"`
	}
	_ = json.Unmarshal(payload, &frame) // what is no record has no schema
	return frame.Schema
}

// isResult reports whether an entry is the result of call i of the open round. Run,
// step and index are in the message id: no other turn's result can have it.
func (r *round) isResult(entry thread.Entry, i int) bool {
	return entry.Run == r.holder.id && entry.Message != nil && entry.Message.ToolResult != nil &&
		entry.Message.ID == history.ResultID(r.holder.id, int(r.holder.head.Run.Step), i)
}

// openTurn is the turn of the open round, for its close. It is read from the log by
// its sequence, since the thread may not be readable as a whole; one that cannot be read any more has
// calls without names, as many as the head knows.
func (b *base) openTurn(ctx context.Context) (core.Message, error) {
	entries, err := store.ReadLog(ctx, b.holder.store, b.holder.records, b.holder.Key, b.holder.head.Run.Base-1, b.holder.head.Run.Base-1)
	if err == nil && entries[0].Message != nil && len(entries[0].Message.ToolCalls) == len(b.holder.head.Run.Calls) {
		return *entries[0].Message, nil
	}
	if err != nil && core.CodeOf(err) != core.CodeCorrupt {
		return core.Message{}, err
	}
	var turn core.Message
	for i := range b.holder.head.Run.Calls {
		turn.ToolCalls = append(turn.ToolCalls, core.ToolCall{ID: history.CallID(b.holder.id, int(b.holder.head.Run.Step), i)})
	}
	return turn, nil
}
