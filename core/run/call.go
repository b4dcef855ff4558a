package run

import (
	"context"
	"errors"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
	"github.com/reveille-run/reveille/core/tool"
)

// answer is what a call comes to, from whichever side.
type answer struct {
	result   tool.Result
	hooks    state.Command // what gates and BeforeToolExecute asked for
	decision string        // id of the decision that it follows
	blocked  string        // why a gate ended the run over it
}

// synthetic is a result that no tool gave.
func synthetic(status core.ResultStatus, message string) tool.Result {
	result := tool.Failed(message)
	result.Status = status
	return result
}

// toolReturned takes what a call's tool has returned: its result, or that it
// waits for a decision.
func (p *step) toolReturned(ctx context.Context, t *task, result tool.Result) error {
	if result.Err != nil {
		p.log.WarnContext(ctx, "tool call failed", slices.Concat(p.attrs(), []any{"call", t.call.ID, "tool", t.call.Name}, failure(result.Err))...)
	}
	if result.Suspend != nil {
		p.round.calls[t.index].task, p.round.calls[t.index].begun = nil, false // it has only asked
		return p.suspend(ctx, t, *result.Suspend)
	}
	// A command that cannot be stored is found here, where it costs the call its
	// intents. Found at the merge, or by the encoder, it would cost the run, or
	// run the tool again with every try.
	if err := p.agent.Engine.Check(result.Command); err != nil { // it asks for what nobody handles, or what cannot be stored
		result = tool.Failed("execution failed: " + err.Error())
	}
	return p.answer(ctx, t.index, answer{result: result, hooks: t.hooks, decision: t.decision})
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
func (p *step) answer(ctx context.Context, i int, a answer) error {
	err := p.keep(ctx, i, a)
	var ended *ended
	if errors.Is(err, store.ErrTooLarge) || errors.As(err, &ended) {
		p.log.WarnContext(ctx, "a result cannot be stored", append(p.attrs(), "call", i, "error", err)...)
		what := "it cannot be encoded"
		if errors.Is(err, store.ErrTooLarge) {
			what = "it is too large"
		}
		return p.keep(ctx, i, answer{result: tool.Failed("result cannot be stored: " + what), decision: a.decision})
	}
	return err
}

// keep notes the result of call i and stores it, unless it is the last one. Of
// calls that end at the same time exactly one is the last.
func (p *step) keep(ctx context.Context, i int, a answer) error {
	entry := p.resultEntry(i, a)
	payload, err := p.records.EncodeEntry(entry)
	if err != nil {
		return endWith("encoding", err)
	}
	c := p.round.calls[i]
	c.entry, c.payload = &entry, payload
	if !p.round.open() && len(payload) < largeResult && !p.hooked() && !p.agent.Engine.Listens(core.PhaseStepEnd) {
		return nil
	}
	return p.storeResult(ctx, i)
}

// resultEntry is the log record of the result of call i. Its message id derives
// from the place, so that a result is recognised when it is adopted.
func (p *step) resultEntry(i int, a answer) thread.Entry {
	call, result := p.round.turn.ToolCalls[i], a.result.ToolResult
	result.CallID, result.Name = call.ID, call.Name
	if result.Status == "" {
		result.Status = core.ResultOK
		if result.IsError {
			result.Status = core.ResultError
		}
	}
	entry := thread.Entry{Run: p.id, Step: p.events.step, Decision: a.decision, Blocked: a.blocked, Message: &core.Message{
		ID: resultID(p.id, p.events.step, i), Role: core.RoleTool, ToolResult: &result,
		RunID: p.id, Step: p.events.step, CreatedAt: p.env.Millis(),
	}}
	if !a.hooks.IsZero() {
		entry.Hooks = &a.hooks
	}
	if !a.result.Command.IsZero() {
		entry.Intents = &a.result.Command
	}
	return entry
}

// storeResult puts the result of call i alone. The fence is read here and not
// when the result was made: the step may have taken the next one meanwhile.
func (p *step) storeResult(ctx context.Context, i int) error {
	record := p.round.record(i)
	record.Fence = p.fence
	if err := p.put(ctx, record); err != nil {
		return err
	}
	p.round.calls[i].fresh = true
	p.round.tell(i, &p.events)
	return nil
}

// storeResults puts what a refused or abandoned commit B would have carried, and
// what an earlier put has failed at, so that no other claim runs those calls
// again. It is asked before everything that leaves the round behind: a nack, a
// failure, a close. The refused commit may have stored the result under this very
// fence; equal bytes are a success then, and other bytes (of a commit before it)
// want the next fence. One that cannot be stored keeps none of the others back.
func (p *step) storeResults(ctx context.Context) error {
	if p.round == nil {
		return nil
	}
	var failure error
	for i, c := range p.round.calls {
		if c.entry == nil || c.stored {
			continue
		}
		err := p.storeResult(ctx, i)
		if errors.Is(err, store.ErrConflict) { // other bytes of our own stand there
			if err = p.refence(ctx, p.head); err == nil {
				err = p.storeResult(ctx, i)
			}
		}
		if stops(err) {
			return err
		}
		if failure == nil {
			failure = err
		}
	}
	return failure
}

// answerOpen is for a round that is not to run at all: it gives every call
// that has no result one that says why.
func (p *step) answerOpen(ctx context.Context, status core.ResultStatus, reason string) error {
	for i, c := range p.round.calls {
		if c.entry == nil {
			if err := p.answer(ctx, i, answer{result: synthetic(status, reason)}); err != nil {
				return err
			}
		}
	}
	return nil
}
