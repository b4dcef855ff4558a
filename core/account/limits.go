package account

import (
	"fmt"
	"maps"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/strict"
)

// maxConcurrent is the largest limit of runs at a time, and the one of a tenant that has
// another limit and not this.
const maxConcurrent = 64

// Limits are the limits of one tenant. A zero field means no limit.
type Limits struct {
	RunsADay   int64    `json:"runs_a_day,omitempty"`
	TokensADay int64    `json:"tokens_a_day,omitempty"` // input and output
	SpendADay  core.USD `json:"spend_a_day_usd,omitempty"`
	// ConcurrentRuns is how many runs may be queued to run or running, 1 to 64. Zero with
	// another limit set: 64.
	ConcurrentRuns int `json:"concurrent_runs,omitempty"`
}

// IsZero reports whether nothing is limited.
func (l Limits) IsZero() bool { return l == Limits{} }

// Check refuses what is out of range; the error names the field.
func (l Limits) Check() error {
	switch {
	case l.RunsADay < 0:
		return refused("runs_a_day", l.RunsADay, "a number from 0 (no limit) on")
	case l.TokensADay < 0:
		return refused("tokens_a_day", l.TokensADay, "a number from 0 (no limit) on")
	case l.SpendADay < 0:
		return refused("spend_a_day_usd", l.SpendADay, "dollars from 0 (no limit) on")
	case l.ConcurrentRuns < 0 || l.ConcurrentRuns > maxConcurrent:
		return refused("concurrent_runs", l.ConcurrentRuns, fmt.Sprintf("0 (the default) to %d", maxConcurrent))
	}
	return nil
}

func refused(field string, value any, allowed string) error {
	return core.Errorf(core.CodeInvalid, "%s is %v, allowed: %s", field, value, allowed)
}

// Tenants are the limits of a deployment.
type Tenants struct {
	Default Limits `json:"default,omitzero"` // of every tenant that is not named
	// Tenants are those of single tenants. An entry is all that holds for a
	// tenant: nothing of Default is added.
	Tenants map[string]Limits `json:"tenants,omitempty"`
}

// Decode sets the limits to those of JSON:
//
//	{"default": {"runs_a_day": 1000, "tokens_a_day": 2000000, "spend_a_day_usd": 5.5, "concurrent_runs": 8},
//	 "tenants": {"acme": {"concurrent_runs": 64}}}
//
// An unknown or repeated field, a value of another type and one out of range are
// core.CodeInvalid; the error names the field and what is allowed.
func (t *Tenants) Decode(data []byte) error {
	*t = Tenants{}
	if err := (strict.Options{NoNull: true}).Decode(data, t); err != nil {
		return core.Errorf(core.CodeInvalid, "limits: %w", err)
	}
	return t.Check()
}

// IsZero reports whether no tenant has a limit.
func (t Tenants) IsZero() bool {
	for _, l := range t.Tenants {
		if !l.IsZero() {
			return false
		}
	}
	return t.Default.IsZero()
}

// Of returns the limits of a tenant.
func (t Tenants) Of(tenant string) Limits {
	l, named := t.Tenants[tenant]
	if !named {
		l = t.Default
	}
	if l.ConcurrentRuns == 0 && !l.IsZero() {
		l.ConcurrentRuns = maxConcurrent
	}
	return l
}

// Spends reports whether the money of any tenant is limited, so that every model needs a
// price.
func (t Tenants) Spends() bool {
	for _, l := range t.Tenants {
		if l.SpendADay > 0 {
			return true
		}
	}
	return t.Default.SpendADay > 0
}

// Check refuses what is out of range; the error names the tenant and the field.
func (t Tenants) Check() error {
	if err := t.Default.Check(); err != nil {
		return fmt.Errorf("limits: default: %w", err)
	}
	for _, tenant := range slices.Sorted(maps.Keys(t.Tenants)) {
		err := core.CheckName("tenant", tenant)
		if err == nil {
			err = t.Tenants[tenant].Check()
		}
		if err != nil {
			return fmt.Errorf("limits: tenant %q: %w", core.Excerpt(tenant), err)
		}
	}
	return nil
}
