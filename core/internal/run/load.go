package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/point"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run/checkpoint"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// load reads the records of the step: the run's record, its agent, and the log's
// tail after the cached part. No read depends on the agent, so that a failed
// resolution keeps the records.
func (b *base) load(ctx context.Context, h *holder) error {
	// A cached conversation is a prefix of the log that the head covers, or it is
	// dropped: its records are committed, by any process.
	cached := h.s.reader.Cached(h.Key, &h.head)
	done := h.env.Reach(point.ReadLog)
	err := b.read(ctx, h, cached)
	done()
	if err == nil {
		err = h.account.Recall(ctx, &h.head)
	}
	if err != nil {
		return err
	}
	// Before the step has done anything: one that fails leaves the next what it read.
	h.s.reader.Keep(h.Key, b.conversation)
	return b.resolve(ctx, h)
}

// read reads the run's record and the conversation, at the same time when both are
// missing. A record that is lost does not stop the other read: the known part of a
// run that ends for it must not depend on which of the two was faster. Nor on a
// failure that passes, which goes first.
//
// The two share nothing: one sets record, input and opening, the other
// conversation. Code that needs both comes after the group has ended.
func (b *base) read(ctx context.Context, h *holder, cached *checkpoint.Conversation) error {
	if cached != nil && b.known(h, cached) { // the usual step of a run that this process has stepped before
		return b.catchUp(ctx, h, h.reads(b.conversation), cached)
	}
	if h.head.Seq == 0 { // a new thread has no log and no state: only the input is read
		b.conversation = checkpoint.Empty(h.head.Incarnation)
		return b.recall(ctx, h)
	}
	var lost, err error
	at := h.reads(b.conversation)
	group, shared := h.env.Group(ctx)
	group.Go(func(ctx context.Context) (err error) {
		lost = env.Protect(func() error { return b.recall(ctx, h) })
		if lost != nil || cached != nil || h.head.Seq < b.record.FirstSeq+checkpoint.FirstTail {
			return nil
		}
		// In a long run the window hardly reaches so far back.
		b.opening, err = h.s.reader.ReadOpening(ctx, at, b.record.FirstSeq)
		return err
	})
	err = b.catchUp(shared, h, at, cached)
	err = errors.Join(group.Wait(), err)
	if lost != nil && (err == nil || core.CodeOf(err) == core.CodeCorrupt) {
		err = lost
	}
	if err != nil {
		return err
	}
	return b.findOpening(ctx, h)
}

// known reports whether the conversation has the run's record, with the ending that
// goes with the head: another process may have started to close the run. If usage
// is metered, another process may have waited with it, too, and then the record has
// the start of the open stretch.
func (b *base) known(h *holder, c *checkpoint.Conversation) bool {
	if c.Record == nil || c.Record.ID != h.id || h.head.Run.Status == thread.Closing && h.head.End(c.Record) == nil {
		return false
	}
	if h.s.books.Meters() {
		if _, known := c.Record.Base(h.head.Run.Stretch); !known { // another step has waited since, and noted what was used until then
			return false
		}
	}
	b.record, b.recorded = c.Record, true
	return true
}

// recall reads the run's record, which its first commit stores, and before that its
// input. A record that exists before the first commit is an orphan of a refused one
// and is not looked at, except in a closing run, which may have stored it with the
// write that started the close.
func (b *base) recall(ctx context.Context, h *holder) error {
	// FirstSeq and StartedAt are made with the first commit, so that before it
	// every claim makes the record again.
	if h.head.Run.Cursor != thread.CursorStart || h.head.Run.Status == thread.Closing {
		stored, ok, err := h.s.store.Get(ctx, h.Key, recordname.Run(h.id))
		if err != nil {
			return fmt.Errorf("read run record: %w", err)
		}
		if ok {
			record, err := h.records.DecodeRun(stored.Payload)
			if err != nil {
				b.record = nil
				return err
			}
			b.record, b.recorded = &record, true
			return nil
		}
		if h.head.Run.Cursor != thread.CursorStart {
			return fmt.Errorf("run record is missing: %w", store.ErrCorrupt)
		}
	}
	input, err := h.queued(ctx, h.head.Run.Dispatch, h.head.Run.Revision)
	if err != nil {
		return err
	}
	b.record = &thread.RunRecord{
		Run: core.Run{
			ID: h.id, ThreadID: h.Key.Thread, AgentID: input.AgentID, Origin: input.Origin, Status: core.RunRunning,
			Dispatch: h.head.Run.Dispatch, FirstSeq: h.head.Seq + 1, CreatedAt: input.CreatedAt, StartedAt: h.startedAt(),
			Resolution: input.Resolution,
		},
		Request: input.Request, Frontend: input.Frontend.Stateless(), Parent: input.Parent,
	}
	b.input = &input
	return nil
}

// catchUp takes over the thread in the head's state, from the cached part; nil:
// nothing. The known part stays when that fails.
func (b *base) catchUp(ctx context.Context, h *holder, at checkpoint.At, cached *checkpoint.Conversation) (err error) {
	var c *checkpoint.Conversation
	if cached != nil {
		c, err = h.s.reader.CatchUp(ctx, at, cached)
	} else {
		c, err = h.s.reader.Read(ctx, at, h.head.Seq)
	}
	if err == nil {
		b.conversation = c
	}
	return err
}

// findOpening gives the conversation the run's first input, when the window starts
// after it, and the message before the newest turn's window: a model must know its
// task.
func (b *base) findOpening(ctx context.Context, h *holder) (err error) {
	at := h.reads(b.conversation)
	if c := b.conversation; c.Opening.Message == nil && (c.Run == h.id || b.takesUp()) {
		if b.opening.Message == nil {
			if b.opening, err = h.s.reader.FindOpening(ctx, at, b.record.FirstSeq); err != nil {
				return err
			}
		}
		b.conversation = c.WithOpening(b.opening)
	}
	c, err := h.s.reader.FindFront(ctx, at, b.conversation)
	if err == nil {
		b.conversation = c
	}
	return err
}

// learn reads the run's identity, and the thread, as far as they can be read: a run
// that can no longer be read ends anyway.
func (b *base) learn(ctx context.Context, h *holder) error {
	if b.agent != nil && b.conversation.Seq == h.head.Seq {
		return nil // the step itself has reached the end: nothing is newer
	}
	err := b.load(ctx, h) // what this step knows is older than the head, or nothing
	var end *ended
	if errors.As(err, &end) { // the agent is gone
		return nil
	}
	if core.CodeOf(err) != core.CodeCorrupt {
		return err
	}
	h.complain(ctx, "closing run cannot be read", "error", err)
	// Neither is used half: without the conversation no hook can be shown anything.
	b.conversation, b.agent, b.hooks = nil, nil, hooks{}
	return b.identify(ctx, h)
}

// identify makes a record for a run whose own is lost, from what is left of it: its
// end must have a record under the right name. The fields that only the lost one
// had (steps, usage, the start) are zero.
func (b *base) identify(ctx context.Context, h *holder) error {
	if b.record != nil && b.record.ID == h.id {
		return nil
	}
	record := thread.RunRecord{Run: core.Run{ID: h.id, ThreadID: h.Key.Thread, Dispatch: h.head.Run.Dispatch}} // its status is that of the write
	if input, err := h.queued(ctx, h.head.Run.Dispatch, h.head.Run.Revision); err == nil {
		record.AgentID, record.Origin, record.CreatedAt, record.Request = input.AgentID, input.Origin, input.CreatedAt, input.Request
		record.Frontend, record.Parent = input.Frontend.Stateless(), input.Parent
	} else if core.CodeOf(err) != core.CodeCorrupt {
		return err
	}
	b.record = &record
	return nil
}
