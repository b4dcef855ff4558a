package host

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/internal/calendar"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
)

// checkPrices refuses a configuration in which the spending of a tenant is limited and an
// agent may call a model without a known price: the limit could not hold. Agents whose model
// is model.None are not checked: this process takes none of their steps.
func checkPrices(agents *registry.Registry, c Options) error {
	if !c.Limits.Spends() {
		return nil
	}
	for _, id := range agents.IDs() {
		resolved, err := agents.Resolve(id)
		if err != nil {
			return err
		}
		for _, m := range resolved.CallableModels() {
			if _, idle := m.Model.(model.None); idle { // this process takes no steps
				continue
			}
			// A price depends on the time; one that is known now is taken to stay known.
			known := false
			if c.Prices != nil {
				_, known = c.Prices(m.Provider, m.Name, core.Usage{}, c.Env.Now())
			}
			if !known {
				return core.Errorf(core.CodeInvalid, "agent %q: model %q (%q) has no known price, and the money of tenants is limited (spend_a_day_usd): give it one, or take the limit away", id, m.ID, m.Name)
			}
		}
	}
	return nil
}

// LimitsOf is a tenant's limits with their current use. A tenant without limits has the zero
// value.
type LimitsOf struct {
	account.Limits
	// Used has the slots of its runs and the counters of the day.
	Used store.Admission
	// Ends is when the counters of the day restart, in unix milliseconds.
	Ends int64
}

// Limits reads a tenant's limits and their current use. For a tenant without limits it reads
// nothing.
func (r *Host) Limits(ctx context.Context, tenant string) (LimitsOf, error) {
	l := LimitsOf{Limits: r.limits.Of(tenant)}
	if l.IsZero() {
		return l, nil
	}
	used, err := r.limits.Used(ctx, tenant)
	if err != nil {
		return l, fmt.Errorf("limits of the tenant: %w", err)
	}
	l.Used, l.Ends = used, calendar.DayEnds(used.Day)
	return l, nil
}
