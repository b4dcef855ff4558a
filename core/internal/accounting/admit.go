package accounting

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/calendar"
	"github.com/reveille-run/reveille/core/store"
)

// tenantSlots bounds a tenant's slots: a run beyond it continues without one.
const tenantSlots = 128

// Applicant is a run that asks to be admitted.
type Applicant struct {
	Key core.ThreadKey
	ID  core.ID
	Tag string // see [store.Slot.Key]
	// Replaces is how many runs that have slots end with the write that enqueues it.
	Replaces int
	// Child means that another run waits for it: it gets a slot beyond the limit, as long
	// as there are fewer than tenantSlots.
	Child bool
}

// Admit counts a run before it is enqueued, and gives it a slot. A run that has one
// is admitted again, for a caller whose first call had no answer. The error wraps an *account.ReachedError when a
// limit is reached; nothing is counted then. It must not be called for a tenant without
// limits.
func (g *Gate) Admit(ctx context.Context, r Applicant) (store.Slot, error) {
	l := g.Of(r.Key.Tenant)
	slots := l.ConcurrentRuns + r.Replaces
	if r.Child {
		slots = tenantSlots
	}
	a := store.Admitting{
		Day: g.day(), Run: r.ID, Slot: store.Slot{Thread: r.Key.Thread, Since: g.env.Millis(), Key: r.Tag},
		MaxRuns: l.RunsADay, MaxTokens: l.TokensADay, MaxSpend: l.SpendADay, MaxSlots: slots,
	}
	var after store.Admission
	var admitted bool
	err := g.persist(ctx, func() (err error) {
		after, admitted, err = g.store.Admit(ctx, r.Key.Tenant, a)
		return err
	})
	if err != nil {
		return store.Slot{}, fmt.Errorf("admit run %s: %w", r.ID, err)
	}
	if admitted {
		return after.Slots[r.ID], nil
	}
	if over := reached(l, after, true, slots); over != nil {
		return store.Slot{}, over
	}
	return store.Slot{}, core.Errorf(core.CodeUnavailable, "admit run %s: what the tenant has used changes under the write", r.ID)
}

// Withdraw undoes Admit, for a run that was not enqueued.
func (g *Gate) Withdraw(ctx context.Context, tenant string, run core.ID, seen store.Slot) error {
	return g.giveBack(ctx, tenant, store.Use{Day: calendar.Day(seen.Since), Run: run, Slot: seen, Runs: 1})
}

// Release releases the slot of a run that waits or has ended. tokens and spend are what its
// log says by then: what was charged beyond them was lost, and is taken off the day.
func (g *Gate) Release(ctx context.Context, tenant string, run core.ID, seen store.Slot, tokens int64, spend core.USD) error {
	r := store.Use{Day: g.day(), Run: run, Slot: seen}
	if calendar.Day(seen.Since) == r.Day { // else the day that was charged is not known
		r.Tokens, r.Spend = max(0, seen.Tokens-tokens), max(0, seen.Spend-spend)
	}
	return g.giveBack(ctx, tenant, r)
}

func (g *Gate) giveBack(ctx context.Context, tenant string, r store.Use) error {
	err := g.persist(ctx, func() error {
		_, err := g.store.Release(ctx, tenant, r)
		return err
	})
	if err != nil {
		return fmt.Errorf("release the slot of run %s: %w", r.Run, err)
	}
	return nil
}
