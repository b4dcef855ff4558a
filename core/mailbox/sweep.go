package mailbox

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/store"
)

// sweepPage is how many threads a sweep wakes at a time.
const sweepPage = 100

// Sweep wakes every overdue thread: lost hints, expired leases, delayed work
// beyond the queue's longest delay. It goes through all shards, page by page,
// until its time is over, and begins at another shard each time, so that
// threads which nobody can claim hold up no others; or through none, where the store
// says that nothing is due. It returns how many it woke, and of each shard the first
// thing that went wrong. Where tenants have limits it then gives back slots that nobody
// runs in: see package account.
func (s *Service) Sweep(ctx context.Context) (woken int, err error) {
	var random [8]byte // two sweeps at once, or one that runs out of time, do not neglect the same shards
	s.env.Random(random[:])
	first := int(binary.BigEndian.Uint64(random[:]) % store.Shards)
	quiet, err := s.nothingDue(ctx)
	if quiet {
		return 0, s.sweepSlots(ctx)
	}
	until := s.env.Millis() // fixed, or threads that fall due meanwhile would keep it going
	for i := range store.Shards {
		if ctx.Err() != nil {
			return woken, errors.Join(err, ctx.Err())
		}
		n, failed := s.sweepShard(ctx, (first+i)%store.Shards, until)
		woken, err = woken+n, errors.Join(err, failed)
	}
	err = errors.Join(err, s.sweepSlots(ctx))
	return woken, errors.Join(err, ctx.Err()) // in the last shard, time may have been over before the end
}

// nothingDue asks a store that can tell by one read; of an error the shards know more.
func (s *Service) nothingDue(ctx context.Context) (bool, error) {
	due, ok := s.store.(store.QuietDue)
	if !ok || ctx.Err() != nil {
		return false, nil
	}
	s.env.Reach(env.PointDue, env.Before)
	quiet, err := due.NothingDue(ctx)
	s.env.Reach(env.PointDue, env.After)
	if err != nil {
		return false, fmt.Errorf("look whether a thread is due: %w", err)
	}
	return quiet, nil
}

// sweepShard wakes the overdue threads of one shard. The list is an index that may lag
// behind the heads: a thread that was claimed since is woken for nothing, one that it
// does not show yet is the next sweep's. A failed page of hints does not end it, since
// the threads behind may be reachable.
func (s *Service) sweepShard(ctx context.Context, shard int, until int64) (woken int, failed error) {
	var after *store.Overdue
	for ctx.Err() == nil {
		s.env.Reach(env.PointDue, env.Before)
		page, err := s.store.Overdue(ctx, shard, until, after, sweepPage)
		s.env.Reach(env.PointDue, env.After)
		if err != nil {
			return woken, errors.Join(failed, fmt.Errorf("list overdue threads of shard %d: %w", shard, err))
		}
		if len(page) == 0 {
			break
		}
		hints := make([]core.WakeUp, len(page))
		for i, due := range page {
			hints[i] = core.WakeUp{Tenant: due.Key.Tenant, Thread: due.Key.Thread, Sweep: true}
		}
		n, err := s.wakeAll(ctx, hints)
		woken += n
		if failed == nil {
			failed = err
		}
		if len(page) < sweepPage {
			break
		}
		after = &page[len(page)-1]
	}
	return woken, failed
}

// wakeAll sends the hints of a page, in as few calls as the waker can.
func (s *Service) wakeAll(ctx context.Context, hints []core.WakeUp) (woken int, err error) {
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

// rewakeDelay spaces the hints that come back from the dead-letter queue: what
// brought them there may well happen again.
const rewakeDelay = time.Minute

// Rewake is the dead-letter queue's consumer: a thread that still has something
// to do, now or later, is woken again after a delay; otherwise, as for a hint
// that names no thread, woken is false and the hint can go.
func (s *Service) Rewake(ctx context.Context, hint core.WakeUp) (woken bool, err error) {
	if hint.Check() != nil || hint.Kind == core.WakeCompact { // a later step asks again
		return false, nil
	}
	head, err := s.Head(ctx, hint.Key())
	if err != nil || head.DueAt == 0 {
		return false, err
	}
	// The hint goes on as it is, with its tries: one that was left to a newer program
	// must not begin to count anew.
	if err := s.waker.Wake(ctx, hint, rewakeDelay); err != nil {
		return false, fmt.Errorf("wake thread %s again: %w", hint.Key(), err)
	}
	return true, nil
}
