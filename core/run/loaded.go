package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/run/checkpoint"
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
	recorded     bool                     // record is stored
	input        *thread.Queued           // the run's own, of a run that has not begun
	opening      checkpoint.Opening       // of the run, when it was read by itself
	starting     *checkpoint.Conversation // the thread as the run found it, in its first step
	conversation *checkpoint.Conversation
}

// load reads what the step needs: the run's record, its agent, and the log's
// tail behind what is cached. Nothing that it reads depends on the agent, so
// that a failed resolution keeps it.
func (l *loaded) load(ctx context.Context) error {
	// A cached conversation is a prefix of the log that the head covers, or it is
	// dropped: what it has is committed, whoever committed it.
	cached := l.reader.Cached(l.Key, &l.head)
	l.env.Reach(env.PointReadLog, env.Before)
	err := l.read(ctx, cached)
	l.env.Reach(env.PointReadLog, env.After)
	if err == nil {
		err = l.account.Recall(ctx, &l.head)
	}
	if err != nil {
		return err
	}
	// Before the step has done anything: one that fails leaves the next what it read.
	l.reader.Keep(l.Key, l.conversation)
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
		engine: l.agent.Engine, env: l.env, log: l.log, failed: &l.failedEffects, acts: l.choices.Acts(),
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
func (l *loaded) read(ctx context.Context, cached *checkpoint.Conversation) error {
	if cached != nil && l.known(cached) { // the usual step of a run that this process has stepped before
		return l.catchUp(ctx, l.reads(), cached)
	}
	if l.head.Seq == 0 { // a new thread has no log and no state: nothing is read beside the input
		l.conversation = checkpoint.Empty(l.head.Incarnation)
		return l.recall(ctx)
	}
	var lost, err error
	at := l.reads()
	group, shared := l.env.Group(ctx)
	group.Go(func(ctx context.Context) (err error) {
		lost = env.Protect(func() error { return l.recall(ctx) })
		if lost != nil || cached != nil || l.head.Seq < l.record.FirstSeq+checkpoint.FirstTail {
			return nil
		}
		// In a long run the window hardly reaches so far back.
		l.opening, err = l.reader.ReadOpening(ctx, at, l.record.FirstSeq)
		return err
	})
	err = l.catchUp(shared, at, cached)
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
func (l *loaded) known(c *checkpoint.Conversation) bool {
	if c.Record.ID != l.id || l.head.Run.Status == thread.Closing && l.head.End(&c.Record) == nil {
		return false
	}
	if l.head.Run.Stretch.Since != 0 && l.books.Meters() {
		if _, known := c.Record.Base(l.head.Run.Stretch); !known { // another step has waited since, and noted what was used until then
			return false
		}
	}
	l.record, l.recorded = c.Record, true
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

// reads is where the reader reads for the step.
func (l *loaded) reads() checkpoint.At {
	return checkpoint.At{Key: l.Key, Head: &l.head, Run: l.id, Step: l.events.Step(), Known: l.conversation}
}

// catchUp takes over the thread as the head says it is, from what is cached; nil: nothing.
// What was known of it stays when that fails.
func (l *loaded) catchUp(ctx context.Context, at checkpoint.At, cached *checkpoint.Conversation) (err error) {
	var c *checkpoint.Conversation
	if cached != nil {
		c, err = l.reader.CatchUp(ctx, at, cached)
	} else {
		c, err = l.reader.Read(ctx, at, l.head.Seq)
	}
	if err == nil {
		l.conversation = c
	}
	return err
}

// findOpening gives the conversation what the run was asked first, when the window
// begins behind it, and the message that stands before what the newest turn was shown: a
// model must know what it was asked.
func (l *loaded) findOpening(ctx context.Context) (err error) {
	at := l.reads()
	if c := l.conversation; c.Opening.Message == nil && (c.Run == l.id || l.takesUp()) {
		if l.opening.Message == nil {
			if l.opening, err = l.reader.FindOpening(ctx, at, l.record.FirstSeq); err != nil {
				return err
			}
		}
		l.conversation = c.WithOpening(l.opening)
	}
	c, err := l.reader.FindFront(ctx, at, l.conversation)
	if err == nil {
		l.conversation = c
	}
	return err
}

// takesUp reports whether the run has not begun, and goes on with another: no input of
// its own begins it.
func (l *loaded) takesUp() bool { return l.input != nil && len(l.input.Messages) == 0 }

// learn reads who the run is, and the thread, as far as they can be read: a run
// that nobody can read any more ends all the same.
func (l *loaded) learn(ctx context.Context) error {
	if l.agent != nil && l.conversation.Seq == l.head.Seq {
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
