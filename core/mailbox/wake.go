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
	if err := w.send(ctx, hint, delay, at); err != nil {
		w.log.WarnContext(ctx, "wake-up lost, the sweep will find the thread",
			"tenant", hint.Tenant, "thread", hint.Thread, "dispatch", hint.Dispatch, "error", err)
	}
}

// afterWrite sends the wake-up that follows a write. Its time is the head's. Its epoch
// is the one that the write made, so that a hint from before the write can be recognized.
// A hint without a time is delivered at once.
func (w wakes) afterWrite(ctx context.Context, key core.ThreadKey, head thread.Head, hint *thread.Hint, at env.Point) {
	delay := max(0, time.Duration(hint.At-w.env.Millis())*time.Millisecond)
	w.trySend(ctx, core.WakeUp{Tenant: key.Tenant, Thread: key.Thread, Dispatch: hint.Dispatch, Epoch: head.Epoch, Followed: hint.Followed}, delay, at)
}

// Wake sends a hint after the delay, also when ctx has ended.
func (s *Service) Wake(ctx context.Context, hint core.WakeUp, delay time.Duration) error {
	return s.wakes.send(ctx, hint, delay, point.Continue)
}

// WakeToCompact asks a worker for the summary that the thread's newest turn names. The
// sweep does not look for a lost one: a later step asks again.
func (s *Service) WakeToCompact(ctx context.Context, key core.ThreadKey) {
	err := s.wakes.send(ctx, core.WakeUp{Tenant: key.Tenant, Thread: key.Thread, Kind: core.WakeCompact}, 0, point.Continue)
	if err != nil {
		s.log.WarnContext(ctx, "summary request lost, will be repeated", "tenant", key.Tenant, "thread", key.Thread, "error", err)
	}
}
