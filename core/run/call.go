package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
	"github.com/reveille-run/reveille/core/tool"
)

// execute runs one call behind its first phase and keeps its result. It runs
// beside the other calls of its round: nothing here may touch the step's draft,
// which the calls are merged into one after the other when all have ended. So
// BeforeToolExecute sees the state as it was when the round began, and what it
// changes goes with the call's own intents.
//
// The tool may have acted when it returns, so from then on the result is worth
// more than the time that is left: it is kept even when the context is over,
// unless the claim is, when another worker decides about the call.
func (p *step) execute(ctx context.Context, i int) error {
	call := p.round.turn.ToolCalls[i]
	before, err := p.agent.Engine.Phase(ctx, p.env, p.context(plugin.Context{
		Phase: core.PhaseBeforeToolExecute, Turn: &p.round.turn, Call: &call, CallIndex: i,
	}))
	if err != nil {
		return p.phaseError(ctx, "phase before_tool_execute", call, err)
	}
	p.env.Reach(env.PointTool, env.Before)
	result, err := p.runTool(ctx, i, checked{p.agent.Tools[call.Name]}, p.call(i, before.Snapshot))
	p.env.Reach(env.PointTool, env.After)
	switch {
	case ctx.Err() != nil && (err != nil || errors.Is(context.Cause(ctx), thread.ErrFenced)):
		return context.Cause(ctx) // its outcome was cut short: another claim decides
	case tool.IsFatal(err):
		return endWith("tool", fmt.Errorf("tool %s: %w", call.Name, err))
	case err != nil:
		return err
	case ctx.Err() != nil: // it came to its end all the same: that is not thrown away
		free, cancel := p.detached(ctx)
		defer cancel()
		ctx = free
	}
	if result.Err != nil {
		p.log.WarnContext(ctx, "tool call failed", slices.Concat(p.attrs(), []any{"call", call.ID, "tool", call.Name}, failure(result.Err))...)
	}
	intents := before.Command
	intents.Append(result.Command)
	// A command that cannot be stored is found here, where it costs the call its
	// intents. Found at the merge, or by the encoder, it would cost the run, or
	// run the tool again with every try.
	if err := p.agent.Engine.Check(result.Command); err != nil { // it asks for what nobody handles, or what cannot be stored
		result, intents = tool.Failed("execution failed: "+err.Error()), before.Command
	}
	result.Command = intents
	return p.answer(ctx, i, result, result.Status)
}

// call is what the tool of call i is given.
func (p *step) call(i int, snapshot state.Snapshot) tool.Call {
	call := p.round.turn.ToolCalls[i]
	return tool.Call{
		ID: call.ID, Name: call.Name, Arguments: call.Arguments, Key: p.key(i),
		Thread: p.Key, Run: p.id, Step: p.events.step, Snapshot: snapshot.ForCall(i),
	}
}

// key is the call's idempotency key: run, sequence of the turn, index. Provider
// call ids can be missing or repeat within a thread; a sequence holds one turn
// for good, whichever claim runs its calls.
func (p *step) key(i int) string {
	return fmt.Sprintf("%s/%d/%d", p.id, p.round.base-1, i)
}

// largeResult is the size in bytes from which even the last result of a round
// is stored alone: what the store refuses for its size becomes an error result
// then, and not the commit's failure.
const largeResult = 64 << 10

// answer keeps the result of call i. It is stored at its reserved sequence at
// once when something may still run or wait after it: a sibling or a hook, whose
// time a crash would make the tool pay for with a second execution. The last one
// travels with commit B, which follows at once: a write less for each round.
//
// A result that the store or the encoder will never take becomes an error result
// here, once: the model reads why, and the tool does not run again.
func (p *step) answer(ctx context.Context, i int, result tool.Result, status core.ResultStatus) error {
	result.Status = status
	err := p.keep(ctx, i, result)
	var ended *ended
	if errors.Is(err, store.ErrTooLarge) || errors.As(err, &ended) {
		return p.keep(ctx, i, tool.Failed("result cannot be stored: "+err.Error()))
	}
	return err
}

func (p *step) keep(ctx context.Context, i int, result tool.Result) error {
	entry := p.resultEntry(i, result)
	payload, err := p.records.EncodeEntry(entry)
	if err != nil {
		return endWith("encoding", err)
	}
	alone := p.round.keep(i, entry, payload)
	if !alone && len(payload) < largeResult && !p.agent.Engine.Listens(core.PhaseAfterToolExecute) && !p.agent.Engine.Listens(core.PhaseStepEnd) {
		return nil
	}
	return p.storeResult(ctx, i)
}

// resultEntry is the log record of the result of call i. Its message id derives
// from the place, so that a result is recognised when it is adopted.
func (p *step) resultEntry(i int, result tool.Result) thread.Entry {
	call := p.round.turn.ToolCalls[i]
	result.CallID, result.Name = call.ID, call.Name
	entry := thread.Entry{Run: p.id, Step: p.events.step, Message: &core.Message{
		ID: resultID(p.id, p.events.step, i), Role: core.RoleTool, ToolResult: &result.ToolResult,
		RunID: p.id, Step: p.events.step, CreatedAt: p.env.Millis(),
	}}
	if !result.Command.IsZero() {
		entry.Intents = &result.Command
	}
	return entry
}

// storeResult puts the result of call i alone. The fence is read here and not
// when the result was made: the step may have taken the next one meanwhile.
func (p *step) storeResult(ctx context.Context, i int) error {
	p.round.mu.Lock()
	record := p.round.record(i)
	p.round.mu.Unlock()
	record.Fence = p.fence
	if err := p.put(ctx, record); err != nil {
		return err
	}
	p.round.mu.Lock()
	p.round.fresh[i] = true
	p.round.mu.Unlock()
	p.round.tell(i, &p.events)
	return nil
}

// storeResults puts what a refused or abandoned commit B would have carried, so
// that no other claim runs those calls again. It is asked before everything that
// leaves the round behind: a nack, a failure, a close. The refused commit may
// have stored the result under this very fence; equal bytes are a success then,
// and other bytes (of a commit before it) want the next fence.
func (p *step) storeResults(ctx context.Context) error {
	if p.round == nil {
		return nil
	}
	p.round.mu.Lock()
	var left []int
	for i := range p.round.entries {
		if p.round.entries[i] != nil && !p.round.stored[i] {
			left = append(left, i)
		}
	}
	p.round.mu.Unlock()
	for _, i := range left {
		err := p.storeResult(ctx, i)
		if errors.Is(err, store.ErrConflict) { // other bytes of our own stand there
			if err = p.refence(ctx, p.head); err == nil {
				err = p.storeResult(ctx, i)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// answerOpen is for a round that is not to run at all: it gives every call
// that has no result one that says why.
func (p *step) answerOpen(ctx context.Context, status core.ResultStatus, reason string) error {
	for i := range p.round.entries {
		if p.round.entries[i] == nil {
			if err := p.answer(ctx, i, tool.Failed(reason), status); err != nil {
				return err
			}
		}
	}
	return nil
}

// refusal is the result of a call that no gate is asked about: its tool does not
// exist or its arguments are invalid. A person would otherwise be asked to approve
// what cannot run. It is nil for every other call.
func (p *step) refusal(ctx context.Context, i int) (*tool.Result, error) {
	call := p.round.turn.ToolCalls[i]
	t, ok := p.agent.Tools[call.Name]
	if !ok {
		result := tool.Failed(fmt.Sprintf("tool %q not found", call.Name))
		return &result, nil
	}
	if len(call.Arguments) <= tool.MaxArguments && env.Protect(func() error { return t.Check(call.Arguments) }) == nil {
		return nil, nil
	}
	// Execute says what is wrong with them, and does not run the tool.
	result, err := tool.Execute(ctx, t, p.call(i, p.draft.snapshot))
	return &result, err
}

// checked is a tool whose arguments were found valid.
type checked struct{ tool.Tool }

// Check implements tool.Tool.
func (checked) Check(json.RawMessage) error { return nil }
