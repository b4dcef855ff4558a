package mailbox

import (
	"context"
	"log/slog"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/point"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// Waker sends wake-ups. A lost one only costs latency: errors are logged, and the next
// sweep finds the thread.
type Waker interface {
	// Wake delivers the hint after the delay, or a little later; 0: immediately.
	Wake(ctx context.Context, hint core.WakeUp, delay time.Duration) error
}

// BatchWaker is a Waker that sends many hints in few calls; the sweep uses it.
type BatchWaker interface {
	Waker
	// WakeBatch is Wake for each of the hints. An error with a method Failed() int returns how
	// many were not sent; any other means that none was.
	WakeBatch(ctx context.Context, hints []core.WakeUp, delay time.Duration) error
}

// SecondWaker is a Waker for a queue that keeps the hint of a process that dies hidden for
// minutes, such as SQS. While a worker has a claim, a second hint is on its way, which comes
// within two leases: a run whose worker died is taken over then. Other Wakers are sent no second
// hints; the sweep finds such runs, and must be frequent.
type SecondWaker interface {
	Waker
	// WakeTwice is Wake with the delay, and again with the longer one, in one request if the
	// queue can.
	WakeTwice(ctx context.Context, hint core.WakeUp, delay, second time.Duration) error
}

// longestSecond is the longest delay of a second hint, which every queue can keep.
const longestSecond = 15 * time.Minute

// secondLease is the lease for which second hints are sent, in milliseconds; 0: none are, since
// the waker does without, or could not keep one for so long.
func secondLease(w Waker, lease time.Duration) int64 {
	if _, ok := w.(SecondWaker); !ok || 2*lease > longestSecond {
		return 0
	}
	return lease.Milliseconds()
}

// wakes sends wake-ups for everything in this package but the sweep, which sends its own
// in batches. It knows nothing of heads but what a hint carries.
// It is copied freely: it holds no state.
type wakes struct {
	env   *env.Env
	waker Waker
	log   *slog.Logger
}

// send sends a hint, also when the caller's context has ended: the head is written, and
// its work should not wait for the sweep. at names the I/O, for test builds that crash
// there.
func (w wakes) send(ctx context.Context, hint core.WakeUp, delay time.Duration, at env.Point) error {
	done := w.env.Reach(at)
	err := w.waker.Wake(context.WithoutCancel(ctx), hint, delay)
	done()
	return err
}

// trySend is send for a hint that the sweep can make up for. If it is lost, that is not
// an error of the caller's: the write was applied, and a client that retried it would
// write twice.
func (w wakes) trySend(ctx context.Context, hint core.WakeUp, delay time.Duration, at env.Point) {
	w.logLost(ctx, hint, w.send(ctx, hint, delay, at))
}

func (w wakes) logLost(ctx context.Context, hint core.WakeUp, err error) {
	if err != nil {
		w.log.WarnContext(ctx, "wake-up lost, the sweep will find the thread",
			"tenant", hint.Tenant, "thread", hint.Thread, "dispatch", hint.Dispatch, "error", err)
	}
}

// afterWrite sends the wake-up that follows a write, and the second one, or one of them. Their
// times are the head's. Their epoch is the one that the write made, so that a hint from before
// the write can be recognized. A hint without a time is delivered at once.
func (w wakes) afterWrite(ctx context.Context, key core.ThreadKey, head thread.Head, hint *thread.Hint, second int64, at env.Point) {
	wait := func(until int64) time.Duration { return max(0, time.Duration(until-w.env.Millis())*time.Millisecond) }
	body := core.WakeUp{Tenant: key.Tenant, Thread: key.Thread, Dispatch: head.Run.Dispatch, Epoch: head.Epoch}
	if hint != nil {
		body.Dispatch, body.Followed, body.WakeAt = hint.Dispatch, hint.Followed, hint.WakeAt
	}
	switch waker, ok := w.waker.(SecondWaker); {
	case hint == nil && second == 0:
	case hint == nil:
		w.sendSecond(ctx, body, wait(second), at)
	case second == 0 || !ok:
		w.trySend(ctx, body, wait(hint.At), at)
	default:
		done := w.env.Reach(at)
		err := waker.WakeTwice(context.WithoutCancel(ctx), body, wait(hint.At), wait(second))
		done()
		w.logLost(ctx, body, err)
	}
}

// secondWithin is how long a queue may take for a second hint that is sent alone.
const secondWithin = 5 * time.Second

// sendSecond sends a second hint alone, as trySend does, but gives a queue up that does not answer.
// The holder of a claim waits for it, and sees neither the loss of the claim nor the end of its run
// meanwhile.
func (w wakes) sendSecond(ctx context.Context, hint core.WakeUp, delay time.Duration, at env.Point) {
	within, cancel := w.env.WithTimeout(context.WithoutCancel(ctx), secondWithin)
	defer cancel()
	done := w.env.Reach(at)
	err := w.waker.Wake(within, hint, delay)
	done()
	w.logLost(ctx, hint, err)
}

// Wake sends a hint after the delay, also when ctx has ended.
func (s *Service) Wake(ctx context.Context, hint core.WakeUp, delay time.Duration) error {
	return s.wakes.send(ctx, hint, delay, point.Continue)
}

// WakeLeft sends a hint if the work of a thread seems to be abandoned, under a head that the
// caller has just read, and reports whether it has. A caller that follows the thread asks at each
// look: its client should not wait for the sweep. One hint for each version of the head is enough.
// It is sent like a sweep's, and never renews itself: clients come back to a thread that no
// program can claim, and each would leave another hint on its way.
func (s *Service) WakeLeft(ctx context.Context, key core.ThreadKey, head thread.Head) bool {
	if !head.Left(s.env.Millis(), s.lease.Milliseconds()) {
		return false
	}
	s.log.InfoContext(ctx, "work of a followed thread is abandoned, a worker is woken", "tenant", key.Tenant, "thread", key.Thread, "run", head.Run.ID)
	s.wakes.trySend(ctx, core.WakeUp{Tenant: key.Tenant, Thread: key.Thread, Dispatch: head.Run.Dispatch, Epoch: head.Epoch, Sweep: true}, 0, point.Continue)
	return true
}

// WakeToCompact asks a worker for the summary that the thread's newest turn names. The
// sweep does not look for a lost one: a later step asks again.
func (s *Service) WakeToCompact(ctx context.Context, key core.ThreadKey) {
	err := s.wakes.send(ctx, core.WakeUp{Tenant: key.Tenant, Thread: key.Thread, Kind: core.WakeCompact}, 0, point.Continue)
	if err != nil {
		s.log.WarnContext(ctx, "summary request lost, will be repeated", "tenant", key.Tenant, "thread", key.Thread, "error", err)
	}
}
