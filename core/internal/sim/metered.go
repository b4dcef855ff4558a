package sim

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/calendar"
	"github.com/reveille-run/reveille/core/store"
)

// newLedger returns the ledger of usage over a store, for who looks at a world that is over.
func newLedger(w *World, s accounting.Usages, now func() time.Time) *accounting.Ledger {
	l, err := accounting.NewLedger(accounting.LedgerOptions{Store: s, Now: now, Records: w.checks, Models: w.provider.prices})
	if err != nil {
		w.violate("make the ledger: %v", err)
	}
	return l
}

// sumUsage is the job that sums the hours that have passed, as a sweep runs it.
func (h *host) sumUsage(ctx context.Context) {
	if !h.world.config.Accounts.Metered {
		return
	}
	h.world.attempt(h, "sum usage", func() error {
		_, err := h.engine.runtime.SumUsage(ctx, h.clock().Add(sweepTimeout))
		return err
	})
}

// payer is whose usage something is, and when.
type payer struct {
	tenant      string
	hour        int64 // or the day
	user, agent string
	model       string // empty: runs and stretches
}

func (a payer) compare(b payer) int {
	return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.hour, b.hour), cmp.Compare(a.user, b.user),
		cmp.Compare(a.agent, b.agent), cmp.Compare(a.model, b.model))
}

// used is what a payer has used.
type used struct {
	runs, stretches, inferences int
	tokens                      core.Usage
}

// accounts are the books of a world: the provider's, or the reports of the tenants.
type accounts map[payer]used

func (a accounts) add(to payer, u used) {
	was := a[to]
	a[to] = used{was.runs + u.runs, was.stretches + u.stretches, was.inferences + u.inferences, was.tokens.Add(u.tokens)}
}

// books are what has been used by what the provider has served and what the heads show.
// period is how long a payer's time is.
func (au *auditor) books(period int64) accounts {
	all := accounts{}
	of := func(s *stretch) payer {
		return payer{tenant: s.th.p.key.Tenant, hour: s.since / period, user: s.th.user, agent: s.agent}
	}
	for _, s := range au.w.stretches {
		if !s.over {
			continue
		}
		u := used{stretches: 1}
		if s.first {
			u.runs = 1
		}
		all.add(of(s), u)
	}
	for _, s := range au.w.provider.served {
		if s.told && s.within.over {
			to := of(s.within)
			to.model = s.model
			all.add(to, used{inferences: 1, tokens: s.usage})
		}
	}
	return all
}

// checkUsage compares the tenants' usage reports with the provider's books, when all is
// over and summed.
func (au *auditor) checkUsage() {
	if !au.w.config.Accounts.Metered {
		return
	}
	ctx := context.Background()
	if au.w.config.Tenants == 0 { // its hour has not passed
		au.sumLater(ctx)
	}
	for shard := range store.Shards {
		marks, err := au.w.storage.usage.UsageMarks(ctx, shard, "", nil, 1)
		if err != nil || len(marks) > 0 {
			au.w.violate("hours are marked, but no process sums them: %+v (%v)", marks, err)
		}
	}
	au.w.Stats.Usage.Stretches = len(au.w.stretches)
	for _, s := range au.w.provider.served {
		if !s.told {
			au.w.Stats.Usage.Killed++
			continue
		}
		au.w.Stats.Usage.Tokens += s.usage.Input + s.usage.Output
	}
	au.compareBooks("the stored sums", au.books(calendar.HourMillis), au.storedSums(ctx))
	au.compareBooks("the reports", au.books(24*calendar.HourMillis), au.reported(ctx))
}

// sumLater sums what is marked as a sweep of the next hours does.
func (au *auditor) sumLater(ctx context.Context) {
	later := epoch.Add(au.w.now + 2*time.Hour)
	ledger := newLedger(au.w, au.w.storage.usage, func() time.Time { return later })
	for shard := range store.Shards {
		if _, err := ledger.Sum(ctx, shard, later.Add(time.Hour)); err != nil {
			au.w.violate("sum the usage of shard %d: %v", shard, err)
		}
	}
}

func (au *auditor) tenants() []string {
	names := map[string]bool{}
	for _, p := range au.w.storage.partitions {
		names[p.key.Tenant] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// storedSums are what the job has stored, by hour.
func (au *auditor) storedSums(ctx context.Context) accounts {
	all := accounts{}
	for _, tenant := range au.tenants() {
		totals, err := au.w.storage.usage.UsageTotals(ctx, tenant, 1, calendar.Hour(au.w.millis())+1, 10_000)
		if err != nil {
			au.w.violate("read the sums of %s: %v", tenant, err)
		}
		for _, t := range totals {
			var stored struct{ Sums []account.Row }
			if err := au.w.checks.Decode("usage sums", t.Payload, &stored); err != nil {
				au.w.violate("read the sums of %s: %v", tenant, err)
			}
			for _, s := range stored.Sums {
				all.addSum(tenant, t.Hour, s)
			}
		}
	}
	return all
}

// reported is what a tenant's administrator reads, by day.
func (au *auditor) reported(ctx context.Context) accounts {
	all, now := accounts{}, epoch.Add(au.w.now)
	ledger := newLedger(au.w, au.w.storage.usage, func() time.Time { return now })
	for _, tenant := range au.tenants() {
		rows, err := ledger.Report(ctx, account.Query{
			Tenant: tenant, From: epoch.Add(-24 * time.Hour), To: now, By: account.By{Day: true, User: true, Agent: true, Model: true},
		})
		if err != nil {
			au.w.violate("report the usage of %s: %v", tenant, err)
		}
		for _, r := range rows {
			day, err := time.Parse(time.DateOnly, r.Day)
			if err != nil {
				au.w.violate("the usage of %s is reported for day %q", tenant, r.Day)
			}
			all.addSum(tenant, day.UnixMilli()/(24*calendar.HourMillis), r)
			au.checkCost(tenant, &r)
		}
	}
	return all
}

// checkCost: money is the tokens at the day's price.
func (au *auditor) checkCost(tenant string, r *account.Row) {
	if r.Model == "" {
		return
	}
	want, known := au.w.provider.prices.Cost(r.Provider, r.Model, r.Tokens, epoch.Add(au.w.now))
	if !known || r.ModelCost == nil || *r.ModelCost != want {
		au.w.violate("the usage of %s of model %s costs %v, want %v: %+v", tenant, r.Model, r.ModelCost, want, r.Tokens)
	}
}

func (a accounts) addSum(tenant string, hour int64, s account.Row) {
	a.add(payer{tenant, hour, s.User, s.Agent, s.Model}, used{s.Runs, s.Stretches, s.Inferences, s.Tokens})
}

// compareBooks: the report that tenants receive equals the provider's books.
func (au *auditor) compareBooks(what string, books, told accounts) {
	both := maps.Clone(books)
	maps.Copy(both, told)
	for _, at := range slices.SortedFunc(maps.Keys(both), payer.compare) {
		a, b := books[at], told[at]
		counted := a.tokens.Equal(b.tokens)
		if a.tokens, b.tokens = (core.Usage{}), (core.Usage{}); a != b || !counted {
			au.w.violate("%s of %+v have %+v, the provider's books %+v%s", what, at, told[at], books[at], au.entries(at))
		}
	}
}

// entries are what the books have of a payer, to find what is missing.
func (au *auditor) entries(at payer) (all string) {
	for _, s := range au.w.provider.served {
		if s.th.p.key.Tenant == at.tenant && s.th.user == at.user && s.model == at.model && (s.within == nil || s.within.agent == at.agent) {
			all += fmt.Sprintf("\n\tthread %s, run %s by %s under fence %d at %s..%s: %+v, over %t, told %t, within %+v",
				s.th.p.key.Thread, s.run, s.host.name, s.fence, s.began, s.ended, s.usage, s.over, s.told, s.within != nil)
		}
	}
	records, _ := au.w.storage.usage.UsageRecords(context.Background(), at.tenant, at.hour, "", 1000)
	for _, r := range records {
		all += fmt.Sprintf("\n\trecord %s: %s", r.Name, r.Payload)
	}
	return all
}
