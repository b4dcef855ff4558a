package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
	"github.com/reveille-run/reveille/core/tool"
)

// abort ends the run with an error: what input and results there are stay, open
// calls get a result that says so, nothing else is run.
func (w *work) abort(ctx context.Context, termination core.Termination) (Result, error) {
	ctx, cancel := detached(ctx)
	defer cancel()
	if err := w.settle(ctx, "no result: the run ended first ("+termination.Code+")"); err != nil {
		return w.giveUp(ctx, err)
	}
	w.consumed = nil
	w.started = true // write the record
	w.record.Status, w.record.Termination, w.record.FinishedAt = core.RunDone, &termination, w.env.Millis()
	if err := w.save(ctx, env.PointPutTurn, recordEnd); err != nil {
		return w.giveUp(ctx, err)
	}
	action := thread.CommitStep{Fence: w.fence, Outcome: thread.Done, Seq: w.stored() + uint64(len(w.unsaved)), Calls: w.allDone()}
	head, effects, err := w.committer.Commit(ctx, w.key, w.head, action)
	if err != nil {
		return w.giveUp(ctx, err)
	}
	return w.announce(effects.Outcome, head, &termination), nil
}

// close writes what a closing run still owes: a result for each open call, its
// input if no step has stored it, its final record.
func (w *work) close(ctx context.Context) (Result, error) {
	ctx, cancel := detached(ctx)
	defer cancel()
	head, err := w.committer.Head(ctx, w.key)
	if err != nil {
		return Result{}, err
	}
	if head.Claim.Fence != w.fence {
		return Result{}, thread.ErrFenced
	}
	w.head = head
	termination := head.Run.Reason.Termination()
	if termination == nil {
		return Result{}, fmt.Errorf("run is closing for no reason: %w", store.ErrCorrupt)
	}
	if err := w.settle(ctx, "no result: the run was ended first ("+string(termination.Type)+")"); err != nil {
		return Result{}, err
	}
	w.record.Status, w.record.Termination, w.record.FinishedAt = core.RunDone, termination, w.env.Millis()
	if err := w.save(ctx, env.PointPutTurn, recordClose); err != nil {
		return Result{}, err
	}
	seq := w.stored() + uint64(len(w.unsaved))
	head, effects, err := w.committer.Commit(ctx, w.key, w.head, thread.CommitClose{Fence: w.fence, Seq: seq})
	if err != nil {
		return Result{}, err
	}
	return w.announce(effects.Outcome, head, termination), nil
}

// giveUp is for an end that could not be written: a run that was ended
// meanwhile closes, anything else is tried again.
func (w *work) giveUp(ctx context.Context, err error) (Result, error) {
	switch {
	case errors.Is(err, thread.ErrFenced):
		return Result{}, err
	case errors.Is(err, thread.ErrClosing), errors.Is(err, thread.ErrSuperseded):
		return w.close(ctx)
	}
	return w.nack(ctx, err)
}

// announce tells the stream of the end.
func (w *work) announce(outcome thread.Outcome, head thread.Head, termination *core.Termination) Result {
	if outcome == thread.Done {
		w.events.emit(core.Event{Type: core.EventRunFinish, RunID: w.record.ID, Termination: termination})
	}
	return Result{Outcome: outcome, Head: head}
}

// settle brings the log to where the run can end: results for all open calls,
// or the input of a run that never stored it. It depends on nothing but the
// head, so it also works when the agent cannot be resolved.
func (w *work) settle(ctx context.Context, reason string) error {
	if w.record.ID != w.head.Run.ID {
		if err := w.recall(ctx); err != nil {
			return err
		}
	}
	w.events.step = int(w.head.Run.Step)
	if len(w.head.Run.Calls) > 0 {
		w.unsaved = nil
		return w.settleCalls(ctx, reason)
	}
	kept := w.unsaved[:0]
	for _, entry := range w.unsaved { // a turn that was not committed is void
		if entry.Message != nil && entry.Message.Role == core.RoleUser {
			kept = append(kept, entry)
		}
	}
	w.unsaved = kept
	if len(kept) > 0 || w.head.Run.Cursor != thread.CursorStart {
		return nil
	}
	input, err := w.queued(ctx, w.head.Run.Dispatch, 0)
	if err != nil {
		return err
	}
	for _, m := range input.Messages {
		m.RunID = w.head.Run.ID
		w.unsaved = append(w.unsaved, thread.Entry{Run: m.RunID, Message: &m})
	}
	return nil
}

// recall reads who the run is, without its agent.
func (w *work) recall(ctx context.Context) error {
	if w.head.Run.Cursor != thread.CursorStart {
		return w.readRecord(ctx)
	}
	input, err := w.queued(ctx, w.head.Run.Dispatch, 0)
	if err != nil {
		return err
	}
	w.record = core.Run{
		ID: w.head.Run.ID, ThreadID: w.key.Thread, AgentID: input.AgentID,
		Dispatch: input.Dispatch, FirstSeq: w.head.Seq + 1, CreatedAt: input.CreatedAt,
	}
	return nil
}

// settleCalls gives every call of the committed turn its one result: the stored
// one, adopted, or one that says why it was not executed.
func (w *work) settleCalls(ctx context.Context, reason string) error {
	entries, err := store.ReadLog(ctx, w.threads, w.key, w.head.Run.Base-1, w.head.Run.Base-1)
	if err != nil {
		return err
	}
	turn := entries[0].Message
	if turn == nil || len(turn.ToolCalls) != len(w.head.Run.Calls) {
		return fmt.Errorf("the turn before sequence %d has not the calls that the head says: %w", w.head.Run.Base, store.ErrCorrupt)
	}
	r := &round{work: w, turn: *turn, entries: make([]*thread.Entry, len(turn.ToolCalls))}
	if err := r.adopt(ctx); err != nil {
		return err
	}
	for i := range r.entries {
		if r.entries[i] == nil {
			if err := r.answer(ctx, i, tool.Failed(reason)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *work) allDone() []thread.CallStatus {
	if len(w.head.Run.Calls) == 0 {
		return nil
	}
	calls := make([]thread.CallStatus, len(w.head.Run.Calls))
	for i := range calls {
		calls[i] = thread.CallDone
	}
	return calls
}

// runRecord is the stored form of a run. Its step number orders the writes of
// one claim: start, end and close of each step.
func runRecord(r core.Run, fence uint64, moment uint32) (store.Record, error) {
	payload, err := json.Marshal(r)
	if err != nil {
		return store.Record{}, core.Errorf(core.CodeInternal, "encode run record: %w", err)
	}
	return store.Record{Name: store.RunName(r.ID), Fence: fence, Step: uint32(r.Steps)*recordMoments + moment, Payload: payload}, nil
}
