package run

import (
	"context"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/thread"
)

// mergeRound applies what the calls ask for that have their result, in call order,
// each on what those before it made of the state, with the hooks after it. It works
// from the results alone: a takeover comes to the same state, whoever ran which
// tool. Of a round that waits it merges what there is; the rest follows when its
// calls have been decided.
//
// It runs when nothing of the round runs any more: the draft and what hooks see are
// this goroutine's alone, and so is the order in which hooks are asked.
func (r *round) mergeRound(ctx context.Context) error {
	for i, c := range r.calls {
		if c.entry == nil || c.merged {
			continue
		}
		if err := r.mergeCall(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// mergeCall takes one call into the draft: what its gates and BeforeToolExecute
// asked for, what its tool did, and what AfterToolExecute makes of the result.
func (r *round) mergeCall(ctx context.Context, i int) error {
	c := r.calls[i]
	if c.merged {
		return nil
	}
	// The stored command was made on the snapshot that the call started from. A key
	// that merges takes it as it is; of one that does not, the later value would undo
	// the sibling's, so that it is made anew on what there is now.
	hooks := c.entry.Hooks
	if r.collides(hooks) && asksAgain(c.entry) {
		again, err := r.hookAgain(ctx, i)
		if err != nil {
			return err
		}
		hooks = &again
	}
	r.mergeResult(ctx, i, hooks)
	if err := r.afterTool(ctx, i); err != nil {
		return err
	}
	r.noteMerged(i)
	return nil
}

// mergeResult takes what a call asked for into the draft. What cannot be applied
// is that call's failure, and nobody else's: its result stands.
func (r *round) mergeResult(ctx context.Context, i int, hooks *state.Command) {
	entry, call := r.calls[i].entry, r.turn.ToolCalls[i]
	if entry.Message.ToolResult.IsError {
		r.draft.totals.Failures++
	}
	r.draft.totals.MeterResult(entry)
	if r.agent == nil { // a close by a program without the agent: what the keys mean is not known here
		return
	}
	// In the order in which they were asked for: the tool knew what its hooks had
	// changed, and may have changed it on. A base of either is the revision that the
	// call went on from. Hooks were asked again where that is gone; a tool is not, and
	// what it asked for is refused.
	now := r.draft.snapshot.Revision()
	for _, command := range []*state.Command{hooks, entry.Intents} {
		if command == nil {
			continue
		}
		asked := *command
		if base := asked.Batch.Base; base != nil && (command == hooks || *base == now) {
			asked.Batch.Base = nil
		}
		applied, err := r.agent.Engine.Submit(r.draft.snapshot, i, asked)
		if err != nil {
			r.complain(ctx, "what a call asked for could not be applied", slices.Concat([]any{"call", call.ID, "tool", call.Name}, failure(err))...)
			continue
		}
		r.apply(applied)
	}
}

// apply takes what came to a call into the draft. Effects are left out: they run
// when the call is done, from its result.
func (r *round) apply(came plugin.PhaseResult) {
	came.Command.Effects = nil
	r.draft.merge(came)
	// What a call changes of its own values cannot collide with a sibling's.
	for _, m := range came.Command.Batch.Mutations {
		if scope, _ := r.agent.Engine.Registry().Scope(m.Key); scope != state.ScopeCall {
			r.other.Mutations = append(r.other.Mutations, m)
		}
	}
}

// noteMerged notes that the draft has all of call i, and shows its result to the hooks
// that follow, at its place.
func (r *round) noteMerged(i int) {
	r.calls[i].merged = true
	r.merged = append(r.merged, i)
	r.showResults()
}

// showResults makes the conversation that hooks see: up to the turn, and the
// results that were merged, in call order. What hooks were shown before is left
// alone: they may have kept it.
func (r *round) showResults() {
	for ; r.shown < len(r.calls) && r.calls[r.shown].merged; r.shown++ { // the usual order
		r.before = r.before.with(*r.calls[r.shown].entry.Message)
	}
	messages := r.before
	for _, c := range r.calls[r.shown:] {
		if c.merged {
			messages = messages.with(*c.entry.Message)
		}
	}
	r.draft.messages = messages
}

// collides reports whether hooks of a call changed what another call of the round
// has changed since, and what does not merge: one of the two would be lost. What was
// for one revision only collides with whatever was merged since. A sequential round
// chains its snapshots, so nothing can collide there. What was merged before a wait is
// not among the others: a call that went on since was asked on a snapshot that has it,
// and the command of one that did not is applied as it is.
func (r *round) collides(hooks *state.Command) bool {
	if hooks == nil || r.mode == agent.Sequential {
		return false
	}
	if base := hooks.Batch.Base; base != nil && *base != r.draft.snapshot.Revision() {
		return true
	}
	_, conflict := r.agent.Engine.Registry().Conflict(hooks.Batch, r.other)
	return conflict
}

// asksAgain reports whether the hooks of a call can be asked again. Of a call that
// came to wait, and got its result from the decision, nobody can tell any more
// whether a gate or its tool had asked, and so whether BeforeToolExecute had run: its
// stored command is applied as it is, over what siblings made of the same key.
func asksAgain(entry *thread.Entry) bool {
	switch entry.Message.ToolResult.Status {
	case core.ResultDenied, core.ResultCancelled:
		return false
	case core.ResultSet:
		return entry.Decision == ""
	}
	return true
}

// hookAgain asks the gates and BeforeToolExecute of a call on what its siblings
// made of the state, for what they change alone: the verdict stands, and so do the
// effects that they asked for first. The tool does not run again, whatever merge its
// keys have: its updates are applied to what is there.
//
// A claim that finds the result of an earlier one does not know the decision that
// the call went on after; the gates are asked without it, and their verdict does not
// count anyway.
func (r *round) hookAgain(ctx context.Context, i int) (state.Command, error) {
	t := r.calls[i].task
	if t == nil { // an earlier claim's, or a gate gave the result
		t = &task{index: i, call: r.turn.ToolCalls[i]}
	}
	t.at = r.calls[i].entry.At // which an earlier claim may have stored
	t.snapshot, t.began, t.hooks = r.draft.snapshot, r.draft.snapshot.Revision(), state.Command{}
	r.share(t)
	if _, err := r.askGates(ctx, t); err != nil {
		return state.Command{}, err
	}
	switch r.calls[i].entry.Message.ToolResult.Status {
	case core.ResultBlocked, core.ResultSet: // the gates ended it
	default:
		if err := r.beforeTool(ctx, t); err != nil {
			return state.Command{}, err
		}
	}
	return t.hooks, nil // mergeResult leaves effects out
}

// afterTool runs AfterToolExecute on a result that the tool, a gate or a decision
// gave, a block included. There is nothing to look at in one that says why there is
// none.
func (r *round) afterTool(ctx context.Context, i int) error {
	if !r.hooked() {
		return nil
	}
	c, call := r.calls[i], r.turn.ToolCalls[i]
	result := c.entry.Message.ToolResult
	switch result.Status {
	case core.ResultNotExecuted, core.ResultUnknown, core.ResultDenied, core.ResultCancelled:
		return nil
	}
	// The hooks see the result among the messages. Merged it is only when they have
	// not failed: statuses would call it done, and their effects would be lost.
	c.merged = true
	r.showResults()
	c.merged = false
	m := r.moment(core.PhaseAfterToolExecute, plugin.Moment{Turn: &r.turn, Call: &call, CallIndex: i, Result: result})
	m.Now = clock(c.entry.Message.CreatedAt)
	after, err := r.agent.Engine.Phase(ctx, r.env, m)
	if err != nil {
		return r.phaseError(ctx, "phase after_tool_execute", call, err)
	}
	if r.head.Run.Calls[i] != thread.CallDone { // else they ran with the write that made it so
		c.effects = after.Command.Effects
	}
	r.apply(after)
	return nil
}

// hooked reports whether results wait for AfterToolExecute.
func (r *round) hooked() bool {
	return r.agent != nil && r.agent.Engine.Listens(core.PhaseAfterToolExecute)
}

// takeResults puts the results into the draft's records, in the order of the log.
// Every call has one.
func (r *round) takeResults() {
	for _, c := range r.calls {
		r.entries = append(r.entries, *c.entry)
	}
}
