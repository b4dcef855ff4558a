package run

import (
	"context"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/thread"
)

// mergeRound takes into the draft what the calls ask for that have their result, with the
// hooks after it. It works from the results alone: a takeover comes to the same state,
// whoever ran which tool. Of a round that waits it merges what there is; the rest
// follows when its calls have been decided.
//
// It runs when nothing of the round runs any more: the draft and what hooks see are
// this goroutine's alone, and so is the order in which hooks are asked.
func (r *round) mergeRound(ctx context.Context) error {
	if r.lined() {
		r.mergeLine()
	}
	for i := range r.calls {
		if c := &r.calls[i]; c.stage != concluded || c.merged() {
			continue
		}
		if err := r.mergeCall(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// mergeCall takes one call into the draft: what its gates and BeforeToolExecute
// asked for, what its tool did, and what AfterToolExecute makes of the result. In a
// parallel round the line has the first two.
func (r *round) mergeCall(ctx context.Context, i int) error {
	if r.calls[i].merged() {
		return nil
	}
	r.mergeResult(ctx, i)
	if err := r.afterTool(ctx, i); err != nil {
		return err
	}
	r.noteMerged(i)
	return nil
}

// mergeResult takes what a call came to into the draft, and in a sequential round what it
// asked for, in the order in which it was: the tool knew what its hooks had changed, and
// may have changed it on. It was tried on this very state, but for a close, where
// AfterToolExecute of the calls before it has not run: what does not apply then is left out.
func (r *round) mergeResult(ctx context.Context, i int) {
	entry := r.calls[i].result.entry
	if entry.Message.ToolResult.IsError {
		r.draft.totals.Failures++
	}
	r.draft.totals.MeterResult(entry)
	if r.base.agent == nil || r.lined() { // a close by a program without the agent: what the keys mean is not known here
		return
	}
	now := r.draft.snapshot.Revision()
	for _, command := range []*state.Command{entry.Hooks, entry.Intents} {
		if command == nil {
			continue
		}
		asked := *command
		if base := asked.Batch.Base; base != nil && (command == entry.Hooks || *base == now) {
			asked.Batch.Base = nil // what its own hooks changed is in no tool's way
		}
		applied, err := r.base.hooks.engine.Submit(r.draft.snapshot, i, asked)
		if err != nil {
			r.complainOf(ctx, i, err)
			continue
		}
		r.apply(applied)
	}
}

// complainOf says that what a stored result asks for could not be applied.
func (r *round) complainOf(ctx context.Context, i int, err error) {
	call := r.turn.ToolCalls[i]
	r.holder.complain(ctx, "what a call asked for could not be applied", slices.Concat([]any{"call", call.ID, "tool", call.Name}, failure(err))...)
}

// apply takes what came to a call into the draft. Effects are left out: they run
// when the call is done, from its result.
func (r *round) apply(came plugin.PhaseResult) {
	came.Command.Effects = nil
	r.draft.merge(came)
}

// noteMerged notes that the draft has all of call i, and shows its result to the hooks
// that follow, at its place.
func (r *round) noteMerged(i int) {
	r.merged++
	r.calls[i].result.merged = r.merged
	r.showResults(i)
}

// showResults makes the conversation that hooks see: up to the turn, and the
// results that were merged, and that of call i, in call order; -1: of no other. What hooks
// were shown before stays as it was: they may have kept it.
func (r *round) showResults(i int) {
	for ; r.shown < len(r.calls) && (r.calls[r.shown].merged() || r.shown == i); r.shown++ { // the usual order
		r.before = r.before.With(*r.calls[r.shown].result.entry.Message)
	}
	messages := r.before
	for n := r.shown; n < len(r.calls); n++ {
		if c := &r.calls[n]; c.merged() || n == i {
			messages = messages.With(*c.result.entry.Message)
		}
	}
	r.draft.messages = messages
}

// afterTool runs AfterToolExecute on a result that the tool, a gate or a decision
// gave, a block included. There is nothing to look at in one that says why there is
// none.
func (r *round) afterTool(ctx context.Context, i int) error {
	if !r.hooked() {
		return nil
	}
	c, call := &r.calls[i], r.turn.ToolCalls[i]
	said := c.result.entry.Message
	switch said.ToolResult.Status {
	case core.ResultNotExecuted, core.ResultUnknown, core.ResultDenied, core.ResultCancelled:
		return nil
	}
	// The hooks see the result among the messages. Merged it is only when they have
	// not failed: statuses would call it done, and their effects would be lost.
	r.showResults(i)
	v := r.draft.view()
	v.at = said.CreatedAt
	after, err := r.base.hooks.phase(ctx, core.PhaseAfterToolExecute, v, plugin.Moment{Turn: &r.turn, Call: &call, CallIndex: i, Result: said.ToolResult})
	if err != nil {
		return err
	}
	if r.holder.head.Run.Calls[i] != thread.CallDone { // else they ran with the write that made it so
		c.result.effects = after.Command.Effects
	}
	r.apply(after)
	return nil
}

// hooked reports whether results wait for AfterToolExecute.
func (r *round) hooked() bool { return r.base.hooks.listens(core.PhaseAfterToolExecute) }

// takeResults puts the results into the draft's records, in the order of the log.
// Every call has one.
func (r *round) takeResults() {
	for i := range r.calls {
		r.draft.entries = append(r.draft.entries, *r.calls[i].result.entry)
	}
}
