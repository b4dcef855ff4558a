package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// abort ends the run with an error: what input and results there are stay, open
// calls get a result that says so, nothing else is run. A run that was ended
// meanwhile closes; an end that could not be written is tried again.
func (w *work) abort(ctx context.Context, termination core.Termination) (Result, error) {
	free, cancel := detached(ctx)
	defer cancel()
	result, err := w.writeEnd(free, termination)
	switch {
	case err == nil:
		return result, nil
	case errors.Is(err, thread.ErrFenced):
		return Result{}, err
	case errors.Is(err, thread.ErrClosing), errors.Is(err, thread.ErrSuperseded):
		return w.close(ctx)
	}
	return w.nack(ctx, err)
}

func (w *work) writeEnd(ctx context.Context, termination core.Termination) (Result, error) {
	calls := w.allDone()
	if err := w.settle(ctx, "no result: the run ended first ("+termination.Code+")", true); err != nil {
		return Result{}, err
	}
	w.record.Status, w.record.Termination, w.record.FinishedAt = core.RunDone, &termination, w.env.Millis()
	if err := w.save(ctx, recordAbort); err != nil {
		return Result{}, err
	}
	action := thread.CommitStep{
		Fence: w.fence, Outcome: thread.Done, Seq: w.stored() + uint64(len(w.unsaved)), Calls: calls, Consumed: w.consumed,
	}
	head, effects, err := w.committer.Commit(ctx, w.key, w.head, action)
	if err != nil {
		return Result{}, err
	}
	return w.announceEnd(effects.Outcome, head, &termination), nil
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
	if err := w.settle(ctx, "no result: the run was ended first ("+string(termination.Type)+")", false); err != nil {
		return Result{}, err
	}
	w.record.Status, w.record.Termination, w.record.FinishedAt = core.RunDone, termination, w.env.Millis()
	if err := w.save(ctx, recordClose); err != nil {
		return Result{}, err
	}
	seq := w.stored() + uint64(len(w.unsaved))
	head, effects, err := w.committer.Commit(ctx, w.key, w.head, thread.CommitClose{Fence: w.fence, Seq: seq})
	if err != nil {
		return Result{}, err
	}
	return w.announceEnd(effects.Outcome, head, termination), nil
}

// announceEnd tells the stream of an end that no step came to by itself.
func (w *work) announceEnd(outcome thread.Outcome, head thread.Head, termination *core.Termination) Result {
	if w.head.Run.Cursor == thread.CursorStart {
		w.announceStart()
	}
	if len(w.head.Run.Calls) > 0 {
		w.events.emit(core.Event{Type: core.EventStepEnd})
	}
	if outcome == thread.Done {
		w.events.emit(core.Event{Type: core.EventRunFinish, RunID: w.record.ID, Termination: termination})
	}
	return Result{Outcome: outcome, Head: head}
}

// settle brings the log to where the run can end: results for all open calls,
// or the input of a run that never stored it, and, if asked, what the inbox
// says. A turn that was not committed is void. It depends on nothing but the
// head, so it also works when the agent cannot be resolved.
func (w *work) settle(ctx context.Context, reason string, inbox bool) error {
	w.events.step = max(1, int(w.head.Run.Step))
	begun := w.head.Run.Cursor != thread.CursorStart
	if w.record.ID != w.head.Run.ID && begun {
		if err := w.recall(ctx); err != nil {
			return err
		}
	}
	w.record.Steps, w.record.Response = int(w.head.Run.Step), ""
	if len(w.head.Run.Calls) > 0 {
		w.unsaved, w.consumed = nil, nil
		return w.settleCalls(ctx, reason)
	}
	if inbox && w.drained {
		w.unsaved = slices.DeleteFunc(w.unsaved, func(e thread.Entry) bool { return e.Message == nil || e.Message.Role != core.RoleUser })
		return nil
	}
	w.unsaved, w.consumed = nil, nil
	if !begun {
		if err := w.hearInput(ctx); err != nil && !errors.Is(err, store.ErrCorrupt) {
			return err
		}
	}
	if inbox {
		return w.drain(ctx)
	}
	return nil
}

// recall reads who the run is, without its agent. When the record is lost, the
// input knows the most of it.
func (w *work) recall(ctx context.Context) error {
	err := w.readRecord(ctx)
	if !errors.Is(err, store.ErrCorrupt) {
		return err
	}
	err = w.hearInput(ctx)
	w.unsaved = nil
	w.record.FirstSeq = 0
	if errors.Is(err, store.ErrCorrupt) {
		return nil
	}
	return err
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
	return r.answerOpen(ctx, reason)
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
