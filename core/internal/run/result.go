package run

import (
	"context"
	"errors"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// largeResult is the size in bytes from which even the last result of a round
// is stored alone: what the store refuses for its size becomes an error result
// then, and not the commit's failure.
const largeResult = 64 << 10

// keep notes the result of call i and stores it, unless it is the last one. If
// calls end at the same time, exactly one is the last.
func (r *round) keep(ctx context.Context, i int, end conclusion) error {
	r.warnOfFiles(ctx, end.result.Content)
	entry := r.resultEntry(i, end)
	payload, err := r.holder.records.EncodeEntry(&entry)
	if err != nil {
		return endWith("encoding", err)
	}
	// From here on the call has its result, also if the put fails: it is put again before
	// the step ends, and its tool does not run again in this step.
	r.calls[i].end(&entry, payload)
	if !r.calls.open() && len(payload) < largeResult && !r.hooked() && !r.base.hooks.listens(core.PhaseStepEnd) {
		return nil
	}
	if !r.calls.mayStore(i) { // the round has failed, and puts them in order before it is left
		return nil
	}
	return r.storeResult(ctx, i)
}

// warnOfFiles logs the files of a result that a model of the run is known not to accept:
// adapters replace them by a text.
func (r *round) warnOfFiles(ctx context.Context, content []core.Block) {
	for _, b := range content {
		if b.Type != core.BlockFile {
			continue
		}
		for _, m := range r.base.agent.CallableModels() {
			if request := (model.Request{Inputs: m.Inputs}); !request.Accepts(b.MediaType) {
				r.holder.warn(context.WithoutCancel(ctx), "model does not accept a file of a tool result", "model", m.ID, "media_type", b.MediaType, "bytes", len(b.Data))
			}
		}
	}
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
	entry := thread.Entry{Run: r.holder.id, Step: r.holder.events.Step(), At: began, Decision: end.after.decision, Arguments: end.after.arguments, Blocked: end.blocked, Duration: end.took.Milliseconds(), Message: &core.Message{
		ID: history.ResultID(r.holder.id, r.holder.events.Step(), i), Role: core.RoleTool, ToolResult: &result,
		RunID: r.holder.id, Step: r.holder.events.Step(), CreatedAt: ended,
	}}
	if entry.Place = uint16(end.place); end.place > 0 {
		entry.Attempt = r.holder.fence()
	}
	if !end.hooks.IsZero() {
		hooks := end.hooks
		entry.Hooks = &hooks
	}
	if !end.result.Command.IsZero() {
		intents := end.result.Command
		entry.Intents = &intents
	}
	return entry
}

// found is the conclusion of a call whose result was found: the values of its
// record.
func found(e *thread.Entry) conclusion {
	end := conclusion{result: tool.Result{ToolResult: *e.Message.ToolResult}, after: followed{e.Decision, e.Arguments}, blocked: e.Blocked}
	if e.Hooks != nil {
		end.hooks = *e.Hooks
	}
	if e.Intents != nil {
		end.result.Command = *e.Intents
	}
	return end
}

// storeResult puts the result of call i alone. The fence is read here and not when
// the result was made: the step may have taken the next one in between.
func (r *round) storeResult(ctx context.Context, i int) error {
	record := r.logRecord(i)
	record.Fence = r.holder.fence()
	if err := r.holder.put(ctx, record); err != nil {
		return err
	}
	r.announce(i, put) // after the put: what a reader was shown stays
	return nil
}

// storeResults puts the results that a refused or abandoned commit B would have
// carried, and those of failed puts, so that no other claim runs those calls again.
// It is called before everything that leaves the round: a nack, a failure, a close.
// The refused commit may have stored the result under this very fence; equal bytes
// are a success then, and other bytes (of a commit before it) want the next fence.
// A result that cannot be stored keeps back only those after it in the line.
func (r *round) storeResults(ctx context.Context) error {
	if r == nil {
		return nil
	}
	var failure error
	for _, i := range r.calls.inLine() {
		if c := &r.calls[i]; c.stage != concluded || c.stored() || !r.calls.mayStore(i) {
			continue
		}
		err := r.storeResult(ctx, i)
		if errors.Is(err, store.ErrConflict) { // other bytes of this claim are there
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

// storeSmaller stores the result of call i that the store refuses as too large, as
// an error with that reason. The tool's changes and effects are omitted; those of gates and
// hooks too, if the error is too large with them.
func (r *round) storeSmaller(ctx context.Context, i int) error {
	was, bytes := r.calls[i].result.entry, len(r.calls[i].result.payload)
	r.holder.warn(context.WithoutCancel(ctx), "result cannot be stored", "call", i, "bytes", bytes)
	end := found(was)
	end.result = tool.Failed("result cannot be stored: it is too large")
	if changes(&end.hooks) {
		end.place = int(was.Place)
	}
	err := r.storeInstead(ctx, i, end)
	if errors.Is(err, store.ErrTooLarge) && was.Hooks != nil {
		end.hooks, end.place = state.Command{}, 0
		err = r.storeInstead(ctx, i, end)
	}
	return err
}

// storeInstead stores another result of call i, with the times of the one that it had.
func (r *round) storeInstead(ctx context.Context, i int, end conclusion) error {
	was, entry := r.calls[i].result.entry, r.resultEntry(i, end)
	entry.At, entry.Duration, entry.Message.CreatedAt = was.At, was.Duration, was.Message.CreatedAt
	payload, err := r.holder.records.EncodeEntry(&entry)
	if err != nil {
		return endWith("encoding", err)
	}
	r.calls[i].end(&entry, payload)
	return r.storeResult(ctx, i)
}
