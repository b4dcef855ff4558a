package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// load reads what the step needs: the run's record, its agent, and the log's
// tail behind what is cached. Nothing that it reads depends on the agent, so
// that a failed resolution keeps it.
func (p *step) load(ctx context.Context) error {
	cached := p.cache.get(p.Key, &p.head)
	p.env.Reach(env.PointReadLog, env.Before)
	err := p.read(ctx, cached)
	p.env.Reach(env.PointReadLog, env.After)
	if err != nil {
		return err
	}
	p.cache.put(p.Key, p.conversation)
	if p.agent, err = p.agents.Resolve(p.record.AgentID); err != nil {
		return endWith("resolution", err)
	}
	p.record.Resolution = p.agent.Hash
	p.begin()
	return nil
}

// read reads the run's record and the conversation, at the same time when both
// are missing. A record that is lost does not stop the other read: what is known
// of a run that ends for it must not depend on which of the two was faster. Nor
// on a failure that passes, which goes first.
func (p *step) read(ctx context.Context, cached *conversation) error {
	if cached != nil && p.known(cached) {
		return p.catchUp(ctx, cached)
	}
	var lost, err error
	group, shared := p.env.Group(ctx)
	group.Go(func(ctx context.Context) error {
		lost = env.Protect(func() error { return p.recall(ctx) })
		if lost != nil || cached != nil || p.head.Seq < p.record.FirstSeq+firstTail {
			return nil
		}
		return p.readOpening(ctx) // in a long run the window hardly reaches so far back
	})
	if cached != nil {
		err = p.catchUp(shared, cached)
	} else {
		err = p.readBack(shared)
	}
	err = errors.Join(group.Wait(), err)
	if lost != nil && (err == nil || core.CodeOf(err) == core.CodeCorrupt) {
		err = lost
	}
	if err != nil {
		return err
	}
	return p.findOpening(ctx)
}

// findOpening gives the conversation the run's first message, when the window
// begins behind it: a model must know what it was asked.
func (p *step) findOpening(ctx context.Context) error {
	c := p.conversation
	if c.run != p.id || c.opening != nil {
		return nil
	}
	if p.opening == nil {
		if err := p.readOpening(ctx); err != nil {
			return err
		}
	}
	after := *c
	after.opening = p.opening
	p.conversation = &after
	return nil
}

// readOpening reads the run's first message, if it is committed.
func (p *step) readOpening(ctx context.Context) error {
	first := p.record.FirstSeq
	if first == 0 { // the record was lost, and made anew without it
		return nil
	}
	for seq := first; seq <= min(first+1, p.head.Seq); seq++ { // a record that takes the log's tail back may come first
		entries, err := store.ReadLog(ctx, p.store, p.records, p.Key, seq, seq)
		if err != nil {
			return err
		}
		if p.opening = entries[0].Message; p.opening != nil {
			break
		}
	}
	return nil
}

// known reports whether the conversation has the run's record, with the ending
// that goes with the head: another process may have begun to close the run.
func (p *step) known(c *conversation) bool {
	if c.record.ID != p.id || p.head.Run.Status == thread.Closing && p.head.End(&c.record) == nil {
		return false
	}
	p.record, p.recorded = c.record, true
	return true
}

// recall reads the run's record, which its first commit stores, and before that
// its input. A record that stands there before the first commit is an orphan of
// a refused one and is not looked at, except in a closing run, which may have
// stored it with the write that began to close.
func (p *step) recall(ctx context.Context) error {
	if p.head.Run.Cursor != thread.CursorStart || p.head.Run.Status == thread.Closing {
		stored, ok, err := p.store.Get(ctx, p.Key, store.RunName(p.id))
		if err != nil {
			return fmt.Errorf("read run record: %w", err)
		}
		if ok {
			p.record, err = p.records.DecodeRun(stored.Payload)
			p.recorded = err == nil
			return err
		}
		if p.head.Run.Cursor != thread.CursorStart {
			return fmt.Errorf("run record is missing: %w", store.ErrCorrupt)
		}
	}
	input, err := p.queued(ctx, p.head.Run.Dispatch, p.head.Run.Revision)
	if err != nil {
		return err
	}
	p.record.Run = core.Run{
		ID: p.id, ThreadID: p.Key.Thread, AgentID: input.AgentID, Status: core.RunRunning,
		Dispatch: p.head.Run.Dispatch, FirstSeq: p.head.Seq + 1, CreatedAt: input.CreatedAt, StartedAt: p.env.Millis(),
	}
	p.input = &input
	return nil
}

// catchUp reads the log behind what is cached: what other processes committed
// since. The cached conversation stays as it is for other readers. When they took
// back what it has, the window begins before it, and the thread is read anew.
func (p *step) catchUp(ctx context.Context, cached *conversation) error {
	if cached.seq == p.head.Seq {
		p.conversation = cached
		return nil
	}
	entries, err := store.ReadLog(ctx, p.store, p.records, p.Key, cached.seq+1, p.head.Seq)
	if err != nil {
		return err
	}
	b := build(cached)
	for _, entry := range entries {
		if err := b.add(entry); err != nil {
			return err
		}
	}
	if b.short {
		return p.readBack(ctx)
	}
	p.conversation = b.done(p.window)
	return nil
}

// readBack reads a thread that is not cached: its state from the stored
// snapshot, and the log from its end back to where both the window and the
// snapshot begin.
func (p *step) readBack(ctx context.Context) error {
	var from snapshot
	t := p.newTail()
	group, shared := p.env.Group(ctx)
	group.Go(func(ctx context.Context) (err error) {
		from, err = p.readSnapshot(ctx)
		return err
	})
	err := p.readTail(shared, t, firstTail)
	if err := errors.Join(group.Wait(), err); err != nil {
		return err
	}
	for t.missing(from.asOf) > 0 {
		if err := p.readTail(ctx, t, t.missing(from.asOf)); err != nil {
			return err
		}
	}
	first, entries := t.from(from.asOf)
	b := &builder{fold: from.fold(), conversation: conversation{
		incarnation: p.head.Incarnation, seq: first - 1, run: from.Run, step: from.Step, stored: from.manifest,
	}}
	at := &b.seq
	from.skipUntil(b.fold, at)
	for _, entry := range entries {
		if *at < from.asOf { // its state is in the snapshot
			b.seq++
			b.keep(entry)
			continue
		}
		if err := b.add(entry); err != nil {
			return err
		}
	}
	b.fold.Skip, b.short = nil, false // the tail went as far back as the window
	p.conversation = b.done(p.window)
	return nil
}

// queued reads the text of a queued input.
func (p *step) queued(ctx context.Context, id core.ID, revision uint32) (thread.Queued, error) {
	name := store.InputName(id, revision)
	record, ok, err := p.store.Get(ctx, p.Key, name)
	if err != nil {
		return thread.Queued{}, fmt.Errorf("read queued input: %w", err)
	}
	if !ok {
		return thread.Queued{}, fmt.Errorf("queued input %s is missing: %w", name, store.ErrCorrupt)
	}
	return p.records.DecodeQueued(record.Payload)
}

// hear takes what people said into the draft: the run's own input, and the
// inbox as the claim found it. What comes later is the next step's. The commit
// names each entry with the revision that was read: one that was edited
// meanwhile refuses it (thread.ErrStale), and the step is taken again.
func (p *step) hear(ctx context.Context) error {
	if p.head.Run.Cursor == thread.CursorStart {
		if p.input == nil {
			input, err := p.queued(ctx, p.head.Run.Dispatch, p.head.Run.Revision)
			if err != nil {
				return err
			}
			p.input = &input
		}
		if err := p.open(ctx, p.input); err != nil {
			return err
		}
		if p.draft.cut == 0 { // else it takes back what the snapshot would have
			p.starting = p.conversation
		}
	}
	inputs, err := p.inbox(ctx)
	if err != nil {
		return err
	}
	for i, entry := range p.head.Inbox {
		seq := p.head.Seq + uint64(len(p.draft.entries)) + 1
		p.say(entry.ID, inputs[i].Messages)
		p.draft.consumed = append(p.draft.consumed, thread.InboxRef{ID: entry.ID, Revision: entry.Revision, Seq: seq})
	}
	return nil
}

// inbox reads the texts of the inbox, all at the same time. One that is lost is
// empty: there is nothing to read, and never will be.
func (p *step) inbox(ctx context.Context) ([]thread.Queued, error) {
	inputs := make([]thread.Queued, len(p.head.Inbox))
	read := func(ctx context.Context, i int) (err error) {
		entry := p.head.Inbox[i]
		inputs[i], err = p.queued(ctx, entry.ID, entry.Revision)
		if core.CodeOf(err) == core.CodeCorrupt {
			p.log.ErrorContext(ctx, "input is lost", append(p.attrs(), "input", entry.ID, "error", err)...)
			return nil
		}
		return err
	}
	if len(inputs) == 0 {
		return nil, nil
	}
	group, shared := p.env.Group(ctx)
	for i := 1; i < len(inputs); i++ {
		group.Go(func(ctx context.Context) error { return read(ctx, i) })
	}
	err := read(shared, 0)
	return inputs, errors.Join(group.Wait(), err)
}

// say adds messages of a person to the draft.
func (p *step) say(input core.ID, messages []core.Message) {
	for _, m := range messages {
		m.RunID = p.id
		p.draft.add(thread.Entry{Run: m.RunID, Message: &m, Input: input})
	}
}

// attrs says in the log what the step works on.
func (p *step) attrs() []any {
	return []any{"tenant", p.Key.Tenant, "thread", p.Key.Thread, "run", p.id, "step", p.events.step}
}
