package mailbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// Claim tries to take the thread. claimed is false when somebody else works on
// it or nothing can be done yet; a thread that does not exist or was deleted is
// the same, since hints may be late or forged.
func (s *Service) Claim(ctx context.Context, key core.ThreadKey) (head thread.Head, claimed bool, err error) {
	head, effects, err := s.Commit(ctx, key, thread.Head{}, thread.Claim{Worker: s.worker, Lease: s.lease.Milliseconds()})
	if errors.Is(err, thread.ErrNotFound) || errors.Is(err, thread.ErrDeleted) {
		return head, false, nil
	}
	return head, effects.Claimed, err
}

// Cancel ends a run of the thread: the open one, or a queued one. A zero run
// means whatever is open, else what is queued first. It answers the run that it
// ended; thread.ErrNotFound when there is none.
func (s *Service) Cancel(ctx context.Context, key core.ThreadKey, run core.ID) (core.ID, error) {
	head, err := s.Head(ctx, key)
	if err != nil {
		return run, err
	}
	if run.IsZero() {
		switch {
		case head.Open():
			run = head.Run.ID
		case len(head.Pending) > 0:
			run = head.Pending[0].Run
		}
	}
	if run.IsZero() {
		return run, fmt.Errorf("thread %s has no open or queued run: %w", key, thread.ErrNotFound)
	}
	_, _, err = s.Commit(ctx, key, head, thread.Cancel{Run: run})
	return run, err
}

// sweepLimit bounds how many threads of a shard one sweep wakes; the most
// overdue come first and the next sweep takes the rest.
const sweepLimit = 100

// Sweep wakes every overdue thread: lost hints, expired leases, delayed work
// beyond the queue's longest delay. It answers how many it woke, and of each
// shard the first thing that went wrong.
func (s *Service) Sweep(ctx context.Context) (woken int, err error) {
	for shard := range store.Shards {
		if ctx.Err() != nil {
			return woken, errors.Join(err, ctx.Err())
		}
		n, failed := s.sweepShard(ctx, shard)
		woken, err = woken+n, errors.Join(err, failed)
	}
	return woken, err
}

func (s *Service) sweepShard(ctx context.Context, shard int) (woken int, failed error) {
	s.env.Reach(env.PointDue, env.Before)
	keys, err := s.store.Overdue(ctx, shard, s.env.Millis(), sweepLimit)
	s.env.Reach(env.PointDue, env.After)
	if err != nil {
		return 0, fmt.Errorf("list overdue threads of shard %d: %w", shard, err)
	}
	if len(keys) == 0 {
		return 0, nil
	}
	hints := make([]core.WakeUp, len(keys))
	for i, key := range keys {
		hints[i] = core.WakeUp{Tenant: key.Tenant, Thread: key.Thread}
	}
	if w, ok := s.waker.(BatchWaker); ok && len(hints) > 1 {
		return s.wakeTogether(ctx, w, hints)
	}
	return s.wakeEach(ctx, hints)
}

// wakeTogether sends the sweep's hints in batches.
func (s *Service) wakeTogether(ctx context.Context, w BatchWaker, hints []core.WakeUp) (woken int, err error) {
	s.env.Reach(env.PointSweepHint, env.Before)
	err = w.WakeBatch(ctx, hints, 0)
	s.env.Reach(env.PointSweepHint, env.After)
	if err == nil {
		return len(hints), nil
	}
	lost := len(hints)
	var partly interface{ Failed() int }
	if errors.As(err, &partly) {
		lost = partly.Failed()
	}
	return len(hints) - lost, fmt.Errorf("wake overdue threads: %w", err)
}

// wakeEach sends the sweep's hints one by one, as long as there is time.
func (s *Service) wakeEach(ctx context.Context, hints []core.WakeUp) (woken int, failed error) {
	for i := 0; i < len(hints) && ctx.Err() == nil; i++ {
		s.env.Reach(env.PointSweepHint, env.Before)
		err := s.waker.Wake(ctx, hints[i], 0)
		s.env.Reach(env.PointSweepHint, env.After)
		switch {
		case err == nil:
			woken++
		case failed == nil:
			failed = fmt.Errorf("wake overdue thread %s: %w", hints[i].Key(), err)
		}
	}
	return woken, failed
}

// Reclaim takes back the claims of holders that are known to be gone, and wakes
// their threads at once instead of after the lease.
func (s *Service) Reclaim(ctx context.Context, keys []core.ThreadKey) error {
	for _, key := range keys {
		if _, _, err := s.Commit(ctx, key, thread.Head{}, thread.Reclaim{}); err != nil && !errors.Is(err, thread.ErrDeleted) {
			return fmt.Errorf("take back the claim of %s: %w", key, err)
		}
	}
	return nil
}

// rewakeDelay spaces the hints that come back from the dead-letter queue.
const rewakeDelay = time.Minute

// Rewake is the dead-letter queue's consumer: a thread that still has something
// to do, now or later, is woken again after a delay; otherwise, as for a hint
// that names no thread, woken is false and the hint can go.
func (s *Service) Rewake(ctx context.Context, hint core.WakeUp) (woken bool, err error) {
	if hint.Check() != nil {
		return false, nil
	}
	head, err := s.Head(ctx, hint.Key())
	if err != nil || head.DueAt == 0 {
		return false, err
	}
	if err := s.waker.Wake(ctx, hint, rewakeDelay); err != nil {
		return false, fmt.Errorf("wake thread %s again: %w", hint.Key(), err)
	}
	return true, nil
}

// Locate finds the thread of a run; ok is false when no such run was submitted
// by the tenant.
func (s *Service) Locate(ctx context.Context, tenant string, run core.ID) (key core.ThreadKey, dispatch core.ID, ok bool, err error) {
	value, ok, err := s.store.Pointer(ctx, tenant, runPointer(run))
	if err != nil || !ok {
		return key, dispatch, false, err
	}
	var p pointer
	if err := decodeStored(value, &p); err != nil {
		return key, dispatch, false, core.Errorf(core.CodeCorrupt, "decode pointer of run %s: %w", run, err)
	}
	return core.ThreadKey{Tenant: tenant, Thread: p.Thread}, p.Dispatch, true, nil
}

// Run reads a run as it stands: the head decides about an open or queued run,
// its record about a finished one, an audit about one that never started. ok is
// false when the thread does not know the run.
func (s *Service) Run(ctx context.Context, key core.ThreadKey, head thread.Head, run, dispatch core.ID) (r core.Run, ok bool, err error) {
	status, live := head.RunStatus(run)
	record, found, err := s.store.Get(ctx, key, store.RunName(run))
	if err != nil {
		return r, false, fmt.Errorf("read run %s: %w", run, err)
	}
	if found {
		if err := json.Unmarshal(record.Payload, &r); err != nil {
			return r, false, core.Errorf(core.CodeCorrupt, "decode run %s: %w", run, err)
		}
	} else {
		if live && run == head.Run.ID {
			dispatch = head.Run.Dispatch // the caller's may be that of an input that the run got later
		}
		if r, err = s.queued(ctx, key, run, dispatch); err != nil {
			return r, false, err
		}
	}
	if live {
		r.Status = status
		if status == core.RunDone {
			r.Termination = head.Run.Reason.Termination()
		} else {
			r.Termination, r.FinishedAt, r.Response = nil, 0, ""
		}
		return r, true, nil
	}
	if found {
		return r, true, nil
	}
	audit, ok, err := s.audit(ctx, key, dispatch)
	if err != nil || !ok || audit.Run != run {
		return r, false, err
	}
	r.Status, r.Termination = core.RunDone, &core.Termination{Type: core.TerminationCancelled}
	if audit.Status == core.DispatchSuperseded {
		r.Termination.Type = core.TerminationSuperseded
	}
	return r, true, nil
}

// audit reads how a dispatch or inbox entry ended that no run record tells of.
func (s *Service) audit(ctx context.Context, key core.ThreadKey, dispatch core.ID) (a auditEntry, ok bool, err error) {
	record, ok, err := s.store.Get(ctx, key, store.AuditName(dispatch))
	if err != nil || !ok {
		return a, false, err
	}
	if err := json.Unmarshal(record.Payload, &a); err != nil {
		return a, false, core.Errorf(core.CodeCorrupt, "decode audit of %s: %w", dispatch, err)
	}
	return a, true, nil
}

// queued builds the record of a run that no step has opened, from its input.
func (s *Service) queued(ctx context.Context, key core.ThreadKey, run, dispatch core.ID) (core.Run, error) {
	r := core.Run{ID: run, ThreadID: key.Thread, Dispatch: dispatch, Status: core.RunCreated, CreatedAt: createdAt(dispatch)}
	record, ok, err := s.store.Get(ctx, key, store.InputName(dispatch, 0))
	if err != nil || !ok {
		return r, err
	}
	in, err := thread.DecodeQueued(record.Payload)
	r.AgentID = in.AgentID
	return r, err
}
