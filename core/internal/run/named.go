package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run/checkpoint"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/store"
)

// The records that the head names, other than the log: the run's input and the
// input that was steered to it, records of a round that waits, the turn of the open
// round, and the ranges of the log that runs have superseded. The head is written
// after them, so that every reader of the name finds the record. None of this needs
// the agent, nor a thread that can be read as a whole.

// reads is where the reader reads for the step. known is what is known of the thread; nil:
// nothing is.
func (h *holder) reads(known *checkpoint.Conversation) checkpoint.At {
	return checkpoint.At{Key: h.Key, Head: &h.head, Run: h.id, Step: h.events.Step(), Known: known}
}

// readRecord reads a record that the head names. The head is written after what it
// names: a record that is not there is damage, and not a race.
func (h *holder) readRecord(ctx context.Context, what, name string, v any) error {
	record, ok, err := h.s.store.Get(ctx, h.Key, name)
	if err != nil {
		return fmt.Errorf("read %s: %w", what, err)
	}
	if !ok {
		return fmt.Errorf("%s %s is missing: %w", what, name, store.ErrCorrupt)
	}
	return h.records.Decode(what, record.Payload, v)
}

// inbox reads the texts of the inbox concurrently, each into a separate place. One
// that is lost is empty: there is nothing to read, and never will be, and the run
// must not wait for it.
func (h *holder) inbox(ctx context.Context) ([]thread.Queued, error) {
	if len(h.head.Inbox) == 0 {
		return nil, nil
	}
	inputs := make([]thread.Queued, len(h.head.Inbox))
	read := func(ctx context.Context, i int) (err error) {
		entry := h.head.Inbox[i]
		inputs[i], err = h.queued(ctx, entry.ID, entry.Revision)
		if core.CodeOf(err) == core.CodeCorrupt {
			h.complain(ctx, "input is lost", "input", entry.ID, "error", err)
			return nil
		}
		return err
	}
	group, shared := h.env.Group(ctx)
	for i := 1; i < len(inputs); i++ {
		group.Go(func(ctx context.Context) error { return read(ctx, i) })
	}
	err := read(shared, 0)
	return inputs, errors.Join(group.Wait(), err)
}

// queued reads the text of a queued input in the revision that the head names. It
// outlives every run that it can wait for, so that its absence is damage. It reads
// nothing for the input that the claim's own write has stored: see [Work].
func (h *holder) queued(ctx context.Context, id core.ID, revision uint32) (thread.Queued, error) {
	if h.given != nil && h.given.Dispatch == id && revision == 0 {
		return *h.given, nil
	}
	name := recordname.Input(id, revision)
	record, ok, err := h.s.store.Get(ctx, h.Key, name)
	if err != nil {
		return thread.Queued{}, fmt.Errorf("read queued input: %w", err)
	}
	if !ok {
		return thread.Queued{}, fmt.Errorf("queued input %s is missing: %w", name, store.ErrCorrupt)
	}
	return h.records.DecodeQueued(record.Payload)
}

// openTurn is the turn of the open round, for its close. It is read from the log by
// its sequence, since the thread may not be readable as a whole; one that cannot be read any more has
// calls without names, as many as the head knows.
func (h *holder) openTurn(ctx context.Context) (core.Message, error) {
	entries, err := threadlog.Read(ctx, h.s.store, h.records, h.Key, h.head.Run.Base-1, h.head.Run.Base-1)
	if err == nil && entries[0].Message != nil && len(entries[0].Message.ToolCalls) == len(h.head.Run.Calls) {
		return *entries[0].Message, nil
	}
	if err != nil && core.CodeOf(err) != core.CodeCorrupt {
		return core.Message{}, err
	}
	var turn core.Message
	for i := range h.head.Run.Calls {
		turn.ToolCalls = append(turn.ToolCalls, core.ToolCall{ID: history.CallID(h.id, int(h.head.Run.Step), i)})
	}
	return turn, nil
}

// superseded returns the start of the range that the run supersedes, and the ranges
// before it. Input that runs have superseded since it was named is in one of their
// ranges, or is the input right after its record. Then the range starts where that
// one does, so that no two of them overlap, and input that is replaced again and
// again is one range.
func (h *holder) superseded(ctx context.Context, from uint64) (uint64, []thread.Range, error) {
	ranges, err := threadlog.Superseded(ctx, h.s.store, h.records, h.Key, h.head.Supersedes, 0)
	if err != nil {
		return from, nil, fmt.Errorf("read superseded ranges: %w", err)
	}
	for i, r := range ranges {
		if from > r.Record()+1 {
			return from, slices.Clone(ranges[i:min(len(ranges), i+thread.MaxEarlier)]), nil
		}
		from = min(from, r.From)
	}
	return from, nil, nil
}
