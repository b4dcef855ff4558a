package mailbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// Submit enqueues a run, or gives its input to the open one as the mode says.
// When it returns without error the submission is durable. Refusals are
// thread's errors and leave nothing behind that anybody would see.
func (s *Service) Submit(ctx context.Context, sub Submission) (Receipt, error) {
	receipt, _, err := s.submit(ctx, sub, false)
	return receipt, err
}

// SubmitAndClaim is Submit for an inline run: when the thread is free it claims
// in the same write and claimed is true; the caller then runs the steps. The
// head is the one after the write.
func (s *Service) SubmitAndClaim(ctx context.Context, sub Submission) (receipt Receipt, head thread.Head, claimed bool, err error) {
	receipt, head, err = s.submit(ctx, sub, true)
	return receipt, head, receipt.Running, err
}

func (s *Service) submit(ctx context.Context, sub Submission, inline bool) (Receipt, thread.Head, error) {
	if err := sub.Check(); err != nil {
		return Receipt{}, thread.Head{}, err
	}
	run, dispatch, known, err := s.identify(ctx, sub)
	if err != nil {
		return Receipt{}, thread.Head{}, err
	}
	head, err := s.Head(ctx, sub.Thread)
	if err != nil {
		return Receipt{}, thread.Head{}, err
	}
	receipt := Receipt{ThreadID: sub.Thread.Thread, RunID: run, DispatchID: dispatch}
	if err := open(head, sub.User); err != nil {
		return Receipt{}, head, fmt.Errorf("thread %s: %w", sub.Thread, err)
	}
	if known {
		reader, found, err := s.accepted(ctx, sub.Thread, head, run, dispatch)
		if found || err != nil {
			receipt.RunID, receipt.Duplicate = reader, true
			return receipt, head, err
		}
	}
	action := s.action(sub, head, run, dispatch, inline)
	if _, _, err := thread.Apply(head, thread.Command{Now: s.env.Millis(), Action: action}); err != nil {
		return Receipt{}, head, fmt.Errorf("thread %s: %w", sub.Thread, err)
	}
	if err := s.prepare(ctx, sub, run, dispatch); err != nil {
		return Receipt{}, head, err
	}
	head, effects, err := s.Commit(ctx, sub.Thread, head, action)
	if _, steered := action.(thread.Input); steered && errors.Is(err, thread.ErrNotFound) {
		// The run that was to read it has just ended: queue it.
		head, effects, err = s.Commit(ctx, sub.Thread, head, enqueue(sub, run, dispatch))
	} else if steered && err == nil && head.Open() {
		receipt.RunID = head.Run.ID
	}
	if err != nil {
		return Receipt{}, head, err
	}
	receipt.Running = effects.Claimed
	receipt.Duplicate = effects.Duplicate
	return receipt, head, nil
}

// open refuses a thread that is deleted or another user's.
func open(head thread.Head, user string) error {
	switch {
	case head.Deleted:
		return thread.ErrDeleted
	case head.Owner != "" && head.Owner != user:
		return thread.ErrForbidden
	}
	return nil
}

// identify gives the submission its ids: those of its key, if that was used
// before, else fresh ones.
func (s *Service) identify(ctx context.Context, sub Submission) (run, dispatch core.ID, known bool, err error) {
	run, dispatch = s.env.NewID(), s.env.NewID()
	if sub.Key == "" {
		return run, dispatch, false, nil
	}
	body, err := bodyHash(sub)
	if err != nil {
		return run, dispatch, false, err
	}
	value, err := json.Marshal(pointer{Thread: sub.Thread.Thread, Run: run, Dispatch: dispatch, Body: body})
	if err != nil {
		return run, dispatch, false, core.Errorf(core.CodeInternal, "encode pointer: %w", err)
	}
	stored, err := s.store.PutPointer(ctx, sub.Thread.Tenant, keyPointer(sub.Thread.Thread, sub.Key), value, keyLife)
	if err != nil {
		return run, dispatch, false, fmt.Errorf("put idempotency key: %w", err)
	}
	var p pointer
	if err := decodeStored(stored, &p); err != nil {
		return run, dispatch, false, core.Errorf(core.CodeCorrupt, "decode idempotency key: %w", err)
	}
	if p.Body != body {
		return run, dispatch, false, core.Errorf(core.CodeConflict, "idempotency key was used before on thread %s with other content", sub.Thread.Thread)
	}
	return p.Run, p.Dispatch, p.Run != run, nil
}

// accepted reports whether an earlier try of the same submission got as far as
// the head, and which run reads it. If it waits there, it is hinted again in case
// that try died before its hint.
func (s *Service) accepted(ctx context.Context, key core.ThreadKey, head thread.Head, run, dispatch core.ID) (core.ID, bool, error) {
	_, waits := head.RunStatus(run)
	if slices.ContainsFunc(head.Inbox, func(e thread.InboxEntry) bool { return e.ID == dispatch }) {
		run, waits = head.Run.ID, true
	}
	if waits {
		s.wake(ctx, core.WakeUp{Tenant: key.Tenant, Thread: key.Thread, Dispatch: dispatch, Epoch: head.Epoch}, 0, env.PointHint)
		return run, true, nil
	}
	if _, ok, err := s.store.Get(ctx, key, store.RunName(run)); ok || err != nil {
		return run, ok, err
	}
	audit, ok, err := s.audit(ctx, key, dispatch)
	return audit.Run, ok, err
}

// prepare stores what the head write will make visible.
func (s *Service) prepare(ctx context.Context, sub Submission, run, dispatch core.ID) error {
	record, err := inputRecord(input(sub, run, dispatch))
	if err != nil {
		return err
	}
	value, err := json.Marshal(pointer{Thread: sub.Thread.Thread, Run: run, Dispatch: dispatch})
	if err != nil {
		return core.Errorf(core.CodeInternal, "encode pointer: %w", err)
	}
	s.env.Reach(env.PointPutInput, env.Before)
	defer s.env.Reach(env.PointPutInput, env.After)
	group, shared := s.env.Group(ctx)
	group.Go(func(ctx context.Context) error {
		_, err := s.store.PutPointer(ctx, sub.Thread.Tenant, runPointer(run), value, 0)
		return err
	})
	err = s.store.Put(shared, sub.Thread, record)
	if err := errors.Join(err, group.Wait()); err != nil {
		return fmt.Errorf("store queued input: %w", err)
	}
	return nil
}

// action chooses the head's command for the mode.
func (s *Service) action(sub Submission, head thread.Head, run, dispatch core.ID, inline bool) thread.Action {
	e := enqueue(sub, run, dispatch)
	open := head.Open() && head.Run.Status != thread.Closing
	switch {
	case sub.Mode == ModeInterrupt && head.Busy():
		return thread.Interrupt{Owner: sub.User, Enqueue: &e}
	case sub.Mode == ModeSteer && open,
		sub.Mode != ModeReject && head.Run.Status == thread.Waiting && open:
		return thread.Input{ID: dispatch, Kind: thread.InboxPerson, Owner: sub.User}
	case inline:
		return thread.EnqueueAndClaim{Enqueue: e, Worker: s.worker, Lease: s.lease.Milliseconds()}
	}
	return e
}

func enqueue(sub Submission, run, dispatch core.ID) thread.Enqueue {
	return thread.Enqueue{
		Dispatch: dispatch, Run: run, Priority: core.DefaultPriority, Dedupe: dedupe(dispatch),
		Owner: sub.User, RejectBusy: sub.Mode == ModeReject,
	}
}
