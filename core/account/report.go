package account

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// maxDays is how many days a report may cover, maxRows how many rows it may have, and
// maxRecords how many records it may read one by one for runs.
const (
	maxDays    = 100
	maxRows    = 5000
	maxRecords = 100_000
)

// By says what a report goes by.
type By struct{ Day, User, Agent, Run, Model bool }

// ParseBy reads a list such as day,agent. The empty one goes by nothing: one sum for all.
func ParseBy(list string) (by By, err error) {
	if list == "" {
		return by, nil
	}
	for _, name := range strings.Split(list, ",") {
		switch name {
		case "day":
			by.Day = true
		case "user":
			by.User = true
		case "agent":
			by.Agent = true
		case "run":
			by.Run = true
		case "model":
			by.Model = true
		default:
			return By{}, core.Errorf(core.CodeInvalid, "by: %q is unknown, allowed are day, user, agent, run and model, separated by commas", core.Excerpt(name))
		}
	}
	return by, nil
}

// of is the part of a key that the report goes by.
func (b By) of(k Key) Key {
	if !b.Day {
		k.Day = ""
	}
	if !b.User {
		k.User = ""
	}
	if !b.Agent {
		k.Agent = ""
	}
	if !b.Run {
		k.Run = ""
	}
	if !b.Model {
		k.Provider, k.Model = "", ""
	}
	return k
}

// Query is what a report is about.
type Query struct {
	Tenant   string
	OnlyUser bool      // what User used alone
	User     string    // with OnlyUser; empty: threads without an owner
	From, To time.Time // the first and the last day, in UTC
	By       By
}

// Row is a line of a report.
type Row struct {
	Sum
	// ModelCost is what the tokens cost; nil when one of the models has no price then.
	ModelCost *core.USD
	Unpriced  []string // those models
	// CloudCost is what handler, store and queue cost; nil when that is not known.
	CloudCost *core.USD
}

// Report returns what a tenant has used, in order of day, user, agent, run and model. Hours
// whose sum is not known to be whole are read record by record, the current one always,
// so that what was committed before the call is in it; by runs every one is, since sums do
// not tell them apart. More than 5,000 rows, or 100,000 records, are core.CodeInvalid.
func (l *Ledger) Report(ctx context.Context, q Query) ([]Row, error) {
	from, to, err := q.hours()
	if err != nil {
		return nil, err
	}
	// The marks first: an hour whose mark is gone by then has a whole sum.
	open, err := l.open(ctx, q.Tenant, from, to)
	if err != nil {
		return nil, err
	}
	rows := rows{l: l, q: q, at: map[Key]*Row{}}
	if l.o.Rates != nil {
		if rows.rates, err = l.o.Rates(); err != nil {
			return nil, err
		}
	}
	for next := from; next <= to; {
		totals, err := l.o.Store.UsageTotals(ctx, q.Tenant, next, to, pageOf)
		if err != nil {
			return nil, err
		}
		if len(totals) == 0 {
			break
		}
		for _, t := range totals {
			if slices.Contains(open, t.Hour) {
				continue
			}
			if q.By.Run {
				if err := rows.read(ctx, t.Hour); err != nil {
					return nil, err
				}
				continue
			}
			var s stored
			if err := l.o.Records.Decode("usage sums", t.Payload, &s); err != nil {
				return nil, err
			}
			if err := rows.add(t.Hour, s.Sums); err != nil {
				return nil, err
			}
		}
		next = totals[len(totals)-1].Hour + 1
	}
	for _, hour := range open {
		if err := rows.read(ctx, hour); err != nil {
			return nil, err
		}
	}
	return rows.sorted(), nil
}

// Check returns what is wrong with the days.
func (q Query) Check() error {
	_, _, err := q.hours()
	return err
}

func (q Query) hours() (from, to int64, err error) {
	first, last := q.From.UTC().Truncate(24*time.Hour), q.To.UTC().Truncate(24*time.Hour)
	days := int(last.Sub(first)/(24*time.Hour)) + 1
	switch {
	case first.Unix() < 0:
		return 0, 0, core.Errorf(core.CodeInvalid, "from: %s is before 1970", first.Format(time.DateOnly))
	case days < 1:
		return 0, 0, core.Errorf(core.CodeInvalid, "to: %s is before from, %s", last.Format(time.DateOnly), first.Format(time.DateOnly))
	case days > maxDays:
		return 0, 0, core.Errorf(core.CodeInvalid, "from %s to %s are %d days, at most %d are allowed", first.Format(time.DateOnly), last.Format(time.DateOnly), days, maxDays)
	}
	return store.HourOf(first.UnixMilli()), store.HourOf(last.UnixMilli()) + 23, nil
}

// open are the marked hours of a tenant.
func (l *Ledger) open(ctx context.Context, tenant string, from, to int64) (hours []int64, err error) {
	last := &store.UsageMark{Tenant: tenant, Hour: from - 1}
	for {
		marks, err := l.o.Store.UsageMarks(ctx, store.UsageShard(tenant), tenant, last, pageOf)
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
	q     Query
	rates Rates
	at    map[Key]*Row
	seen  int // records that were read
}

// read adds the records of an hour.
func (r *rows) read(ctx context.Context, hour int64) error {
	all := sums{}
	n, err := r.l.hour(ctx, r.q.Tenant, hour, all, r.q.By.Run)
	if err != nil {
		return err
	}
	if r.seen += n; r.q.By.Run && r.seen > maxRecords {
		return core.Errorf(core.CodeInvalid, "the report by runs would read more than %d records: ask for fewer days", maxRecords)
	}
	return r.add(hour, all.sorted())
}

// add adds the sums of an hour, with what they cost on its day.
func (r *rows) add(hour int64, all []Sum) error {
	day := time.UnixMilli(hour * store.UsageHour).UTC()
	for _, s := range all {
		if r.q.OnlyUser && s.User != r.q.User {
			continue
		}
		whose, whole := s.Key, s
		s.Day = day.Format(time.DateOnly)
		k := r.q.By.of(s.Key)
		row := r.at[k]
		if row == nil && len(r.at) == maxRows {
			return core.Errorf(core.CodeInvalid, "the report has more than %d rows: ask for fewer days, or by less", maxRows)
		}
		if row == nil {
			row = &Row{Sum: Sum{Key: k}, ModelCost: new(core.USD), CloudCost: new(core.USD)}
			r.at[k] = row
		}
		row.Sum.add(s)
		r.price(row, whose, &whole, day)
	}
	return nil
}

func (r *rows) price(row *Row, whose Key, s *Sum, day time.Time) {
	if name := whose.Model; name != "" || s.Tokens != (core.Usage{}) {
		price, known := r.l.o.Models.Price(whose.Provider, name, day)
		switch {
		case !known:
			row.ModelCost = nil
			if !slices.Contains(row.Unpriced, name) {
				row.Unpriced = append(row.Unpriced, name)
				slices.Sort(row.Unpriced)
			}
		case row.ModelCost != nil:
			*row.ModelCost += price.Cost(s.Tokens)
		}
	}
	if r.rates == (Rates{}) {
		row.CloudCost = nil
		return
	}
	*row.CloudCost += r.rates.cost(s)
}

func (r *rows) sorted() []Row {
	all := make([]Row, 0, len(r.at))
	for _, row := range r.at {
		all = append(all, *row)
	}
	slices.SortFunc(all, func(a, b Row) int { return a.Key.compare(b.Key) })
	return all
}

// Rates are what the cloud asks, in USD per million. The zero value is not known.
type Rates struct {
	WriteUnits, ReadUnits, QueueRequests, GBSeconds float64
}

// cost is what was spent at these rates, with what was estimated.
func (r Rates) cost(s *Sum) core.USD {
	// A hundredth of a unit at a dollar per million is ten billionths of a dollar.
	units := r.WriteUnits*float64(s.Spent.Write+s.Spent.WriteMore) + r.ReadUnits*float64(s.Spent.Read) +
		r.QueueRequests*float64(s.Spent.Queue+s.Spent.QueueMore)
	seconds := float64(s.Billed) / 1024 / 1000
	return core.USD(units*10 + seconds*r.GBSeconds*1000 + 0.5)
}
