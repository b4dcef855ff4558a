package accounting

import (
	"context"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/internal/calendar"
)

// Hours returns what a tenant has used in each hour of a query, from the sums of hours and,
// as [Ledger.Report] does, from the records of those whose sum is not whole. An hour without
// usage has zeros. No thread is read.
func (l *Ledger) Hours(ctx context.Context, q account.HourQuery) ([]account.Hour, error) {
	first, last, err := q.Hours()
	if err != nil {
		return nil, err
	}
	h := hours{l: l, q: q, first: first, all: make([]account.Hour, last-first+1), unpriced: map[[3]string]bool{}}
	for i := range h.all {
		h.all[i] = account.Hour{At: (first + int64(i)) * calendar.HourMillis, Cost: core.Cost{Known: true}}
	}
	if err := l.each(ctx, q.Tenant, first, last, &h); err != nil {
		return nil, err
	}
	return h.all, nil
}

// reporter receives the hours of a report.
type reporter interface {
	// add adds the sums of an hour.
	add(hour int64, all []account.Row) error
	// read adds the records of an hour.
	read(ctx context.Context, hour int64) error
	// apart reports whether every hour is read record by record.
	apart() bool
}

// each gives a report the usage of a tenant's hours: the sums of those that are summed
// whole, then the others to read.
func (l *Ledger) each(ctx context.Context, tenant string, from, to int64, r reporter) error {
	// The marks first: an hour whose mark is gone by then has a whole sum.
	open, err := l.open(ctx, tenant, from, to)
	if err != nil {
		return err
	}
	for next := from; next <= to; {
		totals, err := l.o.Store.UsageTotals(ctx, tenant, next, to, pageOf)
		if err != nil {
			return err
		}
		if len(totals) == 0 {
			break
		}
		for _, t := range totals {
			if slices.Contains(open, t.Hour) {
				continue
			}
			if r.apart() {
				err = r.read(ctx, t.Hour)
			} else {
				var s stored
				if err = l.o.Records.Decode("usage sums", t.Payload, &s); err == nil {
					err = r.add(t.Hour, s.Sums)
				}
			}
			if err != nil {
				return err
			}
		}
		next = totals[len(totals)-1].Hour + 1
	}
	for _, hour := range open {
		if err := r.read(ctx, hour); err != nil {
			return err
		}
	}
	return nil
}

// hours are the hours of a query on their way.
type hours struct {
	l     *Ledger
	q     account.HourQuery
	first int64
	all   []account.Hour
	// unpriced are the models without a price, by day, provider and name: looking for one
	// takes long.
	unpriced map[[3]string]bool
}

func (h *hours) apart() bool { return false }

func (h *hours) read(ctx context.Context, hour int64) error {
	all := sums{}
	if _, err := h.l.hour(ctx, h.q.Tenant, hour, all, false); err != nil {
		return err
	}
	return h.add(hour, all.sorted())
}

func (h *hours) add(hour int64, all []account.Row) error {
	day := time.UnixMilli(hour * calendar.HourMillis).UTC()
	for _, s := range all {
		if h.q.OnlyUser && s.User != h.q.User || h.q.Agent != "" && s.Agent != h.q.Agent {
			continue
		}
		h.all[hour-h.first].Add(account.Hour{Runs: s.Runs, Tokens: s.Tokens, Cost: h.cost(&s, day)})
	}
	return nil
}

// cost is what the tokens of a sum cost on a day.
func (h *hours) cost(s *account.Row, day time.Time) core.Cost {
	if s.Model == "" && s.Tokens == (core.Usage{}) {
		return core.Cost{Known: true}
	}
	name := [3]string{day.Format(time.DateOnly), s.Provider, s.Model}
	if h.unpriced[name] {
		return core.Cost{}
	}
	cost, known := h.l.o.Models.Cost(s.Provider, s.Model, s.Tokens, day)
	if !known {
		h.unpriced[name] = true
		return core.Cost{}
	}
	return core.Cost{USD: cost, Known: true}
}
