package run

import (
	"cmp"
	"context"
	"errors"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/run/history"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
	"github.com/reveille-run/reveille/core/tool"
)

// synthetic is a result that no tool gave. The status says what happened; the
// message is for the model alone, and nobody decides by it.
func synthetic(status core.ResultStatus, message string) tool.Result {
	result := tool.Failed(message)
	result.Status = status
	return result
}

// toolReturned takes what a call's tool has returned: its result, or that it
// waits for a decision.
func (r *round) toolReturned(ctx context.Context, f finished) error {
	t, result := r.calls[f.call].task, f.result
	if result.Err != nil {
		r.holder.warn(ctx, "tool call failed", append([]any{"call", t.call.ID, "tool", t.call.Name}, failure(result.Err)...)...)
	}
	if result.Suspend != nil {
		r.calls[t.index].task, r.calls[t.index].stage = nil, fresh // it has only asked
		return r.suspend(ctx, t, *result.Suspend, true)
	}
	// A command that cannot be stored is found here, where it costs the call its
	// intents. Found at the merge, or by the encoder, it would cost the run, or
	// run the tool again with every try.
	if err := r.base.hooks.engine.Check(result.Command); err != nil { // it names an unregistered key, action or effect, or cannot be stored
		result = tool.Failed("execution failed: " + err.Error())
	}
	switch base := result.Command.Batch.Base; {
	case base != nil && *base != t.snapshot.Revision():
		err := &state.RevisionError{Expected: *base, Actual: t.snapshot.Revision()}
		result = tool.Failed("execution failed: " + err.Error())
	default:
		if err := r.tries(t, result.Command); err != nil {
			r.holder.warn(ctx, "a tool's change of the state does not apply", append([]any{"call", t.call.ID, "tool", t.call.Name}, failure(err)...)...)
			result = tool.Failed("execution failed: its change of the state does not apply")
		} else if base != nil { // what its own hooks changed is not in its way
			result.Command.Batch.Base = new(t.began)
		}
	}
	err := r.conclude(ctx, t.index, conclusion{result: result, hooks: t.hooks, decision: t.decision, took: f.took})
	// What the runtime says of a tool that it has left behind, and that goes on, proves
	// nothing. The last result of a round travels with its commit, which is progress.
	if r.calls[t.index].result.where == put && result.Status != core.ResultUnknown {
		r.holder.proves()
	}
	return err
}

// tries applies what a tool asks for to the snapshot that it was given, before its result
// is stored: what does not apply there applies nowhere.
func (r *round) tries(t *task, asked state.Command) error {
	if len(asked.Batch.Mutations) == 0 {
		return nil
	}
	asked.Effects, asked.Batch.Base = nil, nil
	_, err := r.base.hooks.engine.Submit(t.snapshot, t.index, asked)
	return err
}

// largeResult is the size in bytes from which even the last result of a round
// is stored alone: what the store refuses for its size becomes an error result
// then, and not the commit's failure.
const largeResult = 64 << 10

// conclude keeps the result of call i. It is stored at its reserved sequence at
// once when something may still run or wait after it: a sibling or a hook, whose
// time a crash would make the tool pay for with a second execution. The last one
// travels with commit B, which follows at once: a write less for each round.
//
// A result that the store or the encoder will never take becomes an error result
// here, once: the model reads why, and the tool does not run again.
func (r *round) conclude(ctx context.Context, i int, end conclusion) error {
	if r.holdBack(i, end) {
		return nil
	}
	err := r.settleOn(ctx, i, end)
	return cmp.Or(err, r.release(ctx, false))
}

// settleOn is conclude for a result whose turn it is.
func (r *round) settleOn(ctx context.Context, i int, end conclusion) error {
	// A result whose hooks fail when they are asked again is stored without a place: whoever
	// goes on tries it then, and its tool does not run again.
	was := r.line
	failed := r.takePlace(ctx, i, &end, true)
	err := r.keep(ctx, i, end)
	if cannotBeStored(err) {
		large := errors.Is(err, store.ErrTooLarge)
		r.holder.warn(ctx, "a result cannot be stored", "call", i, "error", err)
		what := "it cannot be encoded"
		if large {
			what = "it is too large"
		}
		// What gates and hooks asked for counts with this result as with any; unless it is
		// that which cannot be stored.
		instead := conclusion{result: tool.Failed("result cannot be stored: " + what), hooks: end.hooks, decision: end.decision, took: end.took}
		r.line = was
		if failed == nil {
			failed = r.takePlace(ctx, i, &instead, false)
		}
		if err = r.keep(ctx, i, instead); cannotBeStored(err) {
			r.line, instead.hooks, instead.place = was, state.Command{}, 0
			err = r.keep(ctx, i, instead)
		}
	}
	return cmp.Or(err, failed)
}

// cannotBeStored reports whether a put failed for what was to be stored.
func cannotBeStored(err error) bool {
	_, encoding := errors.AsType[*ended](err)
	return encoding || errors.Is(err, store.ErrTooLarge)
}

// keep notes the result of call i and stores it, unless it is the last one. Of
// calls that end at the same time exactly one is the last.
func (r *round) keep(ctx context.Context, i int, end conclusion) error {
	entry := r.resultEntry(i, end)
	payload, err := r.holder.records.EncodeEntry(&entry)
	if err != nil {
		return endWith("encoding", err)
	}
	// From here on the call has its result, also if the put fails: it is put again before
	// the step ends, and its tool does not run again in this step.
	r.calls[i].end(&entry, payload)
	if !r.open() && len(payload) < largeResult && !r.hooked() && !r.base.hooks.listens(core.PhaseStepEnd) {
		return nil
	}
	if !r.mayStore(i) { // the round has failed, and puts them in order before it is left
		return nil
	}
	return r.storeResult(ctx, i)
}

// resultEntry is the log record of the result of call i. Its message id derives
// from the place, so that a result is recognised when it is adopted.
func (r *round) resultEntry(i int, end conclusion) thread.Entry {
	call, result := r.turn.ToolCalls[i], end.result.ToolResult
	result.CallID, result.Name = call.ID, call.Name
	if result.Status == "" {
		result.Status = core.ResultOK
		if result.IsError {
			result.Status = core.ResultError
		}
	}
	began, ended := r.timeOf(InstantResultRound, i, 0), r.timeOf(InstantResult, i, 0)
	entry := thread.Entry{Run: r.holder.id, Step: r.holder.events.Step(), At: began, Decision: end.decision, Blocked: end.blocked, Duration: end.took.Milliseconds(), Message: &core.Message{
		ID: history.ResultID(r.holder.id, r.holder.events.Step(), i), Role: core.RoleTool, ToolResult: &result,
		RunID: r.holder.id, Step: r.holder.events.Step(), CreatedAt: ended,
	}}
	if entry.Place = end.place; end.place > 0 {
		entry.Attempt = r.holder.fence()
	}
	if !end.hooks.IsZero() {
		entry.Hooks = &end.hooks
	}
	if !end.result.Command.IsZero() {
		entry.Intents = &end.result.Command
	}
	return entry
}

// storeResult puts the result of call i alone. The fence is read here and not
// when the result was made: the step may have taken the next one meanwhile.
func (r *round) storeResult(ctx context.Context, i int) error {
	record := r.logRecord(i)
	record.Fence = r.holder.fence()
	if err := r.holder.put(ctx, record); err != nil {
		return err
	}
	r.announce(i, put) // after the put: what a reader was shown stays
	return nil
}

// storeResults puts what a refused or abandoned commit B would have carried, and
// what an earlier put has failed at, so that no other claim runs those calls
// again. It is asked before everything that leaves the round behind: a nack, a
// failure, a close. The refused commit may have stored the result under this very
// fence; equal bytes are a success then, and other bytes (of a commit before it)
// want the next fence. One that cannot be stored keeps back those alone that stand behind
// it in the line.
func (r *round) storeResults(ctx context.Context) error {
	if r == nil {
		return nil
	}
	var failure error
	for _, i := range r.inLine() {
		if c := &r.calls[i]; c.stage != concluded || c.stored() || !r.mayStore(i) {
			continue
		}
		err := r.storeResult(ctx, i)
		if errors.Is(err, store.ErrConflict) { // other bytes of our own stand there
			if err = r.holder.refence(ctx, r.holder.head); err == nil {
				err = r.storeResult(ctx, i)
			}
		}
		if errors.Is(err, store.ErrTooLarge) { // it was to travel with a commit, which was refused for it
			err = r.storeSmaller(ctx, i)
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

// concludeOpen is for a round that is not to run at all: it gives every call
// that has no result one that says why. An earlier claim judged the turn alike and
// started nothing, unless there is a result that says it did.
func (r *round) concludeOpen(ctx context.Context, reason string) error {
	if r.any(func(c *call) bool {
		return c.stage == concluded && c.result.entry.Message.ToolResult.Status != core.ResultNotExecuted
	}) {
		r.through.Ran |= r.through.May
	}
	for i := range r.calls {
		if r.calls[i].stage == concluded {
			continue
		}
		if err := r.conclude(ctx, i, conclusion{result: r.notExecuted(i, reason)}); err != nil {
			return err
		}
	}
	return nil
}

// storeSmaller stores the result of call i that the store refuses as too large, as an error
// that says so: what the call changed and its effects are left out.
func (r *round) storeSmaller(ctx context.Context, i int) error {
	was := r.calls[i].result.entry
	small := tool.Failed("result cannot be stored: it is too large")
	entry := r.resultEntry(i, conclusion{result: small, decision: was.Decision, blocked: was.Blocked})
	entry.At, entry.Duration, entry.Message.CreatedAt = was.At, was.Duration, was.Message.CreatedAt
	payload, err := r.holder.records.EncodeEntry(&entry)
	if err != nil {
		return endWith("encoding", err)
	}
	r.holder.warn(context.WithoutCancel(ctx), "a result cannot be stored", "call", i, "bytes", len(r.calls[i].result.payload))
	r.calls[i].end(&entry, payload)
	return r.storeResult(ctx, i)
}
