package host_test

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/catalog"
)

// measured is a model whose requests have so many tokens of input, one after another.
type measured []core.Usage

func (c *measured) Stream(context.Context, model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		used := (*c)[0]
		*c = (*c)[1:]
		_ = yield(model.Delta{Type: model.DeltaText, Text: "a"}, nil) && yield(model.Delta{Type: model.DeltaUsage, Usage: used}, nil) &&
			yield(model.Delta{Type: model.DeltaStop, Stop: core.StopEndTurn}, nil)
	}
}

// A long request has a price of its own, and so have tokens that the cache keeps for an hour:
// in the report, for a run, and for the money that a tenant may spend.
func TestALongRequestHasItsPrice(t *testing.T) {
	known, err := new(catalog.Catalog).With([]byte(`{"models":[{"provider":"p","names":["m"],"context_window":1000000,"source":"s","prices":[
		{"input":1,"output":10,"cache_write":2,"cache_write_hour":4,"above":{"tokens":200000,"input":3,"output":30}}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	calls := measured{{Input: 200_000, Output: 1000}, {Input: 200_001, Output: 1000, CacheWrite: 100_000, CacheWriteHour: 50_000}}
	w := newWorld(t, func(c *host.Options) {
		m := c.Agents.Models["m"]
		m.Model, m.Name, m.Provider = &calls, "m", "p"
		c.Agents.Models["m"], c.Agents.Catalog = m, known
		c.Metering = &host.Metering{Models: known}
		c.Limits, c.Prices = account.Tenants{Default: account.Limits{SpendADay: 100e9}}, known.Cost
	})
	w.said(t, "short", "hello")
	w.said(t, "long", "hello")
	// 0.2 + 0.01, and 100,001 of 3, 50,000 of 2, 50,000 of 4, 1,000 of 30
	const want = "0.840003"
	today := time.Now().UTC()
	rows, err := w.Report(t.Context(), account.Query{Tenant: local.Tenant, From: today, To: today})
	if err != nil || len(rows) != 1 || rows[0].ModelCost == nil || rows[0].ModelCost.String() != want {
		t.Errorf("the report is %+v, %v, want a cost of %s", rows, err, want)
	}
	if limits, err := w.Host.Limits(t.Context(), local.Tenant); err != nil || limits.Used.Spend.String() != want {
		t.Errorf("the tenant has spent %+v, %v, want %s", limits, err, want)
	}
}
