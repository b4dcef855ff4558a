package accounting

import (
	"context"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/calendar"
	"github.com/reveille-run/reveille/core/store"
)

// Admissions keeps what tenants with limits use: see [store.Backend].
type Admissions interface {
	Admission(ctx context.Context, tenant string, day int64) (store.Admission, error)
	Admit(ctx context.Context, tenant string, a store.Admitting) (after store.Admission, admitted bool, err error)
	Charge(ctx context.Context, tenant string, u store.Use) (after store.Admission, charged bool, err error)
	Release(ctx context.Context, tenant string, u store.Use) (released bool, err error)
}

// GateOptions configures a [Gate]. Env and Store are required.
type GateOptions struct {
	Env    *env.Env
	Store  Admissions
	Limits account.Tenants
	// Cost returns the cost of the tokens of a provider's model at a time; ok is false if
	// its price is not known. It is called only for tenants whose money is limited. nil: no
	// price is known.
	Cost func(provider, model string, usage core.Usage, at time.Time) (cost core.USD, ok bool)
}

// Gate counts what tenants use, and holds them to their limits. It is safe for concurrent
// use. A nil Gate has no limits.
type Gate struct {
	env    *env.Env
	store  Admissions
	limits account.Tenants
	cost   func(string, string, core.Usage, time.Time) (core.USD, bool)
}

// NewGate returns a gate; nil where no tenant has a limit.
func NewGate(o GateOptions) (*Gate, error) {
	if err := o.Limits.Check(); err != nil {
		return nil, err
	}
	if o.Limits.IsZero() {
		return nil, nil
	}
	if o.Env == nil || o.Store == nil {
		return nil, core.Errorf(core.CodeInvalid, "limits: Env and Store are required")
	}
	g := &Gate{env: o.Env, store: o.Store, limits: o.Limits, cost: o.Cost}
	if g.cost == nil {
		g.cost = func(string, string, core.Usage, time.Time) (core.USD, bool) { return 0, false }
	}
	return g, nil
}

// Of returns a tenant's limits; zero: it has none.
func (g *Gate) Of(tenant string) account.Limits {
	if g == nil {
		return account.Limits{}
	}
	return g.limits.Of(tenant)
}

// Tokens are those of a usage that count.
func Tokens(u core.Usage) int64 { return int64(u.Input) + int64(u.Output) }

func (g *Gate) day() int64 { return calendar.Day(g.env.Millis()) }

// Used returns what a tenant has used today.
func (g *Gate) Used(ctx context.Context, tenant string) (store.Admission, error) {
	return g.store.Admission(ctx, tenant, g.day())
}

// How often a call is made again that got no answer, or was throttled, and after which
// pause.
const (
	retries   = 4
	pauseBase = 25 * time.Millisecond
)

// persist calls f until the outcome is known, or it has failed often enough. Full jitter.
func (g *Gate) persist(ctx context.Context, f func() error) error {
	for failures := 0; ; failures++ {
		err := f()
		switch core.CodeOf(err) {
		case "", core.CodeInvalid, core.CodeCorrupt:
			return err
		}
		if ctx.Err() != nil || failures == retries || g.env.Sleep(ctx, g.env.Jitter(pauseBase<<failures)) != nil {
			return err
		}
	}
}
