package mailbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// Waker sends wake-ups. A lost one costs latency only: errors are logged and
// the sweep comes round.
type Waker interface {
	// Wake delivers the hint after the delay, or a little later; 0 is at once.
	Wake(ctx context.Context, hint core.WakeUp, delay time.Duration) error
}

// BatchWaker is a Waker that sends many hints in few calls; the sweep uses it.
type BatchWaker interface {
	Waker
	// WakeBatch is Wake for each of the hints. An error with a method
	// Failed() int says how many were not sent; any other means none.
	WakeBatch(ctx context.Context, hints []core.WakeUp, delay time.Duration) error
}

// Options configures a Service. Env, Store and Waker are required.
type Options struct {
	Env    *env.Env
	Store  store.Backend
	Waker  Waker
	Logger *slog.Logger     // nil: slog.Default
	Due    thread.DuePolicy // as the backend's index wants it; zero: exact
	Worker string           // name in claims, 1 to 64 bytes; "": "worker"
	Lease  time.Duration    // of a claim; 0: 30 s
}

// DefaultLease is how long a claim holds without renewal.
const DefaultLease = 30 * time.Second

// Service is the mailbox. It is safe for concurrent use and keeps no state of
// its own.
type Service struct {
	env    *env.Env
	store  store.Backend
	waker  Waker
	log    *slog.Logger
	due    thread.DuePolicy
	worker string
	lease  time.Duration
}

// New returns a Service.
func New(o Options) (*Service, error) {
	if o.Env == nil || o.Store == nil || o.Waker == nil {
		return nil, core.Errorf(core.CodeInvalid, "mailbox: Env, Store and Waker are required")
	}
	s := &Service{env: o.Env, store: o.Store, waker: o.Waker, log: o.Logger, due: o.Due, worker: o.Worker, lease: o.Lease}
	if s.log == nil {
		s.log = slog.Default()
	}
	if s.worker == "" {
		s.worker = "worker"
	}
	if len(s.worker) > thread.MaxWorkerName {
		return nil, core.Errorf(core.CodeInvalid, "mailbox: worker name of %d bytes, at most %d are allowed", len(s.worker), thread.MaxWorkerName)
	}
	if s.lease == 0 {
		s.lease = DefaultLease
	}
	return s, nil
}

// Lease is how long the service's claims hold.
func (s *Service) Lease() time.Duration { return s.lease }

// Head reads a thread's head.
func (s *Service) Head(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
	h, err := s.store.Head(ctx, key)
	if err != nil {
		return h, fmt.Errorf("read head of %s: %w", key, err)
	}
	return h, nil
}

// The commit loop gives up after this many refused or failed writes. A refusal
// costs no wait, since it brings the current head; a failure backs off.
const (
	maxRefusals = 64
	maxFailures = 5
	failureBase = 50 * time.Millisecond
)

// Commit applies an action to a thread, starting from known if it has a version
// (it may be stale) and from the stored head otherwise. It stores the effects
// that come before the head, writes the head, and sends the hint that comes
// after it. An answer that was lost on the way is settled by the commit id. The
// errors are thread's, or the store's when the outcome stays unknown.
func (s *Service) Commit(ctx context.Context, key core.ThreadKey, known thread.Head, action thread.Action) (thread.Head, thread.Effects, error) {
	where := pointsOf(action)
	head := known
	var err error
	if !head.Exists() {
		if head, err = s.Head(ctx, key); err != nil {
			return head, thread.Effects{}, err
		}
	}
	id := s.env.NewID()
	refusals, failures := 0, 0
	for {
		command := thread.Command{Now: s.env.Millis(), CommitID: id, Due: s.due, Action: action}
		next, effects, err := thread.Apply(head, command)
		if err != nil {
			return head, effects, fmt.Errorf("thread %s: %w", key, err)
		}
		if effects.Unchanged {
			s.hint(ctx, key, next, effects.Hint, where.hint)
			return next, effects, nil
		}
		before := append(effects.Before, consumed(action, head.Run.ID)...)
		stored, ok, err := s.write(ctx, key, next, before, where.head)
		if err == nil && (ok || stored.CommitID == id) {
			s.hint(ctx, key, next, effects.Hint, where.hint)
			return next, effects, nil
		}
		if err != nil {
			if failures++; failures > maxFailures || !retryable(err) {
				return head, thread.Effects{}, fmt.Errorf("write head of %s: %w", key, err)
			}
			if err := s.env.Sleep(ctx, s.env.Jitter(failureBase<<failures)); err != nil {
				return head, thread.Effects{}, fmt.Errorf("write head of %s: %w", key, err)
			}
			if stored, err = s.Head(ctx, key); err != nil {
				continue
			}
			if stored.CommitID == id {
				s.hint(ctx, key, next, effects.Hint, where.hint)
				return next, effects, nil
			}
			if s.wasRead(ctx, key, action) {
				return stored, thread.Effects{Unchanged: true, Duplicate: true}, nil
			}
		} else if refusals++; refusals > maxRefusals {
			return head, thread.Effects{}, core.Errorf(core.CodeThrottled, "write head of %s: lost %d races", key, refusals)
		}
		head = stored
	}
}

// wasRead reports whether an input whose write had no answer has already been
// read by a step, so that its place in the inbox no longer shows it.
func (s *Service) wasRead(ctx context.Context, key core.ThreadKey, action thread.Action) bool {
	input, ok := action.(thread.Input)
	if !ok {
		return false
	}
	_, ok, err := s.audit(ctx, key, input.ID)
	return ok && err == nil
}

// write stores what comes before the head, then the head.
func (s *Service) write(ctx context.Context, key core.ThreadKey, next thread.Head, before []thread.Audit, at env.Point) (stored thread.Head, ok bool, err error) {
	for _, audit := range before {
		record, err := auditRecord(audit)
		if err != nil {
			return thread.Head{}, false, err
		}
		if err := s.store.Put(ctx, key, record); err != nil && !errors.Is(err, store.ErrConflict) {
			return thread.Head{}, false, fmt.Errorf("put audit: %w", err)
		}
	}
	s.env.Reach(at, env.Before)
	stored, ok, err = s.store.CompareAndSet(ctx, key, next)
	s.env.Reach(at, env.After)
	return stored, ok, err
}

// retryable reports whether trying the write again can help.
func retryable(err error) bool {
	switch core.CodeOf(err) {
	case core.CodeInvalid, core.CodeTooLarge, core.CodeCorrupt, core.CodeSchema, core.CodeConflict:
		return false
	}
	return !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// hint sends the wake-up that follows a write.
func (s *Service) hint(ctx context.Context, key core.ThreadKey, head thread.Head, hint *thread.Hint, at env.Point) {
	if hint == nil {
		return
	}
	var delay time.Duration
	if hint.At != 0 {
		delay = max(0, time.Duration(hint.At-s.env.Millis())*time.Millisecond)
	}
	s.wake(ctx, core.WakeUp{Tenant: key.Tenant, Thread: key.Thread, Dispatch: hint.Dispatch, Epoch: head.Epoch}, delay, at)
}

// wake sends a hint, outliving the caller's cancellation: the head is written
// and its work should not wait for the sweep.
func (s *Service) wake(ctx context.Context, hint core.WakeUp, delay time.Duration, at env.Point) {
	s.env.Reach(at, env.Before)
	err := s.waker.Wake(context.WithoutCancel(ctx), hint, delay)
	s.env.Reach(at, env.After)
	if err != nil {
		s.log.WarnContext(ctx, "wake-up lost, the sweep will find the thread",
			"tenant", hint.Tenant, "thread", hint.Thread, "dispatch", hint.Dispatch, "error", err)
	}
}

type points struct{ head, hint env.Point }

// pointsOf names the I/O of a command.
func pointsOf(action thread.Action) points {
	switch action.(type) {
	case thread.Enqueue, thread.EnqueueAndClaim, thread.Input, thread.Interrupt:
		return points{env.PointEnqueue, env.PointHint}
	case thread.Claim, thread.Reclaim:
		return points{env.PointClaim, env.PointContinue}
	case thread.CommitTurn, thread.Suspend:
		return points{env.PointCommitTurn, env.PointContinue}
	case thread.Decide, thread.Cancel:
		return points{env.PointDecide, env.PointDecisionHint}
	}
	return points{env.PointCommitStep, env.PointContinue}
}
