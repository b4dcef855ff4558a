package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// loaded is what a step reads: the run's record, its agent, and what is
// committed of the thread. The conversation is shared with the cache and with
// other steps of this process: it is replaced by commits, never changed.
//
// A step loads once. A close loads again when the head has moved on since, and
// works with what there is when that fails: agent and conversation may be nil then.
type loaded struct {
	*step
	agent        *agent.Resolved
	model        *agent.BoundModel // of the agent, or the run's member of its pool
	hooks        hooks             // of the agent's plugins
	record       thread.RunRecord
	recorded     bool           // record is stored
	input        *thread.Queued // the run's own, of a run that has not begun
	opening      *core.Message  // what the run was asked first, when it was read for itself
	openedAt     uint64         // its sequence
	starting     *conversation  // the thread as the run found it, in its first step
	conversation *conversation
	wasted       *thread.Metered // by the stretch, in turns that came to nothing; nil: none that was recorded
}

// load reads what the step needs: the run's record, its agent, and the log's
// tail behind what is cached. Nothing that it reads depends on the agent, so
// that a failed resolution keeps it.
func (l *loaded) load(ctx context.Context) error {
	// A cached conversation is a prefix of the log that the head covers, or it is
	// dropped: what it has is committed, whoever committed it.
	cached := l.cache.get(l.Key, &l.head)
	l.env.Reach(env.PointReadLog, env.Before)
	err := l.read(ctx, cached)
	l.env.Reach(env.PointReadLog, env.After)
	if err == nil {
		err = l.recallWasted(ctx)
	}
	if err != nil {
		return err
	}
	// Before the step has done anything: one that fails leaves the next what it read.
	l.cache.put(l.Key, l.conversation)
	return l.resolve(ctx)
}

// resolve finds the agent that the run is pinned to: the one that it began with. A run
// that begins is pinned by its first commit. A failure of the store, and content that
// only a newer program can read, are left to another try. What this build lacks is left
// to another build, for a time; after it an agent that is gone ends the run, and one of
// which tools are gone goes on without them.
func (l *loaded) resolve(ctx context.Context) error {
	found, err := l.agents.Resolve(ctx, l.record.AgentID, l.record.Resolution)
	if err != nil {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, agent.ErrStore), core.CodeOf(err) == core.CodeSchema:
			return err
		}
		end := endWith("resolution", err)
		if core.CodeOf(err) == core.CodeNotFound && l.leaves() {
			return &lacking{end}
		}
		return end
	}
	if len(found.Gone) > 0 {
		if err := l.goWithout(core.Errorf(core.CodeNotFound, "tool %q of agent %q is no part of this build", found.Gone[0], l.record.AgentID)); err != nil {
			return err
		}
	}
	l.agent, l.model = found.WithFrontend(l.record.Frontend), found.ModelOf(l.Key, l.id)
	if l.record.Resolution == "" {
		l.record.Resolution = found.Hash()
	}
	l.hooks = hooks{
		engine: l.agent.Engine, env: l.env, log: l.log, failed: &l.failedEffects, acts: l.history == nil,
		about: plugin.Context{Thread: l.Key, User: l.head.Owner, Run: l.id, Request: l.record.Request, Profiles: l.profiles},
	}
	return nil
}

// read reads the run's record and the conversation, at the same time when both
// are missing. A record that is lost does not stop the other read: what is known
// of a run that ends for it must not depend on which of the two was faster. Nor
// on a failure that passes, which goes first.
//
// The two share nothing: one sets record, input and opening, the other
// conversation. What needs both comes after the group has ended.
func (l *loaded) read(ctx context.Context, cached *conversation) error {
	if cached != nil && l.known(cached) { // the usual step of a run that this process has stepped before
		return l.catchUp(ctx, cached)
	}
	if l.head.Seq == 0 { // a new thread has no log and no state: nothing is read beside the input
		l.conversation = &conversation{incarnation: l.head.Incarnation}
		return l.recall(ctx)
	}
	var lost, err error
	group, shared := l.env.Group(ctx)
	group.Go(func(ctx context.Context) (err error) {
		lost = env.Protect(func() error { return l.recall(ctx) })
		if lost != nil || cached != nil || l.head.Seq < l.record.FirstSeq+firstTail {
			return nil
		}
		// In a long run the window hardly reaches so far back.
		l.opening, l.openedAt, err = l.readOpening(ctx, l.record.FirstSeq)
		return err
	})
	if cached != nil {
		err = l.catchUp(shared, cached)
	} else {
		err = l.readAnew(shared)
	}
	err = errors.Join(group.Wait(), err)
	if lost != nil && (err == nil || core.CodeOf(err) == core.CodeCorrupt) {
		err = lost
	}
	if err != nil {
		return err
	}
	return l.findOpening(ctx)
}

// known reports whether the conversation has the run's record, with the ending
// that goes with the head: another process may have begun to close the run. Where
// somebody meters it may have waited with it, too, and then the record says where the
// open stretch began.
func (l *loaded) known(c *conversation) bool {
	if c.record.ID != l.id || l.head.Run.Status == thread.Closing && l.head.End(&c.record) == nil {
		return false
	}
	if l.head.Run.Stretch.Since != 0 && l.books.Meters() {
		if _, known := c.record.Base(l.head.Run.Stretch); !known { // another step has waited since, and noted what was used until then
			return false
		}
	}
	l.record, l.recorded = c.record, true
	return true
}

// recall reads the run's record, which its first commit stores, and before that
// its input. A record that stands there before the first commit is an orphan of
// a refused one and is not looked at, except in a closing run, which may have
// stored it with the write that began to close.
func (l *loaded) recall(ctx context.Context) error {
	// FirstSeq and StartedAt are made with the first commit, so that before it every
	// claim makes the record anew.
	if l.head.Run.Cursor != thread.CursorStart || l.head.Run.Status == thread.Closing {
		stored, ok, err := l.store.Get(ctx, l.Key, store.RunName(l.id))
		if err != nil {
			return fmt.Errorf("read run record: %w", err)
		}
		if ok {
			l.record, err = l.records.DecodeRun(stored.Payload)
			l.recorded = err == nil
			return err
		}
		if l.head.Run.Cursor != thread.CursorStart {
			return fmt.Errorf("run record is missing: %w", store.ErrCorrupt)
		}
	}
	input, err := l.queued(ctx, l.head.Run.Dispatch, l.head.Run.Revision)
	if err != nil {
		return err
	}
	l.record.Run = core.Run{
		ID: l.id, ThreadID: l.Key.Thread, AgentID: input.AgentID, Origin: input.Origin, Status: core.RunRunning,
		Dispatch: l.head.Run.Dispatch, FirstSeq: l.head.Seq + 1, CreatedAt: input.CreatedAt, StartedAt: l.at,
	}
	l.record.Request, l.record.Frontend, l.record.Resolution = input.Request, input.Frontend.Stateless(), input.Resolution
	l.input = &input
	return nil
}

// catchUp reads the log behind what is cached: what other processes committed
// since. The cached conversation stays as it is for other readers. When they took
// back what it has, the window begins before it, and the thread is read anew.
func (l *loaded) catchUp(ctx context.Context, cached *conversation) error {
	if cached.seq == l.head.Seq {
		l.conversation = cached
		return nil
	}
	if cached.summary.covers() > l.head.Summary { // what it stood for is to be read again
		return l.readAnew(ctx)
	}
	entries, err := store.ReadLog(ctx, l.store, l.records, l.Key, cached.seq+1, l.head.Seq)
	if err != nil {
		return err
	}
	// Usually nothing, or what a step of another process has committed: the log is
	// read forwards from where the cache ends, and no snapshot is needed.
	b := build(cached)
	for _, entry := range entries {
		if err := b.add(entry); err != nil {
			return err
		}
	}
	if b.short {
		return l.readAnew(ctx)
	}
	s := cached.summary
	if s.covers() < l.head.Summary {
		if s, err = l.readSummary(ctx, l.Key, l.head.Summary); err != nil {
			return err
		}
	}
	c := b.done(l.oldWindow)
	c.under(s)
	l.conversation = c
	return nil
}

// readAnew reads the thread as the head says it is. What was known of it stays when
// that fails.
func (l *loaded) readAnew(ctx context.Context) error {
	c, err := l.readBack(ctx, l.head.Seq)
	if err == nil {
		l.conversation = c
	}
	return err
}

// readBack reads a thread that is not cached, as it was after a sequence: its
// state from the stored snapshot, and the log from its end back to where both the
// window and the snapshot begin. How much that is does not show in what the step
// writes: window and state are those of a process that has read everything.
//
// The snapshot and the log's end are read at the same time, since the end is
// needed in any case; the rest waits for both, one range after the other.
func (l *loaded) readBack(ctx context.Context, seq uint64) (*conversation, error) {
	var from snapshot
	summed, floor := (*summary)(nil), l.head.Summary
	if floor > seq { // which one was in force then, its successors say
		var err error
		if summed, err = l.summaryAt(ctx, seq); err != nil {
			return nil, err
		}
		floor = summed.covers()
	}
	t := l.newTail(seq, floor)
	group, shared := l.env.Group(ctx)
	group.Go(func(ctx context.Context) (err error) {
		from, err = l.readSnapshot(ctx, seq)
		return err
	})
	if floor > 0 && summed == nil {
		group.Go(func(ctx context.Context) (err error) {
			summed, err = l.summaryAt(ctx, seq)
			return err
		})
	}
	err := l.readTail(shared, t, min(firstTail, max(seq-floor, 1)))
	if err := errors.Join(group.Wait(), err); err != nil {
		return nil, err
	}
	for t.missing(from.asOf) > 0 {
		if err := l.readTail(ctx, t, t.missing(from.asOf)); err != nil {
			return nil, err
		}
	}
	first, entries := t.from(from.asOf)
	b := &builder{fold: *from.fold(), conversation: &conversation{
		incarnation: l.head.Incarnation, seq: first - 1, run: from.Run, step: from.Step, stored: from.manifest,
	}}
	// A value may be newer than its manifest: patches that it has already are passed
	// over, key by key, until the fold has come to where the value is from.
	at := &b.seq
	from.skipUntil(&b.fold, at)
	for _, entry := range entries {
		if *at < from.asOf { // its state is in the snapshot
			b.seq++
			b.keep(entry)
			continue
		}
		if err := b.add(entry); err != nil {
			return nil, err
		}
	}
	b.fold.Skip, b.short = nil, false // the tail went as far back as the window
	c := b.done(l.oldWindow)
	c.under(summed)
	return c, nil
}

// findOpening gives the conversation what the run was asked first, when the window
// begins behind it: a model must know what it was asked. A run that takes another up was
// asked nothing itself, and what the run before it was asked counts, which may have taken
// one up as well.
func (l *loaded) findOpening(ctx context.Context) (err error) {
	c := l.conversation
	if c.opening != nil || c.run != l.id && !l.takesUp() {
		return l.findFront(ctx)
	}
	for first := l.record.FirstSeq; l.opening == nil && first > 0; {
		if l.opening, l.openedAt, err = l.readOpening(ctx, first); err == nil && l.opening == nil {
			first, err = l.runBefore(ctx, first)
		}
		if err != nil {
			return err
		}
	}
	after := *c // others read the one that is cached
	after.opening, after.openedAt = l.opening, l.openedAt
	l.conversation = &after
	return l.findFront(ctx)
}

// takesUp reports whether the run has not begun, and goes on with another: no input of
// its own begins it.
func (l *loaded) takesUp() bool { return l.input != nil && len(l.input.Messages) == 0 }

// findFront gives the conversation the message that stands before what the newest turn
// was shown: what its run was asked, which may be an earlier run than this.
func (l *loaded) findFront(ctx context.Context) error {
	c := l.conversation
	if c.window.Opening == 0 || c.front != nil {
		return nil
	}
	after := *c
	if after.front = c.messageAt(c.window.Opening); after.front == nil {
		entries, err := store.ReadLog(ctx, l.store, l.records, l.Key, c.window.Opening, c.window.Opening)
		if err != nil {
			return err
		}
		if after.front = entries[0].Message; after.front == nil {
			return fmt.Errorf("the message at %d that a turn was shown is none: %w", c.window.Opening, store.ErrCorrupt)
		}
	}
	l.conversation = &after
	return nil
}

// readOpening reads the message with which a run begins whose first record is at a
// sequence; nil if it begins with no input, or that is not committed. In a run of one
// window it is never needed, and in a long one it is one read by its sequence. A record
// that was lost, and made anew, does not say where its run begins: 0.
func (l *loaded) readOpening(ctx context.Context, first uint64) (*core.Message, uint64, error) {
	for seq := first; first > 0 && seq <= min(first+1, l.head.Seq); seq++ {
		entries, err := store.ReadLog(ctx, l.store, l.records, l.Key, seq, seq)
		if err != nil {
			return nil, 0, err
		}
		if entries[0].Superseded != nil { // it comes before the input
			continue
		}
		if m := entries[0].Message; m != nil && m.IsInput() {
			return m, seq, nil
		}
		break
	}
	return nil, 0, nil
}

// runBefore returns where the run begins that stands before a sequence; 0: there is none,
// or its record is lost.
func (l *loaded) runBefore(ctx context.Context, seq uint64) (first uint64, err error) {
	if seq <= 1 {
		return 0, nil
	}
	entries, err := store.ReadLog(ctx, l.store, l.records, l.Key, seq-1, seq-1)
	if err != nil {
		return 0, err
	}
	stored, ok, err := l.store.Get(ctx, l.Key, store.RunName(entries[0].Run))
	if err != nil || !ok {
		return 0, err
	}
	record, err := l.records.DecodeRun(stored.Payload)
	if core.CodeOf(err) == core.CodeCorrupt || record.FirstSeq >= seq {
		return 0, nil
	}
	return record.FirstSeq, err
}

// learn reads who the run is, and the thread, as far as they can be read: a run
// that nobody can read any more ends all the same.
func (l *loaded) learn(ctx context.Context) error {
	if l.agent != nil && l.conversation.seq == l.head.Seq {
		return nil // the step itself has come to the end: nothing is newer
	}
	err := l.load(ctx) // what this step knows is older than the head, or nothing
	var end *ended
	if err == nil || errors.As(err, &end) { // the agent is gone
		return nil
	}
	if core.CodeOf(err) != core.CodeCorrupt {
		return err
	}
	l.complain(ctx, "closing run cannot be read", "error", err)
	// Neither is used half: without the conversation no hook can be shown anything.
	l.conversation, l.agent, l.hooks = nil, nil, hooks{}
	return l.identify(ctx)
}

// identify makes a record for a run whose own is lost, from what is left of it:
// its end must have a record under the right name. What only the lost one said
// (steps, usage, when it began) is zero.
func (l *loaded) identify(ctx context.Context) error {
	if l.record.ID == l.id {
		return nil
	}
	l.record = thread.RunRecord{}
	l.record.Run = core.Run{ID: l.id, ThreadID: l.Key.Thread, Status: core.RunRunning, Dispatch: l.head.Run.Dispatch}
	if input, err := l.queued(ctx, l.head.Run.Dispatch, l.head.Run.Revision); err == nil {
		l.record.AgentID, l.record.Origin, l.record.CreatedAt, l.record.Request = input.AgentID, input.Origin, input.CreatedAt, input.Request
		l.record.Frontend = input.Frontend.Stateless()
	} else if core.CodeOf(err) != core.CodeCorrupt {
		return err
	}
	return nil
}

// listens reports whether a plugin wants to know of the run's end.
func (l *loaded) listens() bool { return l.hooks.listens(core.PhaseRunEnd) }

// readRecord reads a record that the head names. The head is written after what it
// names: a record that is not there is damage, and not a race.
func (l *loaded) readRecord(ctx context.Context, what, name string, v any) error {
	record, ok, err := l.store.Get(ctx, l.Key, name)
	if err != nil {
		return fmt.Errorf("read %s: %w", what, err)
	}
	if !ok {
		return fmt.Errorf("%s %s is missing: %w", what, name, store.ErrCorrupt)
	}
	return l.records.Decode(what, record.Payload, v)
}
