package mailbox

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/point"
	"github.com/reveille-run/reveille/core/store"
)

// sweepPage is how many threads a sweep wakes at a time.
const sweepPage = 100

// Sweep wakes every overdue thread: those with a lost hint, an expired lease, or delayed
// work beyond the queue's longest delay. It goes through all shards, page by page, until its
// time is over, or through none if the store knows that nothing is due. It starts at
// another shard each time, so that threads which no worker can claim hold up no others. It
// returns how many threads it woke, those included that are not due before
// [Options.SweepAhead] is over, and the first error of each shard. Where tenants have
// limits it then releases the slots of runs that are over: see package accounting.
func (s *Service) Sweep(ctx context.Context) (woken int, err error) {
	w := sweeper{env: s.env, due: s.store, waker: s.waker}
	var random [8]byte // two sweeps at a time, or one that runs out of time, do not neglect the same shards
	s.env.Random(random[:])
	first := int(binary.BigEndian.Uint64(random[:]) % store.Shards)
	quiet, err := w.nothingDue(ctx)
	if quiet {
		return 0, s.slots.sweep(ctx)
	}
	until := s.env.Millis() + s.ahead.Milliseconds() // fixed, else threads that become due during the sweep would keep it going
	for i := range store.Shards {
		n, failed := w.shard(ctx, (first+i)%store.Shards, until)
		woken, err = woken+n, errors.Join(err, failed)
	}
	err = errors.Join(err, s.slots.sweep(ctx))
	return woken, errors.Join(err, ctx.Err()) // in the last shard, time may have been over before the end
}

// sweeper finds overdue threads and wakes them. It reads and writes no head.
type sweeper struct {
	env   *env.Env
	due   store.Backend
	waker Waker
}

// nothingDue asks a store that can tell by one read. If the read fails, the shards are
// looked at.
func (w sweeper) nothingDue(ctx context.Context) (bool, error) {
	due, ok := w.due.(store.QuietDue)
	if !ok || ctx.Err() != nil {
		return false, nil
	}
	done := w.env.Reach(point.Due)
	quiet, err := due.NothingDue(ctx)
	done()
	if err != nil {
		return false, fmt.Errorf("look whether a thread is due: %w", err)
	}
	return quiet, nil
}

// shard wakes the overdue threads of one shard. The list is an index that may be older than the
// heads: a thread that was claimed since is woken for nothing, one that is not listed
// yet is found by the next sweep. A page of hints that fails does not end it, since the
// threads after it may be reachable.
func (w sweeper) shard(ctx context.Context, shard int, until int64) (woken int, failed error) {
	var after *store.Overdue
	for ctx.Err() == nil {
		done := w.env.Reach(point.Due)
		page, err := w.due.Overdue(ctx, shard, until, after, sweepPage)
		done()
		if err != nil {
			return woken, errors.Join(failed, fmt.Errorf("list overdue threads of shard %d: %w", shard, err))
		}
		n, err := w.wake(ctx, page)
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

// wake sends the hints of a page, in as few calls as the waker can. The page is in the order of
// its times: hints that need a delay are at its end, and are sent one by one.
func (w sweeper) wake(ctx context.Context, page []store.Overdue) (woken int, failed error) {
	now := w.env.Millis()
	later := slices.IndexFunc(page, func(due store.Overdue) bool { return due.At > now })
	if later < 0 {
		later = len(page)
	}
	if together, ok := w.waker.(BatchWaker); ok && later > 1 {
		woken, failed = w.wakeTogether(ctx, together, page[:later])
		page = page[later:]
	}
	n, err := w.wakeEach(ctx, page, now)
	return woken + n, cmp.Or(failed, err)
}

// hintOf is a sweep's hint of a thread.
func hintOf(due store.Overdue) core.WakeUp {
	return core.WakeUp{Tenant: due.Key.Tenant, Thread: due.Key.Thread, Sweep: true}
}

// wakeTogether sends the hints in batches. An error has the number of those that were not sent,
// if the waker knows.
func (w sweeper) wakeTogether(ctx context.Context, waker BatchWaker, page []store.Overdue) (woken int, err error) {
	hints := make([]core.WakeUp, len(page))
	for i, due := range page {
		hints[i] = hintOf(due)
	}
	done := w.env.Reach(point.SweepHint)
	err = waker.WakeBatch(ctx, hints, 0)
	done()
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

// wakeEach sends the hints one by one, as long as there is time, those of threads that are not
// due now with a delay. A hint that fails does not end it; the first error is returned.
func (w sweeper) wakeEach(ctx context.Context, page []store.Overdue, now int64) (woken int, failed error) {
	for i := 0; i < len(page) && ctx.Err() == nil; i++ {
		done := w.env.Reach(point.SweepHint)
		err := w.waker.Wake(ctx, hintOf(page[i]), time.Duration(max(page[i].At-now, 0))*time.Millisecond)
		done()
		switch {
		case err == nil:
			woken++
		case failed == nil:
			failed = fmt.Errorf("wake overdue thread %s: %w", page[i].Key, err)
		}
	}
	return woken, failed
}

// rewakeDelay spaces the hints that come back from the dead-letter queue: what brought them
// there may well happen again.
const rewakeDelay = time.Minute

// Rewake is the dead-letter queue's consumer: a thread that still has something to do, now
// or later, is woken again after a delay. Otherwise, and for a hint that names no thread,
// woken is false and the hint can be dropped. A thread whose head cannot be decoded is
// quarantined.
func (s *Service) Rewake(ctx context.Context, hint core.WakeUp) (woken bool, err error) {
	if hint.Check() != nil || hint.Kind == core.WakeCompact { // a later step asks again
		return false, nil
	}
	head, err := s.Head(ctx, hint.Key())
	if handled, failed := s.setAside(ctx, hint.Key(), err); handled {
		return false, failed
	}
	if err != nil || head.DueAt == 0 {
		return false, err
	}
	// The hint is sent as it is, with its tries: one that was passed on to a newer program
	// must not be counted from the start again.
	if err := s.waker.Wake(ctx, hint, rewakeDelay); err != nil {
		return false, fmt.Errorf("wake thread %s again: %w", hint.Key(), err)
	}
	return true, nil
}
