package mailbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// slotPage is how many tenants with slots are listed at a time.
const slotPage = 100

// enqueueTime is how long after its admission a run may still be on its way into the head:
// the slot of a run that nobody has heard of is left alone so long.
func (s *Service) enqueueTime() time.Duration { return s.lease + time.Minute }

// slotPlace is where a sweep of slots stands: behind a tenant and, of the next one, behind a
// run. The zero slotPlace is before the first.
type slotPlace struct {
	after  string
	tenant string
	run    core.ID
}

// slotSweep is where the last sweep of this process has run out of time.
type slotSweep struct {
	mu   sync.Mutex
	left slotPlace
}

func (s *slotSweep) place() slotPlace {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left
}

func (s *slotSweep) leave(at slotPlace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = at
}

// sweepSlots gives back the slots whose runs are neither queued to run nor running, and
// takes off what was charged for turns that are in no log. It begins where the sweep
// before it in this process has run out of time, and comes round to there, so that what
// one sweep cannot look at is the next one's.
func (s *Service) sweepSlots(ctx context.Context) error {
	if s.limits == nil {
		return nil
	}
	begin := s.slots.place()
	left, failed := s.sweepSlotsFrom(ctx, begin, "")
	if last := max(begin.after, begin.tenant); last != "" && left == (slotPlace{}) {
		var err error
		left, err = s.sweepSlotsFrom(ctx, slotPlace{}, last)
		failed = errors.Join(failed, err)
	}
	s.slots.leave(left)
	return failed
}

// sweepSlotsFrom looks at the slots behind a place, up to the last tenant (empty: to the
// end), and returns where it has run out of time: the zero place if it has not.
func (s *Service) sweepSlotsFrom(ctx context.Context, at slotPlace, last string) (left slotPlace, failed error) {
	for ctx.Err() == nil {
		page, err := s.store.Occupied(ctx, at.after, slotPage)
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
				err := s.sweepSlot(ctx, tenant.Tenant, run, tenant.Slots[run])
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

func compareIDs(a, b core.ID) int { return slices.Compare(a[:], b[:]) }

// sweepSlot looks at one slot. It was read before the head: a run that is over there, or
// waits, was so after all that the slot tells of was charged, unless a later claim has
// charged more since, and then the slot is another.
func (s *Service) sweepSlot(ctx context.Context, tenant string, run core.ID, slot store.Slot) error {
	key := core.ThreadKey{Tenant: tenant, Thread: slot.Thread}
	head, err := s.Head(ctx, key)
	if err != nil {
		return err
	}
	if later(&head, run, s.env.Millis()) { // its first step takes a slot
		return s.limits.Leave(ctx, tenant, run, slot, 0, 0)
	}
	if status, live := head.RunStatus(run); live && status != core.RunWaiting { // one that closes has it until it is over
		return nil
	}
	if head.Deleted { // its log is erased: what was charged stands
		return s.limits.Leave(ctx, tenant, run, slot, slot.Tokens, slot.Spend)
	}
	record, found, err := s.runRecord(ctx, key, run)
	if core.CodeOf(err) == core.CodeCorrupt { // nobody can say what it has used
		return s.limits.Leave(ctx, tenant, run, slot, slot.Tokens, slot.Spend)
	}
	if err != nil {
		return err
	}
	if found {
		return s.limits.Leave(ctx, tenant, run, slot, account.Tokens(record.Usage), record.Spend)
	}
	_, dispatch, pointed, err := s.Locate(ctx, tenant, run)
	if err != nil {
		return err
	}
	if pointed {
		audit, ended, err := s.ended(ctx, key, head, dispatch)
		switch {
		case err != nil:
			return err
		case ended && audit.Run == run: // it was taken out of the queue
			return s.limits.Leave(ctx, tenant, run, slot, 0, 0)
		case ended: // its input lay in the inbox of another
			return s.limits.GiveBack(ctx, tenant, run, slot)
		}
	}
	if s.env.Millis() < slot.Since+s.enqueueTime().Milliseconds() {
		return nil
	}
	return s.limits.GiveBack(ctx, tenant, run, slot)
}

// later reports whether a run is queued for a time to come, so that it takes nobody's place.
func later(head *thread.Head, run core.ID, now int64) bool {
	return slices.ContainsFunc(head.Delayed, func(d thread.Dispatch) bool { return d.Run == run && d.AvailableAt > now })
}

// dropped are the runs that were queued and are neither queued nor open any more.
func dropped(before, after *thread.Head) (runs []core.ID) {
	for _, d := range before.Unopened() {
		if _, live := after.RunStatus(d.Run); !live {
			runs = append(runs, d.Run)
		}
	}
	return runs
}

// leave gives the slots back of runs that a write has taken out of the queue.
func (s *Service) leave(ctx context.Context, key core.ThreadKey, runs []core.ID) {
	if len(runs) == 0 {
		return
	}
	ctx = context.WithoutCancel(ctx)
	used, err := s.limits.Used(ctx, key.Tenant)
	for _, run := range runs {
		if slot, ok := used.Slots[run]; ok && err == nil {
			err = s.limits.Leave(ctx, key.Tenant, run, slot, 0, 0)
		}
	}
	if err != nil {
		s.log.WarnContext(ctx, "slots are not given back, the sweep will find them", "tenant", key.Tenant, "thread", key.Thread, "error", err)
	}
}
