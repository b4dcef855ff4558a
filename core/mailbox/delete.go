package mailbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/point"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// A deleted thread is a permanent tombstone. Its records are erased after that: by the worker
// that gets the sweep's hint, as much as a delivery has time for. The pointers of its
// runs stay, and hold only ids. They lead to the tombstone, so that such a run is reported
// as deleted and not as unknown. The pointer of an idempotency key expires by itself.
//
// A worker that was paused in the middle of a step puts records without looking at the head.
// Therefore a thread stays due, and each sweep erases later records, until the deletion is so
// old that no worker of that time can live. Then the head is marked as erased, and the sweep
// skips it.

// linger is how long after its deletion a thread is still looked at for records that late
// workers have put: longer than any invocation of a function lasts, with its lease.
const linger = 20 * time.Minute

// How much one delivery erases: records per call of the store, and calls. Then the hint is
// sent again, so that other threads have their turn.
const (
	erasePage  = 100
	erasePages = 20
)

// Delete makes the thread a tombstone. When it returns without error that is durable: every
// later request for the thread is thread.ErrDeleted, a worker that holds it stops at its
// next look, and nothing that it still writes becomes visible. The records of the thread are
// erased afterwards. A second Delete does nothing. thread.ErrNotFound: there never was such a
// thread. thread.ErrForbidden: it is another user's.
func (s *Service) Delete(ctx context.Context, key core.ThreadKey, user string) error {
	if err := s.writeTombstone(ctx, key, user); err != nil {
		return err
	}
	// The sweep would find it, later, so that a lost hint does no harm.
	s.wakes.trySend(ctx, core.WakeUp{Tenant: key.Tenant, Thread: key.Thread, Sweep: true}, 0, point.Hint)
	return nil
}

// writeTombstone makes the tombstone. If an open run is metered, the tombstone's write also
// records its usage since it started or was resumed, since no step ends it any more. The
// uncommitted usage of its holder is lost.
//
// The usage record is made for the head that the tombstone replaces. If the head moves
// before the write, both are made again.
func (s *Service) writeTombstone(ctx context.Context, key core.ThreadKey, user string) error {
	c := commit{w: &s.writer, key: key}
	var was thread.Head
	c.choose = func(h thread.Head) thread.Change {
		was = h
		return thread.Delete{Owner: user}
	}
	c.build = func(next thread.Head, result thread.Result) ([]store.Record, error) {
		if result.Stretch == nil {
			return nil, nil
		}
		record, err := deletedUsage(ctx, s, key, was, next, result)
		record.Fence, record.Version = was.Fence, next.Version
		return []store.Record{record}, err
	}
	_, _, err := c.run(ctx, thread.Head{})
	return err
}

// erase removes the records of a deleted thread, and notes in its head when nothing more can
// come. The next sweep continues if time runs out, or if records are still needed to deliver
// what the thread owes.
//
// The error is that of a hint that could not be sent. Other failures are logged: the next
// sweep comes back to the thread.
func (s *Service) erase(ctx context.Context, hint core.WakeUp, head thread.Head) error {
	key := hint.Key()
	if !head.Deleted || head.Erased || head.Outbox.OwesRecords() {
		return nil
	}
	for range erasePages {
		erased, err := s.store.Erase(ctx, key, erasePage)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil
		case err != nil:
			s.log.WarnContext(ctx, "deleted thread not erased, will be retried", "tenant", key.Tenant, "thread", key.Thread, "error", err)
			return nil
		case erased == 0:
			return s.noteErased(ctx, key, head)
		}
	}
	return s.wakes.send(ctx, hint, 0, point.Continue)
}

// noteErased notes in the head that nothing is left, and that nothing more can come. The
// time of the head's last write is in its commit id; a write after the delete only makes it
// later.
func (s *Service) noteErased(ctx context.Context, key core.ThreadKey, head thread.Head) error {
	if s.env.Millis() < createdAt(head.CommitID)+linger.Milliseconds() {
		return nil
	}
	_, _, err := s.Commit(ctx, key, head, thread.Delete{Erased: true}, nil)
	if err != nil && !errors.Is(err, thread.ErrNotFound) {
		return fmt.Errorf("note that %s is erased: %w", key, err)
	}
	return nil
}
