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

// base is what a step has read: the run's record, its agent, and what is
// committed of the thread. The conversation is shared with the cache and with
// other steps of this process: it is replaced by commits, never changed.
//
// A step loads once. A close loads again when the head has moved on since, and
// works with what there is when that fails: agent and conversation may be nil then.
type base struct {
	holder       *holder
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
func (b *base) load(ctx context.Context) error {
	// A cached conversation is a prefix of the log that the head covers, or it is
	// dropped: what it has is committed, whoever committed it.
	cached := b.holder.s.reader.Cached(b.holder.Key, &b.holder.head)
	b.holder.env.Reach(env.PointReadLog, env.Before)
	err := b.read(ctx, cached)
	b.holder.env.Reach(env.PointReadLog, env.After)
	if err == nil {
		err = b.holder.account.Recall(ctx, &b.holder.head)
	}
	if err != nil {
		return err
	}
	// Before the step has done anything: one that fails leaves the next what it read.
	b.holder.s.reader.Keep(b.holder.Key, b.conversation)
	return b.resolve(ctx)
}

// resolve finds the agent that the run is pinned to: the one that it began with. A run
// that begins is pinned by its first commit. A failure of the store, and content that
// only a newer program can read, are left to another try. What this build lacks is left
// to another build, for a time; after it an agent that is gone ends the run, and one of
// which tools are gone goes on without them.
func (b *base) resolve(ctx context.Context) error {
	found, err := b.holder.s.agents.Resolve(ctx, b.record.AgentID, b.record.Resolution)
	if err != nil {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, agent.ErrStore), core.CodeOf(err) == core.CodeSchema:
			return err
		}
		end := endWith("resolution", err)
		if core.CodeOf(err) == core.CodeNotFound && b.holder.leaves() {
			return &lacking{end}
		}
		return end
	}
	if len(found.Gone) > 0 {
		if err := b.holder.goWithout(core.Errorf(core.CodeNotFound, "tool %q of agent %q is no part of this build", found.Gone[0], b.record.AgentID)); err != nil {
			return err
		}
	}
	b.agent, b.model = found.WithFrontend(b.record.Frontend), found.ModelOf(b.holder.Key, b.holder.id)
	if b.record.Resolution == "" {
		b.record.Resolution = found.Hash()
	}
	b.hooks = hooks{
		engine: b.agent.Engine, env: b.holder.env, log: b.holder.log, failed: &b.holder.s.failedEffects, acts: b.holder.s.choices.Acts(),
		about: plugin.Context{Thread: b.holder.Key, User: b.holder.head.Owner, Run: b.holder.id, Request: b.record.Request, Profiles: b.holder.profiles},
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
func (b *base) read(ctx context.Context, cached *checkpoint.Conversation) error {
	if cached != nil && b.known(cached) { // the usual step of a run that this process has stepped before
		return b.catchUp(ctx, b.reads(), cached)
	}
	if b.holder.head.Seq == 0 { // a new thread has no log and no state: nothing is read beside the input
		b.conversation = checkpoint.Empty(b.holder.head.Incarnation)
		return b.recall(ctx)
	}
	var lost, err error
	at := b.reads()
	group, shared := b.holder.env.Group(ctx)
	group.Go(func(ctx context.Context) (err error) {
		lost = env.Protect(func() error { return b.recall(ctx) })
		if lost != nil || cached != nil || b.holder.head.Seq < b.record.FirstSeq+checkpoint.FirstTail {
			return nil
		}
		// In a long run the window hardly reaches so far back.
		b.opening, err = b.holder.s.reader.ReadOpening(ctx, at, b.record.FirstSeq)
		return err
	})
	err = b.catchUp(shared, at, cached)
	err = errors.Join(group.Wait(), err)
	if lost != nil && (err == nil || core.CodeOf(err) == core.CodeCorrupt) {
		err = lost
	}
	if err != nil {
		return err
	}
	return b.findOpening(ctx)
}

// known reports whether the conversation has the run's record, with the ending
// that goes with the head: another process may have begun to close the run. Where
// somebody meters it may have waited with it, too, and then the record says where the
// open stretch began.
func (b *base) known(c *checkpoint.Conversation) bool {
	if c.Record.ID != b.holder.id || b.holder.head.Run.Status == thread.Closing && b.holder.head.End(&c.Record) == nil {
		return false
	}
	if b.holder.head.Run.Stretch.Since != 0 && b.holder.s.books.Meters() {
		if _, known := c.Record.Base(b.holder.head.Run.Stretch); !known { // another step has waited since, and noted what was used until then
			return false
		}
	}
	b.record, b.recorded = c.Record, true
	return true
}

// recall reads the run's record, which its first commit stores, and before that
// its input. A record that stands there before the first commit is an orphan of
// a refused one and is not looked at, except in a closing run, which may have
// stored it with the write that began to close.
func (b *base) recall(ctx context.Context) error {
	// FirstSeq and StartedAt are made with the first commit, so that before it every
	// claim makes the record anew.
	if b.holder.head.Run.Cursor != thread.CursorStart || b.holder.head.Run.Status == thread.Closing {
		stored, ok, err := b.holder.store.Get(ctx, b.holder.Key, store.RunName(b.holder.id))
		if err != nil {
			return fmt.Errorf("read run record: %w", err)
		}
		if ok {
			b.record, err = b.holder.records.DecodeRun(stored.Payload)
			b.recorded = err == nil
			return err
		}
		if b.holder.head.Run.Cursor != thread.CursorStart {
			return fmt.Errorf("run record is missing: %w", store.ErrCorrupt)
		}
	}
	input, err := b.queued(ctx, b.holder.head.Run.Dispatch, b.holder.head.Run.Revision)
	if err != nil {
		return err
	}
	b.record.Run = core.Run{
		ID: b.holder.id, ThreadID: b.holder.Key.Thread, AgentID: input.AgentID, Origin: input.Origin, Status: core.RunRunning,
		Dispatch: b.holder.head.Run.Dispatch, FirstSeq: b.holder.head.Seq + 1, CreatedAt: input.CreatedAt, StartedAt: b.holder.stepBegan,
	}
	b.record.Request, b.record.Frontend, b.record.Parent, b.record.Resolution = input.Request, input.Frontend.Stateless(), input.Parent, input.Resolution
	b.input = &input
	return nil
}

// reads is where the reader reads for the step.
func (b *base) reads() checkpoint.At {
	return checkpoint.At{Key: b.holder.Key, Head: &b.holder.head, Run: b.holder.id, Step: b.holder.events.Step(), Known: b.conversation}
}

// catchUp takes over the thread as the head says it is, from what is cached; nil: nothing.
// What was known of it stays when that fails.
func (b *base) catchUp(ctx context.Context, at checkpoint.At, cached *checkpoint.Conversation) (err error) {
	var c *checkpoint.Conversation
	if cached != nil {
		c, err = b.holder.s.reader.CatchUp(ctx, at, cached)
	} else {
		c, err = b.holder.s.reader.Read(ctx, at, b.holder.head.Seq)
	}
	if err == nil {
		b.conversation = c
	}
	return err
}

// findOpening gives the conversation what the run was asked first, when the window
// begins behind it, and the message that stands before what the newest turn was shown: a
// model must know what it was asked.
func (b *base) findOpening(ctx context.Context) (err error) {
	at := b.reads()
	if c := b.conversation; c.Opening.Message == nil && (c.Run == b.holder.id || b.takesUp()) {
		if b.opening.Message == nil {
			if b.opening, err = b.holder.s.reader.FindOpening(ctx, at, b.record.FirstSeq); err != nil {
				return err
			}
		}
		b.conversation = c.WithOpening(b.opening)
	}
	c, err := b.holder.s.reader.FindFront(ctx, at, b.conversation)
	if err == nil {
		b.conversation = c
	}
	return err
}

// takesUp reports whether the run has not begun, and goes on with another: no input of
// its own begins it.
func (b *base) takesUp() bool { return b.input != nil && len(b.input.Messages) == 0 }

// learn reads who the run is, and the thread, as far as they can be read: a run
// that nobody can read any more ends all the same.
func (b *base) learn(ctx context.Context) error {
	if b.agent != nil && b.conversation.Seq == b.holder.head.Seq {
		return nil // the step itself has come to the end: nothing is newer
	}
	err := b.load(ctx) // what this step knows is older than the head, or nothing
	var end *ended
	if err == nil || errors.As(err, &end) { // the agent is gone
		return nil
	}
	if core.CodeOf(err) != core.CodeCorrupt {
		return err
	}
	b.holder.complain(ctx, "closing run cannot be read", "error", err)
	// Neither is used half: without the conversation no hook can be shown anything.
	b.conversation, b.agent, b.hooks = nil, nil, hooks{}
	return b.identify(ctx)
}

// identify makes a record for a run whose own is lost, from what is left of it:
// its end must have a record under the right name. What only the lost one said
// (steps, usage, when it began) is zero.
func (b *base) identify(ctx context.Context) error {
	if b.record.ID == b.holder.id {
		return nil
	}
	b.record = thread.RunRecord{}
	b.record.Run = core.Run{ID: b.holder.id, ThreadID: b.holder.Key.Thread, Status: core.RunRunning, Dispatch: b.holder.head.Run.Dispatch}
	if input, err := b.queued(ctx, b.holder.head.Run.Dispatch, b.holder.head.Run.Revision); err == nil {
		b.record.AgentID, b.record.Origin, b.record.CreatedAt, b.record.Request = input.AgentID, input.Origin, input.CreatedAt, input.Request
		b.record.Frontend, b.record.Parent = input.Frontend.Stateless(), input.Parent
	} else if core.CodeOf(err) != core.CodeCorrupt {
		return err
	}
	return nil
}

// listens reports whether a plugin wants to know of the run's end.
func (b *base) listens() bool { return b.hooks.listens(core.PhaseRunEnd) }

// readRecord reads a record that the head names. The head is written after what it
// names: a record that is not there is damage, and not a race.
func (b *base) readRecord(ctx context.Context, what, name string, v any) error {
	record, ok, err := b.holder.store.Get(ctx, b.holder.Key, name)
	if err != nil {
		return fmt.Errorf("read %s: %w", what, err)
	}
	if !ok {
		return fmt.Errorf("%s %s is missing: %w", what, name, store.ErrCorrupt)
	}
	return b.holder.records.Decode(what, record.Payload, v)
}

// judged reports whether the run has policies besides max_rounds.
func (b *base) judged() bool { return len(b.agent.Stops)+len(b.holder.s.stops) > 0 }
