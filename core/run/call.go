package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
	"github.com/reveille-run/reveille/core/tool"
)

// execute runs one call between its phases and stores its result at once.
func (r *round) execute(ctx context.Context, i int) error {
	w := r.work
	call := r.turn.ToolCalls[i]
	before, err := w.agent.Engine.Phase(ctx, w.env, w.context(plugin.Context{Phase: core.PhaseBeforeToolExecute, Turn: &r.turn, Call: &call}))
	if err != nil {
		return r.phaseError(ctx, "phase before_tool_execute", call, err)
	}
	w.env.Reach(env.PointTool, env.Before)
	result, err := tool.Execute(ctx, checked{w.agent.Tools[call.Name]}, r.call(i, before.Snapshot))
	w.env.Reach(env.PointTool, env.After)
	switch {
	case ctx.Err() != nil && (err != nil || errors.Is(context.Cause(ctx), thread.ErrFenced)):
		return context.Cause(ctx) // its outcome was cut short: another claim decides
	case err != nil:
		return endWith("tool", fmt.Errorf("tool %s: %w", call.Name, err))
	case ctx.Err() != nil: // it came to its end all the same: that is not thrown away
		free, cancel := detached(ctx)
		defer cancel()
		ctx = free
	}
	if result.Err != nil {
		w.log.WarnContext(ctx, "tool call failed", "tenant", w.key.Tenant, "thread", w.key.Thread, "run", w.record.ID, "call", call.ID, "tool", call.Name, "error", result.Err)
	}
	return r.conclude(ctx, i, result, before.Snapshot, before.Command)
}

// call is what the tool of call i is given.
func (r *round) call(i int, snapshot state.Snapshot) tool.Call {
	w, call := r.work, r.turn.ToolCalls[i]
	return tool.Call{
		ID: call.ID, Name: call.Name, Arguments: call.Arguments, Key: r.key(i),
		Thread: w.key, Run: w.record.ID, Step: w.events.step, Snapshot: snapshot,
	}
}

func (r *round) phaseError(ctx context.Context, where string, call core.ToolCall, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return endWith("plugin", fmt.Errorf("%s of call %s: %w", where, call.ID, err))
}

// key is the call's idempotency key; the provider's call ids can repeat.
func (r *round) key(i int) string {
	return fmt.Sprintf("%s/%d/%d", r.work.record.ID, r.work.head.Run.Base-1, i)
}

// conclude runs AfterToolExecute and stores the result with every command that
// came with the call.
func (r *round) conclude(ctx context.Context, i int, result tool.Result, snapshot state.Snapshot, command state.Command) error {
	w := r.work
	call := r.turn.ToolCalls[i]
	after, answered, err := w.agent.Engine.Submit(snapshot, result.Command)
	if err != nil { // the tool asks for what nobody knows
		after, answered, result = snapshot, state.Command{}, tool.Failed("execution failed: "+err.Error())
	}
	result.CallID, result.Name = call.ID, call.Name
	command.Append(answered)
	c := w.context(plugin.Context{Phase: core.PhaseAfterToolExecute, Turn: &r.turn, Call: &call, Result: &result.ToolResult})
	c.Snapshot = after
	last, err := w.agent.Engine.Phase(ctx, w.env, c)
	if err != nil {
		return r.phaseError(ctx, "phase after_tool_execute", call, err)
	}
	command.Append(last.Command)
	result.Command = command
	return r.answer(ctx, i, result)
}

// answer stores the result of call i at its reserved sequence.
func (r *round) answer(ctx context.Context, i int, result tool.Result) error {
	err := r.store(ctx, i, result)
	if errors.Is(err, store.ErrTooLarge) {
		return r.store(ctx, i, tool.Failed("result too large to store: "+err.Error()))
	}
	return err
}

func (r *round) store(ctx context.Context, i int, result tool.Result) error {
	w := r.work
	call := r.turn.ToolCalls[i]
	result.CallID, result.Name = call.ID, call.Name
	entry := thread.Entry{Run: w.record.ID, Step: w.events.step, Message: &core.Message{
		ID: resultID(w.record.ID, w.events.step, i), Role: core.RoleTool, ToolResult: &result.ToolResult,
		RunID: w.record.ID, Step: w.events.step, CreatedAt: w.env.Millis(),
	}}
	if !result.Command.IsZero() {
		entry.Command = &result.Command
	}
	payload, err := entry.Encode()
	if err != nil {
		return err
	}
	record := store.Record{Name: store.LogName(w.head.Run.Base + uint64(i)), Fence: w.fence, Payload: payload}
	if err := w.put(ctx, env.PointPutResult, record); err != nil {
		return err
	}
	r.keep(i, entry)
	return nil
}

// answerOpen answers every call that has no result without running it.
func (r *round) answerOpen(ctx context.Context, reason string) error {
	for i := range r.entries {
		if r.entries[i] == nil {
			if err := r.answer(ctx, i, tool.Failed(reason)); err != nil {
				return err
			}
		}
	}
	return nil
}

// refuse answers a call that no gate is asked about: its tool does not exist or
// its arguments are invalid.
func (r *round) refuse(ctx context.Context, i int) (refused bool, err error) {
	w, call := r.work, r.turn.ToolCalls[i]
	var result tool.Result
	if t, ok := w.agent.Tools[call.Name]; !ok {
		result = tool.Failed(fmt.Sprintf("tool %q not found", call.Name))
	} else {
		if len(call.Arguments) <= tool.MaxArguments && env.Protect(func() error { return t.Check(call.Arguments) }) == nil {
			return false, nil
		}
		// Execute says what is wrong with them, and does not run the tool.
		if result, err = tool.Execute(ctx, t, r.call(i, w.conversation.snapshot)); err != nil {
			return true, err
		}
	}
	if r.entries[i] != nil {
		return true, nil
	}
	return true, r.conclude(ctx, i, result, w.conversation.snapshot, state.Command{})
}

// checked is a tool whose arguments were found valid.
type checked struct{ tool.Tool }

// Check implements tool.Tool.
func (checked) Check(json.RawMessage) error { return nil }
