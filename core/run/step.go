package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// pendingCommand collects what hooks answered since the last stored record.
type pendingCommand struct {
	command state.Command
	base    uint64 // the state's revision at that record
}

// take empties the collection; nil when there is nothing to store.
func (p *pendingCommand) take() *state.Command {
	if p.command.IsZero() {
		return nil
	}
	c := p.command
	p.command = state.Command{}
	return &c
}

// step is the way through one step, from wherever the cursor stands.
func (w *work) step(ctx context.Context) (Result, error) {
	if err := w.load(ctx); err != nil {
		return Result{}, err
	}
	if w.head.Run.Cursor == thread.CursorTools {
		return w.tools(ctx)
	}
	number := int(w.head.Run.Step) + 1
	w.events.step = number
	w.conversation.enter(w.agent.Engine.Registry(), w.record.ID, number)
	if w.started {
		w.announceStart()
		if err := w.phase(ctx, plugin.Context{Phase: core.PhaseRunStart}); err != nil {
			return Result{}, err
		}
	}
	id := turnID(w.record.ID, number)
	w.events.emit(core.Event{Type: core.EventStepStart, MessageID: id})
	for _, phase := range []core.Phase{core.PhaseStepStart, core.PhaseBeforeInference} {
		if err := w.phase(ctx, plugin.Context{Phase: phase}); err != nil {
			return Result{}, err
		}
	}
	turn, err := w.infer(ctx, number, id)
	if err != nil {
		return Result{}, err
	}
	if err := w.phase(ctx, plugin.Context{Phase: core.PhaseAfterInference, Turn: &turn}); err != nil {
		return Result{}, err
	}
	w.unsaved = append(w.unsaved, thread.Entry{Run: w.record.ID, Step: number, Message: &turn, Command: w.pending.take()})
	w.conversation.messages = append(w.conversation.messages, turn)
	w.record.Steps = number
	if turn.Usage != nil {
		w.record.Usage = w.record.Usage.Add(*turn.Usage)
	}
	if len(turn.ToolCalls) == 0 {
		return w.finish(ctx, thread.Done, &core.Termination{Type: core.TerminationNatural})
	}
	if err := w.commitTurn(ctx, turn); err != nil {
		return Result{}, err
	}
	return w.tools(ctx)
}

// announceStart emits the run's first event, once.
func (w *work) announceStart() {
	if !w.announced {
		w.announced = true
		w.events.emit(core.Event{Type: core.EventRunStart, ThreadID: w.key.Thread, RunID: w.record.ID, AgentID: w.record.AgentID})
	}
}

// phase runs a phase's hooks and folds their command in.
func (w *work) phase(ctx context.Context, c plugin.Context) error {
	if w.pending.command.IsZero() {
		w.pending.base = w.conversation.snapshot.Revision()
	}
	result, err := w.agent.Engine.Phase(ctx, w.env, w.context(c))
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return endWith("plugin", fmt.Errorf("phase %s: %w", c.Phase, err))
	}
	w.conversation.snapshot = result.Snapshot
	w.pending.command.Append(result.Command)
	if !w.pending.command.Batch.IsZero() { // it is stored as one, however many phases it took
		w.conversation.snapshot = result.Snapshot.At(w.pending.base + 1)
	}
	return nil
}

// context fills in what every hook may read.
func (w *work) context(c plugin.Context) plugin.Context {
	c.Thread, c.Run, c.AgentID, c.Step = w.key, w.record.ID, w.record.AgentID, w.events.step
	c.Snapshot, c.Messages = w.conversation.snapshot, w.conversation.messages
	return c
}

// commitTurn is commit A. The turn and the input before it are put at their
// sequences, then the head moves over them and reserves the results' places.
func (w *work) commitTurn(ctx context.Context, turn core.Message) error {
	if n := len(turn.ToolCalls); n > thread.MaxCalls {
		return endWith("too_many_calls", fmt.Errorf("the model asked for %d tool calls in one turn, at most %d are allowed", n, thread.MaxCalls))
	}
	if err := w.save(ctx, recordStart); err != nil {
		return err
	}
	calls := make([]thread.CallStatus, len(turn.ToolCalls))
	for i, call := range turn.ToolCalls {
		if w.atMostOnce(call.Name) {
			calls[i] = thread.CallRunning
		}
	}
	head, _, err := w.committer.Commit(ctx, w.key, w.head, thread.CommitTurn{
		Fence: w.fence, Seq: w.head.Seq + uint64(len(w.unsaved)), Calls: calls, Consumed: w.consumed,
	})
	if err != nil {
		return err
	}
	w.committed(head)
	w.fresh = true
	return nil
}

// committed takes over a new head: what was unsaved is now visible.
func (w *work) committed(head thread.Head) {
	w.head = head
	w.unsaved, w.consumed = nil, nil
	w.conversation.seq = head.Seq
	w.conversation.record = w.record
}

// stored is the last sequence that holds a record of this run: the head's, or
// past the results of an open tool round.
func (w *work) stored() uint64 { return w.head.Seq + uint64(len(w.head.Run.Calls)) }

// Moments of a run record, in the order in which one step may write it.
const (
	recordStart = iota
	recordEnd
	recordAbort
	recordClose
	recordMoments
)

// save puts the unsaved entries, and the run's record when it is new or ends.
func (w *work) save(ctx context.Context, moment uint32) error {
	records := make([]store.Record, 0, len(w.unsaved)+1)
	for i, entry := range w.unsaved {
		payload, err := entry.Encode()
		if err != nil {
			return err
		}
		records = append(records, store.Record{Name: store.LogName(w.stored() + 1 + uint64(i)), Fence: w.fence, Payload: payload})
	}
	if w.started || moment != recordStart {
		record, err := w.runRecord(moment)
		if err != nil {
			return err
		}
		records = append(records, record)
		w.started = false
	}
	err := w.put(ctx, env.PointPutTurn, records...)
	if errors.Is(err, store.ErrTooLarge) {
		return endWith("too_large", err)
	}
	return err
}

// runRecord is the stored form of the run. Its step number orders the writes of
// one claim.
func (w *work) runRecord(moment uint32) (store.Record, error) {
	payload, err := core.EncodeJSON(w.record)
	if err != nil {
		return store.Record{}, core.Errorf(core.CodeInternal, "encode run record: %w", err)
	}
	step := w.claim.Head.Run.Step*recordMoments + moment
	return store.Record{Name: store.RunName(w.record.ID), Fence: w.fence, Step: step, Payload: payload}, nil
}

// finish ends the step: its last phases, its remaining records, commit B.
// termination is nil unless the outcome is Done.
func (w *work) finish(ctx context.Context, outcome thread.Outcome, termination *core.Termination) (Result, error) {
	if err := w.phase(ctx, plugin.Context{Phase: core.PhaseStepEnd}); err != nil {
		return Result{}, err
	}
	if outcome == thread.Done {
		if err := w.phase(ctx, plugin.Context{Phase: core.PhaseRunEnd, Termination: termination}); err != nil {
			return Result{}, err
		}
	}
	return w.commitStep(ctx, outcome, termination)
}

// commitStep is commit B.
func (w *work) commitStep(ctx context.Context, outcome thread.Outcome, termination *core.Termination) (Result, error) {
	after := w.pending.command.Effects
	if command := w.pending.take(); command != nil {
		w.unsaved = append(w.unsaved, thread.Entry{Run: w.record.ID, Step: w.events.step, Command: command})
	}
	moment := uint32(recordStart)
	if outcome == thread.Done {
		moment = recordEnd
		w.record.Status, w.record.Termination, w.record.FinishedAt = core.RunDone, termination, w.env.Millis()
		w.record.Response = lastText(w.conversation.messages, w.record.ID)
	}
	if err := w.save(ctx, moment); err != nil {
		return Result{}, err
	}
	action := thread.CommitStep{
		Fence: w.fence, Outcome: outcome, Seq: w.stored() + uint64(len(w.unsaved)),
		Calls: w.allDone(), Consumed: w.consumed, Lease: w.lease.Milliseconds(), Keep: w.claim.Keep,
	}
	head, applied, err := w.committer.Commit(ctx, w.key, w.head, action)
	if err != nil {
		return Result{}, err
	}
	w.committed(head)
	w.events.emit(core.Event{Type: core.EventStepEnd})
	if applied.Outcome == thread.Done {
		w.events.emit(core.Event{Type: core.EventRunFinish, RunID: w.record.ID, Response: w.record.Response, Termination: termination})
	} else {
		w.reopen()
		w.conversation.record = w.record
	}
	if len(after) > 0 {
		w.after = &effects{w.context(plugin.Context{}), after}
	}
	w.cache.put(w.key, w.conversation) // from here on it may be another step's
	return Result{Outcome: applied.Outcome, Head: head}, nil
}

// reopen takes back that the run is done.
func (w *work) reopen() {
	w.record.Status, w.record.Termination, w.record.FinishedAt, w.record.Response = core.RunRunning, nil, 0, ""
}

// effects are what a committed step is to do in the world.
type effects struct {
	context plugin.Context
	list    []state.Effect
}

// runEffects acts after the commit. Neither a lost claim nor a cancel stops it:
// what was committed stands.
func (w *work) runEffects(ctx context.Context) {
	if w.after == nil {
		return
	}
	if err := w.agent.Engine.RunEffects(ctx, w.after.context, w.after.list); err != nil {
		w.log.ErrorContext(ctx, "effects failed; what was committed stands", "tenant", w.key.Tenant, "thread", w.key.Thread, "run", w.head.Run.ID, "error", err)
	}
}
