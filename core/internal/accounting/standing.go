package accounting

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/store"
)

// standing is what a tenant's counters say to a run of the tenant.
type standing struct {
	Slot store.Slot // of the run
	Has  bool       // it has one
	Over error      // wraps a *account.ReachedError when a limit of the day is reached that a run must stop for; nil: none is
}

func standingOf(l account.Limits, a store.Admission, run core.ID) (s standing) {
	s.Slot, s.Has = a.Slots[run]
	if over := reached(l, a, false, 0); over != nil {
		s.Over = over
	}
	return s
}

// look reads a tenant's counters.
func (g *Gate) look(ctx context.Context, tenant string, run core.ID) (standing, error) {
	var a store.Admission
	err := g.persist(ctx, func() (err error) {
		a, err = g.store.Admission(ctx, tenant, g.day())
		return err
	})
	if err != nil {
		return standing{}, fmt.Errorf("look at the limits of the tenant: %w", err)
	}
	return standingOf(g.Of(tenant), a, run), nil
}

// enter takes a slot for a run that has been admitted before, without a check: it has
// waited, or the sweep has released its slot too early. made means that it is this call's;
// else the run had one. The slot starts with the tokens and spend of the run's log. That
// counts only if the caller has the run's claim afterwards: else it releases the slot, with
// the same.
func (g *Gate) enter(ctx context.Context, key core.ThreadKey, run core.ID, tokens int64, spend core.USD) (s standing, made bool, err error) {
	a := store.Admitting{
		Day: g.day(), Run: run, Again: true, MaxSlots: tenantSlots,
		Slot: store.Slot{Thread: key.Thread, Since: g.env.Millis(), Tokens: tokens, Spend: spend},
	}
	var after store.Admission
	err = g.persist(ctx, func() (err error) {
		after, _, err = g.store.Admit(ctx, key.Tenant, a)
		return err
	})
	if err != nil {
		return standing{}, false, fmt.Errorf("take a slot for run %s: %w", run, err)
	}
	s = standingOf(g.Of(key.Tenant), after, run)
	return s, s.Slot == a.Slot, nil
}

// charge counts the usage of a run before the write that records it, and returns the
// counters after that; false: the slot is not the run's any more, and nothing is counted.
// Without a slot (zero) it counts to the day alone, and stays.
func (g *Gate) charge(ctx context.Context, tenant string, run core.ID, slot store.Slot, tokens int64, cost core.USD) (s standing, charged bool, err error) {
	c := store.Use{Day: g.day(), Run: run, Slot: slot, Tokens: tokens, Spend: cost}
	var after store.Admission
	err = g.persist(ctx, func() (err error) {
		after, charged, err = g.store.Charge(ctx, tenant, c)
		return err
	})
	if err != nil {
		return standing{}, false, fmt.Errorf("charge run %s: %w", run, err)
	}
	return standingOf(g.Of(tenant), after, run), charged, nil
}

// priced reports whether a provider's model may be called for a tenant: its price must be
// known where the tenant's money is limited.
func (g *Gate) priced(tenant, provider, model string) bool {
	if g.Of(tenant).SpendADay == 0 {
		return true
	}
	_, ok := g.cost(provider, model, core.Usage{}, g.env.Now())
	return ok
}

// price is what the tokens of a provider's model cost a tenant whose money is limited; 0
// for any other, and where the price is not known.
func (g *Gate) price(tenant, provider, model string, u core.Usage) core.USD {
	if g.Of(tenant).SpendADay == 0 {
		return 0
	}
	cost, _ := g.cost(provider, model, u, g.env.Now())
	return cost
}
