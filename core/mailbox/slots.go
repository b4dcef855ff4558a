package mailbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// slotPage is how many tenants with slots are listed at a time.
const slotPage = 100

// slots keeps the slots of tenants' limits true to their threads. A slot is taken before
// the write that enqueues its run and released after the write that ends it, so that a
// crash leaves one too many, never one too few; the sweep releases those.
type slots struct {
	env   *env.Env
	gate  *accounting.Gate // nil: no tenant has limits
	reads reader
	log   *slog.Logger
	// enqueueTime is how long after its admission a run may still be on its way into the
	// head: until then, the slot of a run that no head knows is kept.
	enqueueTime time.Duration

	mu      sync.Mutex
	stopped slotPlace // where the last sweep of this process ran out of time
}

// limited reports whether a tenant has limits.
func (s *slots) limited(tenant string) bool { return !s.gate.Of(tenant).IsZero() }

// release releases the slots of runs that a write has taken out of the queue.
// It is called after the write, also when the caller has left. A failure is logged: the
// sweep releases what is left.
func (s *slots) release(ctx context.Context, key core.ThreadKey, runs []core.ID) {
	if len(runs) == 0 {
		return
	}
	ctx = context.WithoutCancel(ctx)
	used, err := s.gate.Used(ctx, key.Tenant)
	for _, run := range runs {
		if slot, ok := used.Slots[run]; ok && err == nil {
			err = s.gate.Release(ctx, key.Tenant, run, slot, 0, 0)
		}
	}
	if err != nil {
		s.log.WarnContext(ctx, "slots not released, the sweep will release them", "tenant", key.Tenant, "thread", key.Thread, "error", err)
	}
}

// dequeued are the runs that were queued before a write and are neither queued nor open
// after it.
// A run that the write opened keeps its slot.
func dequeued(before, after *thread.Head) (runs []core.ID) {
	for _, d := range before.Unopened() {
		if _, live := after.RunStatus(d.Run); !live {
			runs = append(runs, d.Run)
		}
	}
	return runs
}

// slotPlace is how far a sweep of slots has come: past all tenants up to after and, of the
// next one, past all runs up to run. The zero slotPlace is before the first.
// Tenants come in the order of their names, and the runs of one in the order of their ids.
type slotPlace struct {
	// after is a tenant that was looked at whole; empty: none was.
	after string
	// tenant and run are where the sweep stopped within the next tenant; zero: before its
	// first run.
	tenant string
	run    core.ID
}

// sweep releases the slots of runs that are neither queued nor running, and deducts the charges
// for turns that are in no log. It starts where the previous sweep of this process ran out of
// time and wraps around, so that the next sweep looks at the slots that this one had no time
// for.
func (s *slots) sweep(ctx context.Context) error {
	if s.gate == nil {
		return nil
	}
	start := s.place()
	stopped, failed := s.sweepFrom(ctx, start, "")
	if last := max(start.after, start.tenant); last != "" && stopped == (slotPlace{}) {
		var err error
		stopped, err = s.sweepFrom(ctx, slotPlace{}, last)
		failed = errors.Join(failed, err)
	}
	s.remember(stopped)
	return failed
}

// place is where the next sweep starts.
func (s *slots) place() slotPlace {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped
}

// remember keeps the place where a sweep stopped; the zero place: it reached the end.
func (s *slots) remember(at slotPlace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = at
}

// sweepFrom looks at the slots after a place, up to the last tenant (empty: to the end),
// and returns where it ran out of time; the zero place: it did not. A slot that cannot be
// looked at does not end it; the first error is returned.
func (s *slots) sweepFrom(ctx context.Context, at slotPlace, last string) (stopped slotPlace, failed error) {
	for ctx.Err() == nil {
		page, err := s.reads.store.Occupied(ctx, at.after, slotPage)
		if err != nil {
			return at, errors.Join(failed, fmt.Errorf("list tenants with slots: %w", err))
		}
		for _, tenant := range page {
			if last != "" && tenant.Tenant > last {
				return slotPlace{}, failed
			}
			for _, run := range slices.SortedFunc(maps.Keys(tenant.Slots), compareIDs) {
				if tenant.Tenant == at.tenant && compareIDs(run, at.run) <= 0 {
					continue
				}
				err := s.sweepOne(ctx, tenant.Tenant, run, tenant.Slots[run])
				if err != nil && failed == nil {
					failed = fmt.Errorf("look at the slot of run %s of tenant %s: %w", run, tenant.Tenant, err)
				}
				if ctx.Err() != nil {
					return at, failed
				}
				at.tenant, at.run = tenant.Tenant, run
			}
			at = slotPlace{after: tenant.Tenant}
		}
		if len(page) < slotPage {
			return slotPlace{}, failed
		}
	}
	return at, failed
}

// compareIDs orders runs, so that a sweep can continue in the middle of a tenant.
func compareIDs(a, b core.ID) int { return slices.Compare(a[:], b[:]) }

// sweepOne looks at one slot, and releases it with what its run used if the run is over or
// waits. The slot was read before the head. So if the run is over or waits in that head, it was
// so after all charges of the slot. If a later claim has charged more since, the stored slot is
// another, and is not released.
// The error is that of a read or of the release; the slot stays, and a later sweep looks at
// it again.
func (s *slots) sweepOne(ctx context.Context, tenant string, run core.ID, slot store.Slot) error {
	key := core.ThreadKey{Tenant: tenant, Thread: slot.Thread}
	// A sweep that is paused from here on does not see what is enqueued in the meantime.
	mayCome := s.env.Millis() < slot.Since+s.enqueueTime.Milliseconds()
	head, err := s.reads.head(ctx, key)
	if err != nil {
		return err
	}
	if queuedForLater(&head, run, s.env.Millis()) { // its first step takes a slot
		return s.gate.Release(ctx, tenant, run, slot, 0, 0)
	}
	if status, live := head.RunStatus(run); live && status != core.RunWaiting { // one that closes has it until it is over
		return nil
	}
	if head.Deleted { // its log is erased, so that what was charged counts
		return s.gate.Release(ctx, tenant, run, slot, slot.Tokens, slot.Spend)
	}
	record, found, err := s.reads.runRecord(ctx, key, run)
	if core.CodeOf(err) == core.CodeCorrupt { // what it used is not known
		return s.gate.Release(ctx, tenant, run, slot, slot.Tokens, slot.Spend)
	}
	if err != nil {
		return err
	}
	if found {
		tokens := accounting.Tokens(record.Usage)
		if u := record.Unfinished; u != nil { // charged to the day, and never to the slot
			tokens -= accounting.Tokens(u.Usage)
		}
		return s.gate.Release(ctx, tenant, run, slot, tokens, record.Spend)
	}
	return s.sweepUnopened(ctx, key, &head, run, slot, mayCome)
}

// sweepUnopened looks at the slot of a run that no step has opened and that the head does
// not have: it was taken out of the queue, or its input went to another run, or the write
// that is to enqueue it was still on its way when the head was read. mayCome means that it
// had time left for that.
func (s *slots) sweepUnopened(ctx context.Context, key core.ThreadKey, head *thread.Head, run core.ID, slot store.Slot, mayCome bool) error {
	_, dispatch, pointed, err := s.reads.locate(ctx, key.Tenant, run)
	if err != nil {
		return err
	}
	if pointed {
		audit, ended, err := s.reads.endedUnread(ctx, key, *head, dispatch)
		switch {
		case err != nil:
			return err
		case audit.Run == run: // it was taken out of the queue
			return s.gate.Release(ctx, key.Tenant, run, slot, 0, 0)
		case ended: // its input was in the inbox of another
			return s.gate.Withdraw(ctx, key.Tenant, run, slot)
		}
	}
	if mayCome {
		return nil
	}
	return s.gate.Withdraw(ctx, key.Tenant, run, slot)
}

// queuedForLater reports whether a run is queued for a time to come: it needs no slot yet.
func queuedForLater(head *thread.Head, run core.ID, now int64) bool {
	return slices.ContainsFunc(head.Delayed, func(d thread.Dispatch) bool { return d.Run == run && d.AvailableAt > now })
}
