package mailbox

import (
	"context"
	"errors"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/point"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// How long a hint waits before it is delivered again.
const (
	schemaDelay  = 30 * time.Second // to a program that is too old; doubled with each attempt
	schemaCap    = 5 * time.Minute
	schemaTries  = 6
	suspectDelay = 500 * time.Millisecond // to a process that has other work; and up to 2.5 s more
	failedDelay  = 5 * time.Second        // after a claim that failed; and up to 25 s more
)

// Claim tries to claim the thread that a hint names. claimed is false if another worker holds
// it or nothing can be done yet. It is also false for a thread that does not exist or was
// deleted, since hints may be late or forged. alone means that the process does nothing else at
// the same time, which a suspect needs: see thread.ErrSuspect.
//
// A hint that finds something to do which this process must not or cannot claim is sent
// again, so that the message of the queue can be acknowledged. The error is that of a claim
// that failed and whose hint could not be sent either.
func (s *Service) Claim(ctx context.Context, hint core.WakeUp, alone bool) (head thread.Head, claimed bool, err error) {
	return s.ClaimFrom(ctx, thread.Head{}, hint, alone)
}

// ClaimFrom is Claim for a caller that has read the head since the hint came, and saves another
// read. Later changes have separate hints. A zero head is read.
func (s *Service) ClaimFrom(ctx context.Context, known thread.Head, hint core.WakeUp, alone bool) (head thread.Head, claimed bool, err error) {
	return s.claim(ctx, known, hint, thread.TakeClaim{Alone: alone})
}

// ClaimInline is ClaimFrom for a request that streams the run, and is not alone: the claim has
// no second hint while the run is young.
func (s *Service) ClaimInline(ctx context.Context, known thread.Head, hint core.WakeUp) (head thread.Head, claimed bool, err error) {
	return s.claim(ctx, known, hint, thread.TakeClaim{Inline: true})
}

func (s *Service) claim(ctx context.Context, known thread.Head, hint core.WakeUp, change thread.TakeClaim) (head thread.Head, claimed bool, err error) {
	// No condition is checked here. Apply refuses or changes nothing where the thread
	// cannot be claimed, on the head that is written and not on one that was read.
	change.Worker, change.Lease, change.WakeAt = s.worker, s.lease.Milliseconds(), hint.WakeAt
	c := commit{w: &s.writer, key: hint.Key(), quiet: hint.Sweep, change: change, build: s.woken}
	head, result, err := c.run(ctx, known)
	switch {
	case err == nil:
		return head, result.Claimed, nil
	case errors.Is(err, thread.ErrDeleted) && hint.Sweep:
		return head, false, s.erase(ctx, hint, head)
	case errors.Is(err, thread.ErrNotFound), errors.Is(err, thread.ErrDeleted):
		return head, false, nil
	case errors.Is(err, thread.ErrSchema):
		return head, false, s.passToNewer(ctx, hint, err)
	case errors.Is(err, thread.ErrSuspect):
		return head, false, s.wakes.send(ctx, renewed(hint), suspectDelay+s.env.Jitter(5*suspectDelay), point.Continue)
	case core.CodeOf(err) == core.CodeCorrupt:
		if handled, failed := s.setAside(ctx, hint.Key(), err); handled {
			return head, false, failed
		}
		return head, false, err // no other attempt can read it, so that the queue's own count ends it
	}
	// From here on the claim failed for a reason that another attempt may overcome, such as
	// a store that does not respond.
	if hint.Sweep { // the next sweep sends another: else each would add one, for as long as the store fails
		s.log.WarnContext(ctx, "claim failed, the next sweep finds the thread", "tenant", hint.Tenant, "thread", hint.Thread, "error", err)
		return head, false, nil
	}
	s.log.WarnContext(ctx, "claim failed, its hint is sent again", "tenant", hint.Tenant, "thread", hint.Thread, "error", err)
	if failed := s.wakes.send(ctx, renewed(hint), failedDelay+s.env.Jitter(5*failedDelay), point.Continue); failed != nil {
		return head, false, errors.Join(err, failed)
	}
	return head, false, nil
}

// wokenIn makes the records of the decisions of the clock that come with a claim.
func wokenIn(codec thread.Records) func(thread.Head, thread.Result) ([]store.Record, error) {
	return func(next thread.Head, result thread.Result) (records []store.Record, err error) {
		for _, w := range result.Woken {
			payload, err := codec.Encode("decision", w.Decision())
			if err != nil {
				return nil, err
			}
			name := recordname.Decision(next.Run.ID, next.Run.Base-1, w.Call, thread.WakeKey(next.Run.ID, w.Ticket))
			records = append(records, store.Record{Name: name, Payload: payload})
		}
		return records, nil
	}
}

// passToNewer sends a hint on for a newer program, a limited number of times; then the
// thread is the sweep's. Without the limit the hints of a long rollback would circulate for
// as long as it lasts, more of them with every write.
func (s *Service) passToNewer(ctx context.Context, hint core.WakeUp, why error) error {
	if hint.Sweep || hint.Tries >= schemaTries {
		return nil
	}
	delay := min(schemaCap, schemaDelay<<hint.Tries)
	hint.Tries++
	s.log.InfoContext(ctx, "thread waits for a newer program", "tenant", hint.Tenant, "thread", hint.Thread, "tries", hint.Tries, "error", why)
	return s.wakes.send(ctx, hint, delay, point.Continue)
}

// renewed is a hint that is sent again. It is no longer a sweep's: it renews itself for as
// long as the claim is refused, and ends with the first claim that is not.
func renewed(hint core.WakeUp) core.WakeUp {
	hint.Sweep = false
	return hint
}

// Reclaim ends the claims of holders that are known to be gone, and wakes their threads
// immediately instead of after the lease. A thread that cannot be read keeps its claim, with
// a log line: the others are reclaimed.
//
// Only a caller that knows them gone may call it: a local host that holds the lock of its
// file. A holder that lives is fenced off, as by any later claim, and loses its step.
func (s *Service) Reclaim(ctx context.Context, keys []core.ThreadKey) error {
	for _, key := range keys {
		_, _, err := s.Commit(ctx, key, thread.Head{}, thread.Reclaim{}, nil)
		switch {
		case err == nil, errors.Is(err, thread.ErrDeleted):
		case ctx.Err() != nil:
			return context.Cause(ctx)
		default:
			s.log.ErrorContext(ctx, "claim of a dead process not released", "tenant", key.Tenant, "thread", key.Thread, "error", err)
		}
	}
	return nil
}
