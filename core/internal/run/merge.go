package run

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/internal/run/checkpoint"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/state"
)

// merger takes into the draft the outcome of the calls of the round, one after the
// other, and shows their results to the hooks that follow. It works from the
// results alone: a takeover reaches the same state, whichever worker ran the tools.
//
// It works when nothing of the round runs any more, or between two calls of a
// sequential round: the draft and the view of the hooks are this goroutine's alone,
// and so is the order of the hooks.
type merger struct {
	round  *round
	turn   int                           // place of the turn in before
	before checkpoint.List[core.Message] // the conversation up to the turn: results are shown after it, in order
	shown  int                           // the number of results that are there already
	count  int                           // so many calls are in the draft's state
	waited uint64                        // fence of the claim with which the round waited last; 0: it did not
}

// begin starts from the committed conversation, whose last message is the turn.
func (m *merger) begin() {
	m.before = m.round.draft.messages
	m.turn = m.before.Len() - 1
}

// earlier is the conversation before the turn, which is in it.
func (m *merger) earlier() []core.Message { return m.before.First(m.turn).Slice() }

// mergeAll takes in the calls that have their result, with the hooks after each. If
// the round waits, it merges the existing results; the rest follows when its calls
// have been decided.
func (m *merger) mergeAll(ctx context.Context) error {
	calls := m.round.calls
	for i := range calls {
		if c := &calls[i]; c.stage != concluded || c.merged() {
			continue
		}
		if err := m.mergeCall(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// mergeCall takes one call into the draft: what its gates and BeforeToolExecute
// asked for, what its tool did, and what AfterToolExecute makes of the result. In a
// parallel round the line has the first two.
func (m *merger) mergeCall(ctx context.Context, i int) error {
	if m.round.calls[i].merged() {
		return nil
	}
	m.mergeResult(ctx, i)
	if err := m.afterTool(ctx, i); err != nil {
		return err
	}
	m.noteMerged(i)
	return nil
}

// mergeResult takes the outcome of a call into the draft, and in a sequential round
// its requests, in their order: the tool knew the changes of its hooks, and may
// have changed the values again. They were tried on this very state, except in a
// close, where AfterToolExecute of the calls before it has not run: a request that
// does not apply then is omitted.
func (m *merger) mergeResult(ctx context.Context, i int) {
	r := m.round
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
		m.apply(applied)
	}
}

// apply takes the outcome of a phase into the draft. Effects are omitted: they run
// when the call is done, from its result.
func (m *merger) apply(came engine.PhaseResult) {
	came.Command.Effects = nil
	m.round.draft.merge(came)
}

// noteMerged notes that the draft has all of call i, and shows its result to the hooks
// that follow, at its place.
func (m *merger) noteMerged(i int) {
	m.count++
	m.round.calls[i].result.merged = m.count
	m.showResults(i)
}

// showResults makes the conversation that hooks see: up to the turn, and the
// results that were merged, and that of call i, in call order; -1: of no other. The
// slice that hooks received before does not change: they may have kept it.
func (m *merger) showResults(i int) {
	calls := m.round.calls
	// The result of a call that was merged before a wait may be lost: the round is
	// damaged then.
	shows := func(n int) bool { return n == i || calls[n].merged() && calls[n].stage == concluded }
	for ; m.shown < len(calls) && shows(m.shown); m.shown++ { // the usual order
		m.before = m.before.With(*calls[m.shown].result.entry.Message)
	}
	messages := m.before
	for n := m.shown; n < len(calls); n++ {
		if shows(n) {
			messages = messages.With(*calls[n].result.entry.Message)
		}
	}
	m.round.draft.messages = messages
}

// afterTool runs AfterToolExecute on a result that the tool, a gate or a decision
// gave, a block included. It skips a result that only gives the reason why the call
// has none.
func (m *merger) afterTool(ctx context.Context, i int) error {
	r := m.round
	if !r.hooked() {
		return nil
	}
	c, call := &r.calls[i], r.calledWith(i)
	said := c.result.entry.Message
	switch said.ToolResult.Status {
	case core.ResultNotExecuted, core.ResultUnknown, core.ResultDenied, core.ResultCancelled:
		return nil
	}
	// The hooks see the result among the messages. Merged it is only when they have
	// not failed: statuses would call it done, and their effects would be lost.
	m.showResults(i)
	v := r.draft.view()
	v.at = said.CreatedAt
	after, err := r.base.hooks.phase(ctx, core.PhaseAfterToolExecute, v, engine.Moment{Turn: &r.turn, Call: &call, CallIndex: i, Result: said.ToolResult})
	if err != nil {
		return err
	}
	if r.holder.head.Run.Calls[i] != thread.CallDone { // else they ran with the write that made it so
		c.result.effects = after.Command.Effects
	}
	m.apply(after)
	return nil
}
