package accounting_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/calendar"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/model/catalog"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
)

// book is a ledger over a memory store, at a time that the test says.
type book struct {
	t     *testing.T
	store store.Backend
	now   time.Time
	*accounting.Ledger
}

// The price of gpt-x doubles on the second of March, and local has none.
const prices = `{"models":[{"provider":"p","names":["gpt-x"],"prices":[
	{"from":"2026-01-01","input":1,"output":10,"source":"a test"},{"from":"2026-03-02","input":2,"output":20,"source":"a test"}]}]}`

func newBook(t *testing.T) *book {
	t.Helper()
	models, err := (&catalog.Catalog{}).With([]byte(prices))
	if err != nil {
		t.Fatal(err)
	}
	b := &book{t: t, store: memory.New(), now: time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)}
	b.Ledger, err = accounting.NewLedger(accounting.LedgerOptions{
		Store: b.store, Now: func() time.Time { return b.now }, Models: models, Keep: 24 * time.Hour,
		Rates: func() (account.Rates, error) {
			return account.Rates{WriteUnits: 0.625, ReadUnits: 0.125, QueueRequests: 0.40, GBSeconds: 13.3334}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// put stores the record of a run's first stretch that began at a time.
func (b *book) put(at time.Time, run byte, r account.Record) {
	b.t.Helper()
	r.Run, r.Since = core.ID{run}, at.UnixMilli()
	record, err := accounting.EncodeRecord(&r, thread.Records{}, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	record.Fence, record.Version = 1, 1
	b.putUsage("acme", r.Since, record)
}

// putUsage stores a record of usage alone, as a Commit does before its head.
func (b *book) putUsage(tenant string, since int64, record store.Record) {
	b.t.Helper()
	usages := b.store.(interface {
		PutUsage(tenant string, usage *store.Usage) error
	})
	if err := usages.PutUsage(tenant, &store.Usage{Hour: calendar.Hour(since), Record: record}); err != nil {
		b.t.Fatal(err)
	}
}

func calls(model string, input, output int) []core.ModelUse {
	return []core.ModelUse{{Provider: "p", Model: model, Usage: core.Usage{Input: input, Output: output}, Inferences: 1, Millis: 10}}
}

func day(d int) time.Time { return time.Date(2026, 3, d, 0, 0, 0, 0, time.UTC) }

func (b *book) report(q account.Query) (lines []string) {
	b.t.Helper()
	q.Tenant = "acme"
	rows, err := b.Report(b.t.Context(), q)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, r := range rows {
		cost := "unknown"
		if r.ModelCost != nil {
			cost = r.ModelCost.String()
		}
		lines = append(lines, fmt.Sprintf("%s|%s|%s%s|%s runs %d in %d out %d: %s %v", r.Day, r.User, r.Agent, r.Run, r.Model, r.Runs, r.Tokens.Input, r.Tokens.Output, cost, r.Unpriced))
	}
	return lines
}

func TestReportsGoByWhatIsAsked(t *testing.T) {
	b := newBook(t)
	b.put(day(1).Add(23*time.Hour+59*time.Minute), 1, account.Record{User: "ann", Agent: "clerk", Models: calls("gpt-x", 1_000_000, 100_000)})
	b.put(day(2), 2, account.Record{User: "ann", Agent: "clerk", Models: calls("gpt-x", 1_000_000, 100_000)})
	b.put(day(2).Add(time.Hour), 3, account.Record{User: "bob", Agent: "scout", Models: calls("local", 5, 6)})
	b.put(day(3), 4, account.Record{User: "ann", Agent: "scout", Models: calls("gpt-x", 10, 0)})
	for _, tt := range []struct {
		name string
		q    account.Query
		want []string
	}{
		{"nothing: one sum, whose cost is not known", account.Query{From: day(1), To: day(3)}, []string{"||| runs 4 in 2000015 out 200006: unknown [local]"}},
		{"days, at the prices of each", account.Query{From: day(1), To: day(3), By: account.By{Day: true}}, []string{
			"2026-03-01||| runs 1 in 1000000 out 100000: 2 []",
			"2026-03-02||| runs 2 in 1000005 out 100006: unknown [local]",
			"2026-03-03||| runs 1 in 10 out 0: 0.00002 []"}},
		{"the first day alone", account.Query{From: day(1), To: day(1), By: account.By{Agent: true}}, []string{"||clerk| runs 1 in 1000000 out 100000: 2 []"}},
		{"users and models", account.Query{From: day(2), To: day(3), By: account.By{User: true, Model: true}}, []string{
			"|ann|| runs 2 in 0 out 0: 0 []", "|ann||gpt-x runs 0 in 1000010 out 100000: 4.00002 []",
			"|bob|| runs 1 in 0 out 0: 0 []", "|bob||local runs 0 in 5 out 6: unknown [local]"}},
		{"runs, each with its money", account.Query{From: day(2), To: day(3), By: account.By{Run: true}}, []string{
			"||02000000-0000-0000-0000-000000000000| runs 1 in 1000000 out 100000: 4 []",
			"||03000000-0000-0000-0000-000000000000| runs 1 in 5 out 6: unknown [local]",
			"||04000000-0000-0000-0000-000000000000| runs 1 in 10 out 0: 0.00002 []"}},
		{"one user", account.Query{From: day(1), To: day(3), OnlyUser: true, User: "bob"}, []string{"||| runs 1 in 5 out 6: unknown [local]"}},
		{"threads of nobody", account.Query{From: day(1), To: day(3), OnlyUser: true}, nil},
		{"days of which nothing is known", account.Query{From: day(4), To: day(5), By: account.By{Day: true}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, state := range []string{"from records", "from sums"} {
				if diff := cmp.Diff(tt.want, b.report(tt.q)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", state, diff)
				}
				if _, err := b.Sum(t.Context(), (store.UsageMark{Tenant: "acme"}).Shard(), b.now.Add(time.Minute)); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	if marks, err := b.store.UsageMarks(t.Context(), (store.UsageMark{Tenant: "acme"}).Shard(), "acme", nil, 9); err != nil || len(marks) > 0 {
		t.Errorf("%+v are marked when all is summed, %v", marks, err)
	}
}

// A unit is counted in hundredths, the function's time in MB and milliseconds.
func TestWhatTheCloudCosts(t *testing.T) {
	b := newBook(t)
	b.put(day(1), 1, account.Record{Memory: 512, Spent: core.Spent{Handler: 2_000_000, Write: 100_000_000, WriteMore: 100_000_000, Read: 100_000_000, Queue: 50_000_000, QueueMore: 50_000_000}})
	rows, err := b.Report(t.Context(), account.Query{Tenant: "acme", From: day(1), To: day(1)})
	if err != nil || len(rows) != 1 {
		t.Fatalf("%+v, %v", rows, err)
	}
	// 2 million write units 1.25, a million read units 0.125, a million requests 0.4, 1,000 GB-s 0.0133334.
	if got := rows[0].CloudCost.String(); got != "1.7883334" {
		t.Errorf("the cloud costs %s, want 1.7883334", got)
	}
}

func TestHoursAreSummedWhenTheyHaveSettled(t *testing.T) {
	b := newBook(t)
	b.put(day(3).Add(10*time.Hour), 1, account.Record{Models: calls("gpt-x", 1, 1)})
	b.put(day(3).Add(11*time.Hour), 2, account.Record{Models: calls("gpt-x", 1, 1)})
	shard := store.UsageMark{Tenant: "acme"}.Shard()
	for _, tt := range []struct {
		at    time.Duration
		until time.Duration
		want  int
	}{
		{10 * time.Hour, time.Minute, 0},
		{11*time.Hour + 15*time.Minute - 1, time.Minute, 0},
		{11*time.Hour + 15*time.Minute, 0, 0}, // no time is left
		{11*time.Hour + 15*time.Minute, time.Minute, 1},
		{12 * time.Hour, time.Minute, 0},
		{20 * time.Hour, time.Minute, 1},
	} {
		b.now = day(3).Add(tt.at)
		if got, err := b.Sum(t.Context(), shard, b.now.Add(tt.until)); err != nil || got != tt.want {
			t.Errorf("at %s, with %s left: %d hours, %v, want %d", tt.at, tt.until, got, err, tt.want)
		}
	}
	totals, err := b.store.UsageTotals(t.Context(), "acme", 0, 1<<40, 9)
	if err != nil || len(totals) != 2 || totals[0].Expires != day(4).Add(10*time.Hour).Unix() {
		t.Errorf("%+v, %v: want two that expire a day behind their hour", totals, err)
	}
}

// Each shard has its minute, so that a quarter of an hour and a minute see all of them.
func TestEveryShardHasItsMinute(t *testing.T) {
	b := newBook(t)
	b.put(day(1), 1, account.Record{})
	summed := 0
	for range store.Shards {
		n, err := b.SumNext(t.Context(), b.now.Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		summed += n
		b.now = b.now.Add(time.Minute)
	}
	if summed != 1 {
		t.Errorf("%d hours were summed in %d minutes, want 1", summed, store.Shards)
	}
}

// What was summed before is read before the records, so that whoever sums an hour at the
// same time and finds less does not win.
func TestASumThatIsOlderIsLeftOut(t *testing.T) {
	b := newBook(t)
	b.put(day(1), 1, account.Record{Models: calls("gpt-x", 100, 0)})
	slow := &slow{Backend: b.store}
	other, err := accounting.NewLedger(accounting.LedgerOptions{Store: slow, Now: func() time.Time { return b.now }})
	if err != nil {
		t.Fatal(err)
	}
	slow.meanwhile = func() { // between the records that it has read and its sum
		b.put(day(1), 2, account.Record{Models: calls("gpt-x", 7, 0)})
		if n, err := b.Sum(t.Context(), (store.UsageMark{Tenant: "acme"}).Shard(), b.now.Add(time.Minute)); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if n, err := other.Sum(t.Context(), (store.UsageMark{Tenant: "acme"}).Shard(), b.now.Add(time.Minute)); n != 0 || err != nil {
		t.Errorf("the slow one sums %d hours, %v, want none", n, err)
	}
	if diff := cmp.Diff([]string{"||| runs 2 in 107 out 0: 0.000107 []"}, b.report(account.Query{From: day(1), To: day(1)})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// slow has something happen before it stores a sum.
type slow struct {
	store.Backend
	meanwhile func()
}

func (s *slow) SumUsage(ctx context.Context, mark store.UsageMark, total store.UsageTotal) error {
	s.meanwhile()
	return s.Backend.SumUsage(ctx, mark, total)
}

func TestAReportHasSoManyRows(t *testing.T) {
	b := newBook(t)
	put := func(n int) {
		b.put(day(1).Add(time.Duration(n%20)*time.Hour), 1, account.Record{User: fmt.Sprint("user-", n), Stretch: uint64(n)})
	}
	for n := range 5000 {
		put(n)
	}
	q := account.Query{Tenant: "acme", From: day(1), To: day(1), By: account.By{User: true}}
	if rows, err := b.Report(t.Context(), q); err != nil || len(rows) != 5000 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	put(5000)
	_, err := b.Report(t.Context(), q)
	const want = "the report has more than 5000 rows: ask for fewer days, or by less"
	if core.CodeOf(err) != core.CodeInvalid || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// full is a store in which one tenant's sums are too large.
type full struct{ store.Backend }

func (s full) SumUsage(ctx context.Context, m store.UsageMark, total store.UsageTotal) error {
	if m.Tenant == "big" {
		return fmt.Errorf("%w: sum", store.ErrTooLarge)
	}
	return s.Backend.SumUsage(ctx, m, total)
}

func TestAnHourThatCannotBeSummedStopsNoOther(t *testing.T) {
	b := newBook(t)
	l, err := accounting.NewLedger(accounting.LedgerOptions{Store: full{b.store}, Now: func() time.Time { return b.now }})
	if err != nil {
		t.Fatal(err)
	}
	shard, behind := store.UsageMark{Tenant: "big"}.Shard(), ""
	for i := 0; behind == ""; i++ {
		if name := fmt.Sprint("c", i); (store.UsageMark{Tenant: name}).Shard() == shard {
			behind = name
		}
	}
	for _, tenant := range []string{"big", behind} {
		r := account.Record{Run: core.ID{1}, Since: day(1).UnixMilli()}
		record, err := accounting.EncodeRecord(&r, thread.Records{}, 0)
		if err != nil {
			t.Fatal(err)
		}
		record.Fence, record.Version = 1, 1
		b.putUsage(tenant, r.Since, record)
	}
	summed, err := l.Sum(t.Context(), shard, b.now.Add(time.Hour))
	if summed != 1 || !errors.Is(err, store.ErrTooLarge) || !strings.Contains(err.Error(), "of tenant big: ") {
		t.Errorf("summed %d, %v", summed, err)
	}
	if marks, err := b.store.UsageMarks(t.Context(), shard, behind, nil, 9); err != nil || len(marks) > 0 {
		t.Errorf("%s is still marked: %v, %v", behind, marks, err)
	}
}

// A row by root has what a run has used, and what the runs below it have, on other threads and of
// other agents.
func TestARootHasWhatTheRunsBelowItHaveUsed(t *testing.T) {
	b := newBook(t)
	b.put(day(1), 1, account.Record{Agent: "lead", Models: calls("gpt-x", 10, 1)})
	b.put(day(1), 2, account.Record{Agent: "scout", Root: core.ID{1}, Models: calls("gpt-x", 200, 20)})
	b.put(day(2), 3, account.Record{Agent: "clerk", Root: core.ID{1}, Models: calls("local", 3000, 300)})
	b.put(day(2), 4, account.Record{Agent: "scout", Models: calls("gpt-x", 40_000, 4000)})
	for _, state := range []string{"from records", "after the hours are summed"} {
		rows, err := b.Report(t.Context(), account.Query{Tenant: "acme", From: day(1), To: day(2), By: account.By{Root: true}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range rows {
			got = append(got, fmt.Sprintf("%s runs %d in %d out %d, agent %q, run %q", r.Root[:8], r.Runs, r.Tokens.Input, r.Tokens.Output, r.Agent, r.Run))
		}
		want := []string{`01000000 runs 3 in 3210 out 321, agent "", run ""`, `04000000 runs 1 in 40000 out 4000, agent "", run ""`}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", state, diff)
		}
		if _, err := b.Sum(t.Context(), (store.UsageMark{Tenant: "acme"}).Shard(), b.now.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
}
