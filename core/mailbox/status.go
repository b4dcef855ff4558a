package mailbox

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// Head reads a thread's head; the zero Head if there is no such thread.
func (s *Service) Head(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
	return s.reads.head(ctx, key)
}

// Locate finds the thread of a run; ok is false if the tenant submitted no such run. The
// pointer is stored with the write that accepts the run or before it, so that an accepted
// run is always found. A run that is found may not have been accepted; only the head shows
// that.
func (s *Service) Locate(ctx context.Context, tenant string, run core.ID) (key core.ThreadKey, dispatch core.ID, ok bool, err error) {
	return s.reads.locate(ctx, tenant, run)
}

// Run reads the current state of a run: from the head if it is open or queued, from its record
// if it has ended, from an audit if it ended before it started. ok is false if the thread does
// not know the run.
//
// The head was read before the record, which may be newer: a record is stored before the head
// that covers it, and a refused write may have left one that records too much. Therefore the
// record of a live run supplies only the fields that the head does not have (agent, steps,
// usage). An end in the record is dropped unless the head has that end.
func (s *Service) Run(ctx context.Context, key core.ThreadKey, head thread.Head, run, dispatch core.ID) (r core.Run, ok bool, err error) {
	return s.reads.run(ctx, key, head, run, dispatch)
}

// locate is [Service.Locate].
func (r reader) locate(ctx context.Context, tenant string, run core.ID) (key core.ThreadKey, dispatch core.ID, ok bool, err error) {
	value, ok, err := r.store.Pointer(ctx, tenant, runName(run))
	if err != nil || !ok {
		return key, dispatch, false, err
	}
	p, err := decodePointer(value)
	if err != nil {
		return key, dispatch, false, fmt.Errorf("run %s: %w", run, err)
	}
	return core.ThreadKey{Tenant: tenant, Thread: p.Thread}, p.Dispatch, true, nil
}

// run is [Service.Run].
func (r reader) run(ctx context.Context, key core.ThreadKey, head thread.Head, run, dispatch core.ID) (core.Run, bool, error) {
	got, _, ok, err := r.find(ctx, key, head, run, dispatch)
	// What clients see in addition is made from the record at each read, and never stored: a
	// corrected price holds for runs that are over as well.
	shown := got.Run
	if p := got.Parent; p != nil {
		shown.StartedBy = &core.RunParent{ThreadID: p.Thread, RunID: p.Run, ToolCallID: p.ToolCall, RootRunID: p.Root}
	}
	if ok && r.price != nil {
		shown.Cost = r.price(&shown, got.UsedModels())
	}
	return shown, ok, err
}

// find is [Service.Run], with the rest of the run's record and the time of its end, in unix
// milliseconds; 0: it has not ended, or the time is not known. If no step has opened the run,
// the record is made from its input.
func (r reader) find(ctx context.Context, key core.ThreadKey, head thread.Head, run, dispatch core.ID) (got thread.RunRecord, endedAt int64, ok bool, err error) {
	status, live := head.RunStatus(run)
	got, found, err := r.runRecord(ctx, key, run)
	if err != nil {
		return got, 0, false, err
	}
	if !found {
		if run == head.Run.ID {
			dispatch = head.Run.Dispatch // the caller's may be that of an input that the run got later
		}
		if got, err = r.queuedRun(ctx, key, run, dispatch); err != nil {
			return got, 0, false, err
		}
	}
	if live { // what the record says of an end may be of a write that was refused
		got.Status = status
		if status == core.RunDone {
			got.Termination = head.End(&got)
		} else {
			got.Termination, got.FinishedAt, got.Response = nil, 0, ""
		}
		spendTime(&got.Run, &head)
		return got, 0, true, nil
	}
	if found {
		if got.StartedAt > 0 && got.FinishedAt > 0 {
			got.WorkedMS = max(got.FinishedAt-got.StartedAt-got.WaitedMS, 0)
		}
		return got, got.FinishedAt, true, nil
	}
	ended, _, err := r.endedUnread(ctx, key, head, dispatch)
	if ended.Run != run { // none, or another's, or it cannot be read
		return got, 0, false, err
	}
	got.Status, got.Termination = core.RunDone, neverOpened(ended.Status)
	return got, ended.At, true, nil
}

// spendTime fills in how the open run of a head has spent its time: what is over of it, so
// that two reads of the same head say the same. How long a run works that works now is not
// known yet.
func spendTime(r *core.Run, head *thread.Head) {
	if r.ID != head.Run.ID {
		return // it is queued
	}
	times := head.Times()
	r.WaitedMS, r.Takeovers = times.Waited, int(head.Run.Lost)
	if r.StartedAt > 0 && times.Since > 0 {
		r.WorkedMS = max(times.Since-r.StartedAt-r.WaitedMS, 0)
	}
}

// queuedRun is the record of a run that no step has opened, from its input. The first
// revision is enough: an edit replaces the messages only.
// Lost input leaves agent, origin and parent empty.
func (r reader) queuedRun(ctx context.Context, key core.ThreadKey, run, dispatch core.ID) (thread.RunRecord, error) {
	queued := thread.RunRecord{Run: core.Run{ID: run, ThreadID: key.Thread, Dispatch: dispatch, CreatedAt: createdAt(dispatch)}}
	in, err := r.queuedInput(ctx, key, dispatch, 0)
	queued.AgentID, queued.Origin, queued.Parent, queued.Asked = in.AgentID, in.Origin, in.Parent, thread.Short(thread.Asked(in.Messages, core.ID{}))
	return queued, err
}

// neverOpened is how a run ended that no step has opened.
func neverOpened(status core.DispatchStatus) *core.Termination {
	if status == core.DispatchSuperseded {
		return thread.ReasonSuperseded.Termination()
	}
	return thread.ReasonCancelled.Termination()
}
