package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// conversation is a thread's log up to a sequence, folded.
type conversation struct {
	incarnation uint64
	resolution  string // hash of the agent whose keys folded the state
	seq         uint64
	run         core.ID // of the newest entry
	step        int     // of the newest entry that has one
	messages    []core.Message
	snapshot    state.Snapshot
	record      core.Run // of run, when known
}

// add folds one more entry in.
func (c *conversation) add(registry *state.Registry, entry thread.Entry) error {
	c.enter(registry, entry.Run, entry.Step)
	if entry.Message != nil {
		c.messages = append(c.messages, *entry.Message)
	}
	if entry.Command != nil {
		snapshot, err := registry.Replay(c.snapshot, entry.Command.Batch)
		if err != nil {
			return fmt.Errorf("fold state: %w", err)
		}
		c.snapshot = snapshot
	}
	c.seq++
	return nil
}

// enter drops the state that ended with an earlier run or step. Step 0 is what
// comes before a step: its input.
func (c *conversation) enter(registry *state.Registry, run core.ID, step int) {
	if run != c.run {
		c.snapshot, c.run, c.step = registry.BeginRun(c.snapshot), run, 0
	}
	if step != 0 && step != c.step {
		c.snapshot, c.step = registry.BeginStep(c.snapshot), step
	}
}

// load reads what the step needs: the run's record, its agent, and the log's
// tail behind what is cached.
func (w *work) load(ctx context.Context) error {
	cached := w.cache.take(w.key)
	if cached != nil && (cached.incarnation != w.head.Incarnation || cached.seq > w.head.Seq) {
		cached = nil
	}
	switch {
	case w.head.Run.Cursor == thread.CursorStart:
		w.started = true
		if err := w.hearInput(ctx); err != nil {
			return err
		}
		w.record.StartedAt = w.env.Millis()
	case cached != nil && cached.record.ID == w.head.Run.ID:
		w.record = cached.record
	default:
		if err := w.readRecord(ctx); err != nil {
			return err
		}
	}
	var err error
	if w.agent, err = w.agents.Resolve(w.record.AgentID); err != nil {
		return endWith("resolution", err)
	}
	w.record.Resolution = w.agent.Hash
	if cached != nil && cached.resolution != w.agent.Hash {
		cached = nil
	}
	if err := w.readTail(ctx, cached); err != nil {
		return err
	}
	if w.head.Run.Cursor != thread.CursorTools { // an open tool round comes first
		if err := w.drain(ctx); err != nil {
			return err
		}
	}
	for _, entry := range w.unsaved {
		w.conversation.messages = append(w.conversation.messages, *entry.Message)
	}
	return nil
}

// readRecord reads the run's record; the first step stored it.
func (w *work) readRecord(ctx context.Context) error {
	record, ok, err := w.threads.Get(ctx, w.key, store.RunName(w.head.Run.ID))
	if err != nil {
		return fmt.Errorf("read run record: %w", err)
	}
	if !ok {
		return fmt.Errorf("run record is missing: %w", store.ErrCorrupt)
	}
	if err := json.Unmarshal(record.Payload, &w.record); err != nil {
		return core.Errorf(core.CodeCorrupt, "decode run record: %w", err)
	}
	w.reopen()
	return nil
}

// readTail completes the conversation up to the head's sequence.
func (w *work) readTail(ctx context.Context, cached *conversation) error {
	c := cached
	if c == nil {
		c = &conversation{incarnation: w.head.Incarnation, resolution: w.agent.Hash}
	}
	if c.seq < w.head.Seq {
		w.env.Reach(env.PointReadLog, env.Before)
		entries, err := store.ReadLog(ctx, w.threads, w.key, c.seq+1, w.head.Seq)
		w.env.Reach(env.PointReadLog, env.After)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			if err := c.add(w.agent.Engine.Registry(), entry); err != nil {
				return err
			}
		}
	}
	c.enter(w.agent.Engine.Registry(), w.head.Run.ID, 0)
	w.conversation = c
	w.record.Usage, w.record.Steps = core.Usage{}, int(w.head.Run.Step)
	for _, m := range slices.Backward(c.messages) {
		if m.RunID != w.head.Run.ID {
			break
		}
		if m.Usage != nil {
			w.record.Usage = w.record.Usage.Add(*m.Usage)
		}
	}
	return nil
}

// queued reads the text of a queued input.
func (w *work) queued(ctx context.Context, id core.ID, revision uint32) (thread.Queued, error) {
	name := store.InputName(id, revision)
	record, ok, err := w.threads.Get(ctx, w.key, name)
	if err != nil {
		return thread.Queued{}, fmt.Errorf("read queued input: %w", err)
	}
	if !ok {
		return thread.Queued{}, fmt.Errorf("queued input %s is missing: %w", name, store.ErrCorrupt)
	}
	return thread.DecodeQueued(record.Payload)
}

// hearInput makes the record of a run that has none yet, and says its input.
func (w *work) hearInput(ctx context.Context) error {
	w.record = core.Run{
		ID: w.head.Run.ID, ThreadID: w.key.Thread, Status: core.RunRunning,
		Dispatch: w.head.Run.Dispatch, FirstSeq: w.head.Seq + 1, StartedAt: w.record.StartedAt,
	}
	input, err := w.queued(ctx, w.head.Run.Dispatch, 0)
	if err != nil {
		return err
	}
	w.record.AgentID, w.record.CreatedAt = input.AgentID, input.CreatedAt
	w.say(input.Messages)
	return nil
}

// drain reads the inbox: what it says comes before the next inference.
func (w *work) drain(ctx context.Context) error {
	for _, entry := range w.head.Inbox {
		input, err := w.queued(ctx, entry.ID, entry.Revision)
		switch {
		case errors.Is(err, store.ErrCorrupt): // there is nothing to read, and never will be
			w.log.ErrorContext(ctx, "input is lost", "tenant", w.key.Tenant, "thread", w.key.Thread, "run", w.head.Run.ID, "error", err)
		case err != nil:
			return err
		}
		w.say(input.Messages)
		w.consumed = append(w.consumed, thread.InboxRef{ID: entry.ID, Revision: entry.Revision})
	}
	w.drained = true
	return nil
}

// say adds messages that are to be stored with the next commit.
func (w *work) say(messages []core.Message) {
	for _, m := range messages {
		m.RunID = w.head.Run.ID
		w.unsaved = append(w.unsaved, thread.Entry{Run: m.RunID, Message: &m})
	}
}

// cache keeps the conversations of the threads that this process stepped last.
// Whoever takes one owns it until it is put back.
type cache struct {
	mu    sync.Mutex
	limit int
	order []core.ThreadKey // oldest first
	byKey map[core.ThreadKey]*conversation
}

func newCache(limit int) *cache {
	return &cache{limit: limit, byKey: make(map[core.ThreadKey]*conversation, limit)}
}

func (c *cache) take(key core.ThreadKey) *conversation {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := c.byKey[key]
	if found != nil {
		c.remove(key)
	}
	return found
}

func (c *cache) put(key core.ThreadKey, v *conversation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey[key] != nil {
		c.remove(key)
	}
	if len(c.order) >= c.limit {
		c.remove(c.order[0])
	}
	c.order = append(c.order, key)
	c.byKey[key] = v
}

func (c *cache) drop(key core.ThreadKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey[key] != nil {
		c.remove(key)
	}
}

func (c *cache) remove(key core.ThreadKey) {
	delete(c.byKey, key)
	if i := slices.Index(c.order, key); i >= 0 {
		c.order = slices.Delete(c.order, i, i+1)
	}
}
