package account

import (
	"context"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// Turn is what a run has used since it was charged last.
type Turn struct {
	Key    core.ThreadKey
	Run    core.ID
	Before int64    // tokens of the run's totals before
	Spent  core.USD // what these have cost
	Tokens int64
	Cost   core.USD
}

// Standing is how a tenant stands with a run of it.
type Standing struct {
	Slot store.Slot // of the run
	Has  bool       // it has one
	Over error      // wraps a *[ReachedError] when a limit of the day is reached that a run must stop for; nil: none is
}

func (l Limits) standing(a store.Admission, run core.ID) (s Standing) {
	s.Slot, s.Has = a.Slots[run]
	if over := l.reached(a, false, 0); over != nil {
		s.Over = over
	}
	return s
}

// Look reads how a tenant stands.
func (g *Gate) Look(ctx context.Context, tenant string, run core.ID) (Standing, error) {
	var a store.Admission
	err := g.persist(ctx, func() (err error) {
		a, err = g.store.Admission(ctx, tenant, g.day())
		return err
	})
	if err != nil {
		return Standing{}, fmt.Errorf("look at the limits of the tenant: %w", err)
	}
	return g.Of(tenant).standing(a, run), nil
}

// Enter takes a slot for a run that has been admitted before, unasked: it has waited, or
// the sweep has given its slot back too early. made says that it is this call's; else the
// run had one. What Before and Spent say counts only if the caller has the run's claim
// afterwards: else it gives the slot back by Leave, with what these say.
func (g *Gate) Enter(ctx context.Context, t Turn) (s Standing, made bool, err error) {
	a := store.Admitting{
		Day: g.day(), Run: t.Run, Again: true, Bounds: store.Bounds{Slots: store.MaxSlots},
		Slot: store.Slot{Thread: t.Key.Thread, Since: g.env.Millis(), Tokens: t.Before, Spend: t.Spent},
	}
	var after store.Admission
	err = g.persist(ctx, func() (err error) {
		after, _, err = g.store.Admit(ctx, t.Key.Tenant, a)
		return err
	})
	if err != nil {
		return Standing{}, false, fmt.Errorf("take a slot for run %s: %w", t.Run, err)
	}
	s = g.Of(t.Key.Tenant).standing(after, t.Run)
	return s, s.Slot == a.Slot, nil
}

// Charge counts a turn before the commit that holds it, and returns how the tenant stands
// then; false: the slot is not the run's any more, and nothing is counted. Without a slot
// (zero) it counts to the day alone, and stays: so does a turn that will be in no log.
func (g *Gate) Charge(ctx context.Context, slot store.Slot, t Turn) (s Standing, charged bool, err error) {
	c := store.Charging{Day: g.day(), Run: t.Run, Slot: slot, Tokens: t.Tokens, Spend: t.Cost}
	var after store.Admission
	err = g.persist(ctx, func() (err error) {
		after, charged, err = g.store.Charge(ctx, t.Key.Tenant, c)
		return err
	})
	if err != nil {
		return Standing{}, false, fmt.Errorf("charge run %s: %w", t.Run, err)
	}
	return g.Of(t.Key.Tenant).standing(after, t.Run), charged, nil
}

// Cost is what the tokens of a provider's model cost a tenant whose money is limited; 0 for any other, and
// where the price is not known.
func (g *Gate) Cost(tenant, provider, model string, u core.Usage) core.USD {
	if g.Of(tenant).SpendADay == 0 {
		return 0
	}
	cost, _ := g.cost(provider, model, u, g.env.Now())
	return cost
}

// Reached returns the limit that err is about, if it is about one.
func Reached(err error) (*ReachedError, bool) { return errors.AsType[*ReachedError](err) }
