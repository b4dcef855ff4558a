package accounting

import (
	"context"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// Run is the account of a run within one step: the usage of models that the step reports,
// and the settlement of the run's end. Its methods are called in this order:
//
//   - Recall and Begin, before the step calls a model.
//   - Over and Allows, before each call of a model.
//   - StartTurn before the first call; then either Turn, before the commit whose log has
//     the turn, or Void, before the write after which no log will have it.
//   - Settle, while a write is built that may end the stretch; Report after that write.
//   - Release, after the write by which the run waits or ends.
//
// A Run belongs to the goroutine of the step.
type Run struct {
	books   *Books
	claim   Claim
	limited bool            // the tenant has limits: else the gate is never asked
	known   bool            // now was read or written under this claim
	now     standing        // the tenant's counters
	wasted  *thread.Metered // by the stretch, for turns of no log, as far as it is recorded; nil: nothing

	from    uint64 // where the log ended when the turn began: once it has grown, it has the turn
	slotted bool   // the turn is charged to the slot
	voided  bool   // the turn is charged to the day alone
}

// Standing is what a step knew last of its tenant's counters, for the next step under the
// same claim, which need not read them.
type Standing struct {
	fence uint64
	now   standing
}

// maxSlots is how often Turn takes a slot that is released under it.
const maxSlots = 4

// Limited reports whether the tenant has limits.
func (r *Run) Limited() bool { return r.limited }

// Begin reads the tenant's counters. It takes a slot if the run has none, or has one with
// less than the totals, which a request that came late has taken. last is the standing that
// the step before knew; nil: nothing. It does nothing for a tenant without limits. The
// error wraps thread.ErrFenced when the claim is lost.
func (r *Run) Begin(ctx context.Context, totals thread.Totals, last *Standing) error {
	if !r.limited {
		return nil
	}
	if last != nil && last.fence == r.claim.Holder.Fence() {
		r.now, r.known = last.now, true
		return nil
	}
	if err := r.look(ctx); err != nil {
		return err
	}
	r.known = true
	behind := r.now.Slot.Tokens < Tokens(totals.Usage) || r.now.Slot.Spend < totals.Spend
	if r.now.Has && behind {
		if err := r.books.Gate.Release(ctx, r.claim.Key.Tenant, r.claim.Run, r.now.Slot, Tokens(totals.Usage), totals.Spend); err != nil {
			return err
		}
	}
	if !r.now.Has || behind {
		return r.enter(ctx, totals)
	}
	return nil
}

// Look reads the tenant's counters, for a caller that calls a model outside the run's steps.
func (r *Run) Look(ctx context.Context) error {
	if !r.limited {
		return nil
	}
	return r.look(ctx)
}

func (r *Run) look(ctx context.Context) error {
	now, err := r.books.Gate.look(ctx, r.claim.Key.Tenant, r.claim.Run)
	if err == nil {
		r.now = now
	}
	return err
}

// enter takes a slot for the run. The claim is checked afterwards: if the holder still has
// it, no other worker has committed since the step read the totals, and the slot starts
// with all that the run has used. A worker that was paused until it lost its claim releases
// the slot.
func (r *Run) enter(ctx context.Context, totals thread.Totals) error {
	now, made, err := r.books.Gate.enter(ctx, r.claim.Key, r.claim.Run, Tokens(totals.Usage), totals.Spend)
	if err != nil {
		return err
	}
	head, err := r.claim.Holder.Head(ctx)
	if err != nil {
		return err
	}
	if head.Claim.Fence != r.claim.Holder.Fence() {
		if made {
			err = r.books.Gate.Release(ctx, r.claim.Key.Tenant, r.claim.Run, now.Slot, now.Slot.Tokens, now.Slot.Spend)
		}
		return errors.Join(thread.ErrFenced, err)
	}
	r.now = now
	return nil
}

// Over returns the limit of the day that the tenant has reached, as far as is known: it
// wraps an *account.ReachedError; nil: none.
func (r *Run) Over() error { return r.now.Over }

// Allows refuses a model whose price is not known where the tenant's money is limited, with
// core.CodeInvalid.
func (r *Run) Allows(provider, model string) error {
	if !r.limited || r.books.Gate.priced(r.claim.Key.Tenant, provider, model) {
		return nil
	}
	return core.Errorf(core.CodeInvalid, "model %q has no known price, and the tenant's money is limited", core.Excerpt(model))
}

// StartTurn begins another turn, before the first call of its models. logEnd is the
// sequence at which the log ends.
func (r *Run) StartTurn(logEnd uint64) { r.from, r.slotted, r.voided = logEnd, false, false }

// Turn accounts the turn that the next commit logs, or the failure that it logs in the
// place of one, and returns the totals that go with it: with its tokens, its cost and,
// where usage is recorded, each model's use. Where the tenant has limits, the turn is
// charged to the run's slot. If that exceeds a limit, Over returns it from then on; the turn
// is logged anyway.
func (r *Run) Turn(ctx context.Context, totals thread.Totals, s *Spent) (thread.Totals, error) {
	used, counted := s.used()
	if r.limited && counted {
		cost := r.cost(s)
		if err := r.charge(ctx, totals, used, cost); err != nil {
			return totals, err
		}
		totals.Spend += cost
	}
	r.slotted = true
	if counted {
		totals.Usage = totals.Usage.Add(used)
	}
	totals.Metered = r.With(totals.Metered, s)
	return totals, nil
}

// With returns figures of a run with those of a turn, if usage is recorded; m stays as it is.
func (r *Run) With(m *thread.Metered, s *Spent) *thread.Metered {
	if !r.books.Meters() || !s.asked() {
		return m
	}
	return s.addTo(m)
}

// charge charges the slot, and takes another one where the sweep has released it.
func (r *Run) charge(ctx context.Context, before thread.Totals, used core.Usage, cost core.USD) error {
	for range maxSlots {
		now, charged, err := r.books.Gate.charge(ctx, r.claim.Key.Tenant, r.claim.Run, r.now.Slot, Tokens(used), cost)
		if err != nil {
			return fmt.Errorf("charge the tenant: %w", err)
		}
		if charged {
			r.now, r.known = now, true
			return nil
		}
		if err := r.enter(ctx, before); err != nil {
			return err
		}
	}
	return core.Errorf(core.CodeUnavailable, "charge the tenant: the slot of run %s was released in every attempt", r.claim.Run)
}

// cost is what the calls have cost; 0 where the tenant's money is not limited.
func (r *Run) cost(s *Spent) (cost core.USD) {
	s.uses(func(u Use) {
		if u.Counted {
			cost += r.books.Gate.price(r.claim.Key.Tenant, u.Provider, u.Model, u.Usage)
		}
	})
	return cost
}

// Void charges a turn that no log will have to the day, before the write that ends the run
// or releases its claim. No slot knows of it, so that it is never deducted again. A turn
// that its slot has is deducted and counts here instead, unless the log has it: the
// response of its commit may have been lost. logEnd is where the log ends. A turn is
// charged once, however often Void is called. A nil Spent has no turn and costs nothing.
func (r *Run) Void(ctx context.Context, s *Spent, logEnd uint64) error {
	if s == nil || r.voided || !r.limited {
		return nil
	}
	if r.slotted {
		head, err := r.claim.Holder.Head(ctx)
		if err != nil {
			return err
		}
		logEnd = head.Seq
	}
	if logEnd > r.from {
		return nil
	}
	used, counted := s.used()
	if !counted {
		return nil
	}
	if _, _, err := r.books.Gate.charge(ctx, r.claim.Key.Tenant, r.claim.Run, store.Slot{}, Tokens(used), r.cost(s)); err != nil {
		return fmt.Errorf("charge the tenant: %w", err)
	}
	r.voided = true
	return nil
}

// Charged reports whether the turn is charged to the run's slot. One whose claim is lost is
// then not voided: it is in the log, or is taken off with the slot.
func (r *Run) Charged() bool { return r.slotted }

// Release releases the run's slot, after the write by which the run waits or ends.
// totals are what its log says by then: what was charged beyond them was lost, and is taken
// off the day. nil: what the run has used cannot be read, and all charges are kept.
// The slot that a failed Release leaves is the sweep's.
func (r *Run) Release(ctx context.Context, totals *thread.Totals) error {
	if !r.limited {
		return nil
	}
	known := r.known
	r.known = false
	if !known { // it ends under a claim that has not stepped
		if err := r.look(ctx); err != nil {
			return err
		}
	}
	if !r.now.Has {
		return nil
	}
	slot := r.now.Slot
	tokens, spend := slot.Tokens, slot.Spend
	if totals != nil {
		tokens, spend = Tokens(totals.Usage), totals.Spend
	}
	return r.books.Gate.Release(ctx, r.claim.Key.Tenant, r.claim.Run, slot, tokens, spend)
}

// Standing returns what the next step under this claim may begin with; nil: nothing is
// known, or the tenant has no limits.
func (r *Run) Standing() *Standing {
	if !r.known {
		return nil
	}
	return &Standing{r.claim.Holder.Fence(), r.now}
}
