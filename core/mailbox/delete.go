package mailbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/thread"
)

// A deleted thread is a tombstone for good, and what it had is erased behind it: by
// whoever gets the sweep's hint, as much as a delivery has time for. Its run ids keep
// their pointers, which hold ids alone: they lead to the tombstone, so that a run of
// it is "deleted" and not "never heard of". An idempotency key's expires by itself.
//
// A worker that was paused in the middle of a step puts records without looking at
// the head. So a thread stays due, and each sweep erases what has come since, until
// it was deleted so long ago that no worker of that time can live; then the head
// says that it is erased, and the sweep leaves it alone.

// linger is how long a deleted thread is looked at again for what late workers have put:
// longer than any
// invocation of a function lasts, with its lease.
const linger = 20 * time.Minute

// How much one delivery erases: records a call of the store, and calls. Then the hint
// is sent again, so that other threads have their turn.
const (
	erasePage  = 100
	erasePages = 20
)

// Delete makes the thread a tombstone. When it returns without error that is
// durable: every later request for the thread is thread.ErrDeleted, whoever works on
// it stops at its next look, and nothing that it still writes becomes visible. What
// the thread had is erased afterwards. A second Delete does nothing.
// thread.ErrNotFound: there never was such a thread. thread.ErrForbidden: it is
// another user's.
func (s *Service) Delete(ctx context.Context, key core.ThreadKey, user string) error {
	if err := s.delete(ctx, key, user); err != nil {
		return err
	}
	// A sweep would come to it, later. As the sweep's a lost one is no harm.
	s.wake(ctx, core.WakeUp{Tenant: key.Tenant, Thread: key.Thread, Sweep: true}, 0, env.PointHint)
	return nil
}

// erase removes what a deleted thread has, and notes in its head when nothing more can
// come. What is left when the time is over is the next sweep's.
func (s *Service) erase(ctx context.Context, hint core.WakeUp, head thread.Head) error {
	key := hint.Key()
	if !head.Deleted || head.Erased {
		return nil
	}
	for range erasePages {
		erased, err := s.store.Erase(ctx, key, erasePage)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil
		case err != nil:
			s.log.WarnContext(ctx, "deleted thread could not be erased, the next sweep tries again", "tenant", key.Tenant, "thread", key.Thread, "error", err)
			return nil
		case erased == 0:
			return s.erased(ctx, key, head)
		}
	}
	return s.send(ctx, hint, 0, env.PointContinue)
}

// erased notes that nothing is left, and nothing can come. The time of the head's last
// write is in its id; a write after the delete only makes it later.
func (s *Service) erased(ctx context.Context, key core.ThreadKey, head thread.Head) error {
	if s.env.Millis() < createdAt(head.CommitID)+linger.Milliseconds() {
		return nil
	}
	_, _, err := s.Commit(ctx, key, head, thread.Delete{Erased: true}, nil)
	if err != nil && !errors.Is(err, thread.ErrNotFound) {
		return fmt.Errorf("note that %s is erased: %w", key, err)
	}
	return nil
}
