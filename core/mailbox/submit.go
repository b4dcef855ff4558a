package mailbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

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
	receipt := Receipt{ThreadID: sub.Thread.Thread, RunID: run, DispatchID: dispatch, Duplicate: known}
	if known {
		if found, err := s.accepted(ctx, sub.Thread, head, run, dispatch); found || err != nil {
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
	} else if steered && err == nil {
		receipt.RunID = head.Run.ID
	}
	if err != nil {
		return Receipt{}, head, err
	}
	receipt.Running = effects.Claimed
	receipt.Duplicate = receipt.Duplicate || effects.Duplicate
	return receipt, head, nil
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
// the head, and if so hints again in case that try died before its hint.
func (s *Service) accepted(ctx context.Context, key core.ThreadKey, head thread.Head, run, dispatch core.ID) (bool, error) {
	if _, ok := head.RunStatus(run); ok {
		s.wake(ctx, core.WakeUp{Tenant: key.Tenant, Thread: key.Thread, Dispatch: dispatch, Epoch: head.Epoch}, 0, env.PointHint)
		return true, nil
	}
	for _, name := range []string{store.RunName(run), store.AuditName(dispatch)} {
		_, ok, err := s.store.Get(ctx, key, name)
		if err != nil {
			return false, fmt.Errorf("read %s: %w", name, err)
		}
		if ok {
			return true, nil
		}
	}
	return false, nil
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
	group, _ := s.env.Group(ctx)
	group.Go(func(ctx context.Context) error {
		_, err := s.store.PutPointer(ctx, sub.Thread.Tenant, runPointer(run), value, 0)
		return err
	})
	group.Go(func(ctx context.Context) error { return s.store.Put(ctx, sub.Thread, record) })
	if err := group.Wait(); err != nil {
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
