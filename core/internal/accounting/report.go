package accounting

import (
	"context"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/internal/calendar"
	"github.com/reveille-run/reveille/core/store"
)

// maxRows is how many rows a report may have, and maxRecords how many records it may read
// one by one for runs.
const (
	maxRows    = 5000
	maxRecords = 100_000
)

// Report returns what a tenant has used, in order of day, user, agent, run, root and model. Hours
// whose sum is not known to be whole are read record by record, the current one always,
// so that what was committed before the call is in it; by runs or roots every one is, since sums do
// not tell them apart. More than 5,000 rows, or 100,000 records, are core.CodeInvalid.
func (l *Ledger) Report(ctx context.Context, q account.Query) ([]account.Row, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	first, last := q.From.UTC().Truncate(24*time.Hour), q.To.UTC().Truncate(24*time.Hour)
	from, to := calendar.Hour(first.UnixMilli()), calendar.Hour(last.UnixMilli())+23
	rows := rows{l: l, q: q, at: map[key]*account.Row{}}
	if l.o.Rates != nil {
		var err error
		if rows.rates, err = l.o.Rates(); err != nil {
			return nil, err
		}
	}
	if err := l.each(ctx, q.Tenant, from, to, &rows); err != nil {
		return nil, err
	}
	return rows.sorted(), nil
}

// open are the marked hours of a tenant.
func (l *Ledger) open(ctx context.Context, tenant string, from, to int64) (hours []int64, err error) {
	last := &store.UsageMark{Tenant: tenant, Hour: from - 1}
	for {
		marks, err := l.o.Store.UsageMarks(ctx, store.UsageMark{Tenant: tenant}.Shard(), tenant, last, pageOf)
		if err != nil || len(marks) == 0 {
			return hours, err
		}
		for _, m := range marks {
			if m.Hour > to {
				return hours, nil
			}
			hours = append(hours, m.Hour)
		}
		last = &marks[len(marks)-1]
	}
}

// rows are the rows of a report on their way.
type rows struct {
	l     *Ledger
	q     account.Query
	rates account.Rates
	at    map[key]*account.Row
	seen  int // records that were read
}

// apart reports whether the rows tell runs apart, which sums do not.
func (r *rows) apart() bool { return r.q.By.Run || r.q.By.Root }

// read adds the records of an hour.
func (r *rows) read(ctx context.Context, hour int64) error {
	all := sums{}
	n, err := r.l.hour(ctx, r.q.Tenant, hour, all, r.apart())
	if err != nil {
		return err
	}
	if r.seen += n; r.apart() && r.seen > maxRecords {
		return core.Errorf(core.CodeInvalid, "the report by runs would read more than %d records: ask for fewer days", maxRecords)
	}
	return r.add(hour, all.sorted())
}

// add adds the sums of an hour, with what they cost on its day.
func (r *rows) add(hour int64, all []account.Row) error {
	day := time.UnixMilli(hour * calendar.HourMillis).UTC()
	for _, s := range all {
		if r.q.OnlyUser && s.User != r.q.User {
			continue
		}
		k := keyOf(&s)
		k.Day = day.Format(time.DateOnly)
		k = k.by(r.q.By)
		row := r.at[k]
		if row == nil && len(r.at) == maxRows {
			return core.Errorf(core.CodeInvalid, "the report has more than %d rows: ask for fewer days, or by less", maxRows)
		}
		if row == nil {
			row = k.row()
			row.ModelCost, row.CloudCost = new(core.USD), new(core.USD)
			r.at[k] = row
		}
		add(row, &s)
		r.price(row, &s, day)
	}
	return nil
}

// price adds what a sum costs on its day.
func (r *rows) price(row, s *account.Row, day time.Time) {
	if name := s.Model; name != "" || s.Tokens != (core.Usage{}) {
		cost, known := r.l.o.Models.Cost(s.Provider, name, s.Tokens, day)
		switch {
		case !known:
			row.ModelCost = nil
			if !slices.Contains(row.Unpriced, name) {
				row.Unpriced = append(row.Unpriced, name)
				slices.Sort(row.Unpriced)
			}
		case row.ModelCost != nil:
			*row.ModelCost += cost
		}
	}
	if r.rates == (account.Rates{}) {
		row.CloudCost = nil
		return
	}
	*row.CloudCost += cloudCost(r.rates, s)
}

func (r *rows) sorted() []account.Row {
	all := make([]account.Row, 0, len(r.at))
	for _, row := range r.at {
		all = append(all, *row)
	}
	slices.SortFunc(all, compare)
	return all
}

// cloudCost is what was spent at these rates, with what was estimated.
func cloudCost(r account.Rates, s *account.Row) core.USD {
	// A hundredth of a unit at a dollar per million is ten billionths of a dollar.
	units := r.WriteUnits*float64(s.Spent.Write+s.Spent.WriteMore) + r.ReadUnits*float64(s.Spent.Read) +
		r.QueueRequests*float64(s.Spent.Queue+s.Spent.QueueMore)
	seconds := float64(s.Billed) / 1024 / 1000
	return core.USD(units*10 + seconds*r.GBSeconds*1000 + 0.5)
}
