package checkpoint

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/store"
)

// A model must know its run's task, although the window may start after it. If no
// Conversation has the message, it is looked up in the log, by its sequence.

// Opening is the first message of a run.
type Opening struct {
	Message *core.Message // nil: not known, or the run has no message itself
	Seq     uint64        // of the message
}

// FindOpening reads the first message of a run, by the sequence of its first
// record. A run that continues another has no message itself; the message of the
// earlier run counts, which may have continued one as well. A first of 0 is not
// known: the run's record was lost.
func (r *Reader) FindOpening(ctx context.Context, at At, first uint64) (found Opening, err error) {
	for found.Message == nil && first > 0 {
		if found, err = r.ReadOpening(ctx, at, first); err == nil && found.Message == nil {
			first, err = r.runBefore(ctx, at, first)
		}
		if err != nil {
			return Opening{}, err
		}
	}
	return found, nil
}

// ReadOpening reads the message with which a run begins whose first record is at a
// sequence; none if it begins with no input, or that is not committed. In a run of one
// window it is never needed, and in a long one it is one read by its sequence.
func (r *Reader) ReadOpening(ctx context.Context, at At, first uint64) (Opening, error) {
	for seq := first; first > 0 && seq <= min(first+1, at.Head.Seq); seq++ {
		entries, err := threadlog.Read(ctx, r.store, r.records, at.Key, seq, seq)
		if err != nil {
			return Opening{}, err
		}
		if entries[0].Superseded != nil { // it comes before the input
			continue
		}
		if m := entries[0].Message; m != nil && m.IsInput() {
			return Opening{m, seq}, nil
		}
		break
	}
	return Opening{}, nil
}

// runBefore returns the start of the last run before a sequence; 0: no such run, or
// its record is lost.
func (r *Reader) runBefore(ctx context.Context, at At, seq uint64) (first uint64, err error) {
	if seq <= 1 {
		return 0, nil
	}
	entries, err := threadlog.Read(ctx, r.store, r.records, at.Key, seq-1, seq-1)
	if err != nil {
		return 0, err
	}
	stored, ok, err := r.store.Get(ctx, at.Key, recordname.Run(entries[0].Run))
	if err != nil || !ok {
		return 0, err
	}
	record, err := r.records.DecodeRun(stored.Payload)
	if core.CodeOf(err) == core.CodeCorrupt || record.FirstSeq >= seq {
		return 0, nil
	}
	return record.FirstSeq, err
}

// WithOpening returns the Conversation with the first message of its run; others
// may read the one that it is called for.
func (c *Conversation) WithOpening(o Opening) *Conversation {
	after := *c
	after.Opening = o
	return &after
}

// FindFront returns the Conversation with the message before the newest turn's
// window: the first message of its run, which may be an earlier run than the one
// that steps. It reads one record at most.
func (r *Reader) FindFront(ctx context.Context, at At, c *Conversation) (*Conversation, error) {
	if c.Window.Opening == 0 || c.Front != nil {
		return c, nil
	}
	after := *c
	if after.Front = c.messageAt(c.Window.Opening); after.Front == nil {
		entries, err := threadlog.Read(ctx, r.store, r.records, at.Key, c.Window.Opening, c.Window.Opening)
		if err != nil {
			return nil, err
		}
		if after.Front = entries[0].Message; after.Front == nil {
			return nil, fmt.Errorf("record %d in a turn's window is not a message: %w", c.Window.Opening, store.ErrCorrupt)
		}
	}
	return &after, nil
}
