package run

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/thread"
)

// mergeRound applies what the calls ask for, in call order, each on what those
// before it made of the state, with the hooks after it. It begins when every call
// has its result, adopted or new, and works from the results alone: a takeover
// comes to the same state, whoever ran which tool.
func (p *step) mergeRound(ctx context.Context) error {
	for i, entry := range p.round.entries {
		p.mergeResult(ctx, i, *entry)
		if err := p.afterTool(ctx, i, entry.Message.ToolResult); err != nil {
			return err
		}
	}
	return nil
}

// mergeResult takes one result into the draft. Intents that cannot be applied are
// that call's failure, and nobody else's: its result stands.
func (p *step) mergeResult(ctx context.Context, i int, entry thread.Entry) {
	d, call := &p.draft, p.round.turn.ToolCalls[i]
	d.add(entry)
	if entry.Message.ToolResult.IsError {
		d.totals.Failures++
	}
	if entry.Intents == nil || p.agent == nil {
		return
	}
	applied, err := p.agent.Engine.Submit(d.snapshot, i, *entry.Intents)
	if err != nil {
		p.log.ErrorContext(ctx, "what a call asked for could not be applied", append(p.attrs(), "call", call.ID, "tool", call.Name, "error", err)...)
		return
	}
	applied.Command.Effects = nil // they run when the call is done, from the result
	d.merge(applied)
}

// afterTool runs AfterToolExecute on a result, if the tool or a gate gave it.
func (p *step) afterTool(ctx context.Context, i int, result *core.ToolResult) error {
	d, call := &p.draft, p.round.turn.ToolCalls[i]
	if result.Status == core.ResultNotExecuted || result.Status == core.ResultUnknown || result.Status == core.ResultBlocked {
		p.round.hooked[i] = true
		return nil
	}
	after, err := p.agent.Engine.Phase(ctx, p.env, p.context(plugin.Context{
		Phase: core.PhaseAfterToolExecute, Turn: &p.round.turn, Call: &call, CallIndex: i, Result: result,
	}))
	if err != nil {
		return p.phaseError(ctx, "phase after_tool_execute", call, err)
	}
	if p.head.Run.Calls[i] != thread.CallDone {
		p.round.hooks[i] = after.Command.Effects
	}
	p.round.hooked[i] = true
	after.Command.Effects = nil
	d.merge(after)
	return nil
}

func (p *step) phaseError(ctx context.Context, where string, call core.ToolCall, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return endWith("plugin", fmt.Errorf("%s of call %s: %w", where, call.ID, err))
}

// hooked reports whether results wait for AfterToolExecute.
func (p *step) hooked() bool {
	return p.agent != nil && p.agent.Engine.Listens(core.PhaseAfterToolExecute)
}
