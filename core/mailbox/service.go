package mailbox

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
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
	Env     *env.Env
	Store   store.Backend
	Waker   Waker
	Logger  *slog.Logger   // nil: slog.Default
	Records thread.Records // the schemas that the program reads and writes
	Worker  string         // name in claims, 1 to 64 bytes; "": "worker"
	Lease   time.Duration  // of a claim; 0: 30 s
	// Fits checks what a decision brings against what its ticket asks for, before
	// it is taken; see tool.CheckDecision. nil: nothing is checked.
	Fits func(core.Ticket, core.Decision) error
	// Moved is told of every head that this service has written, after the write
	// and before its hint, so that whoever watches a thread in this process need not
	// look. It must not block; heads of one thread may come out of order. nil:
	// nobody watches.
	Moved func(core.ThreadKey, thread.Head)
	// Publisher is told what happens to runs, by [Service.Tell]. nil: nobody is, and
	// what other processes want announced waits for one of them.
	Publisher Publisher
	// KeepUsage is how long what runs have used is kept, see package account: heads keep
	// where their run's stretch stands, and what was spent on it. 0: nothing is recorded.
	KeepUsage time.Duration
	// Announce makes writes leave announcements in the head for a publisher of another
	// process. It is implied by Publisher.
	Announce bool
	// Limits admits runs before they are enqueued, and its slots are swept; nil: nothing is
	// limited.
	Limits *account.Gate
}

// DefaultLease is how long a claim holds without renewal.
const DefaultLease = 30 * time.Second

// Service is the mailbox. It is safe for concurrent use and keeps no state of
// its own that two callers, or two processes, would have to agree on: that is in the head,
// and the store's compare-and-set is the only lock.
type Service struct {
	env     *env.Env
	store   store.Backend
	waker   Waker
	log     *slog.Logger
	due     thread.DuePolicy
	records thread.Records
	worker  string
	lease   time.Duration
	fits    func(core.Ticket, core.Decision) error
	moved   func(core.ThreadKey, thread.Head)

	publisher  Publisher
	announcing bool
	keep       time.Duration // 0: nobody meters
	limits     *account.Gate
	slots      slotSweep
}

// New returns a Service.
func New(o Options) (*Service, error) {
	if o.Env == nil || o.Store == nil || o.Waker == nil {
		return nil, core.Errorf(core.CodeInvalid, "mailbox: Env, Store and Waker are required")
	}
	s := &Service{env: o.Env, store: o.Store, waker: o.Waker, log: o.Logger, due: o.Store.DuePolicy(), records: o.Records, worker: o.Worker, lease: o.Lease, fits: o.Fits, moved: o.Moved}
	s.keep = o.KeepUsage
	s.publisher, s.announcing = o.Publisher, o.Announce || o.Publisher != nil
	s.limits = o.Limits
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

// hint sends the wake-up that follows a write. Its time is the head's, its epoch the
// one that the write has made, so that a hint of before it is told apart.
func (s *Service) hint(ctx context.Context, key core.ThreadKey, head thread.Head, hint *thread.Hint, at env.Point) {
	var delay time.Duration
	if hint.At != 0 {
		delay = max(0, time.Duration(hint.At-s.env.Millis())*time.Millisecond)
	}
	s.wake(ctx, core.WakeUp{Tenant: key.Tenant, Thread: key.Thread, Dispatch: hint.Dispatch, Epoch: head.Epoch, Followed: hint.Followed}, delay, at)
}

// Wake sends a hint, outliving the caller's cancellation: the head is written
// and its work should not wait for the sweep.
func (s *Service) Wake(ctx context.Context, hint core.WakeUp, delay time.Duration) error {
	return s.send(ctx, hint, delay, env.PointContinue)
}

func (s *Service) send(ctx context.Context, hint core.WakeUp, delay time.Duration, at env.Point) error {
	s.env.Reach(at, env.Before)
	err := s.waker.Wake(context.WithoutCancel(ctx), hint, delay)
	s.env.Reach(at, env.After)
	return err
}

// wake is send for a hint that the sweep can make up for. Its failure is no error of
// the caller's: the write stands, and a client that tried again would write twice.
func (s *Service) wake(ctx context.Context, hint core.WakeUp, delay time.Duration, at env.Point) {
	if err := s.send(ctx, hint, delay, at); err != nil {
		s.log.WarnContext(ctx, "wake-up lost, the sweep will find the thread",
			"tenant", hint.Tenant, "thread", hint.Thread, "dispatch", hint.Dispatch, "error", err)
	}
}
