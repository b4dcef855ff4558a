package accounting_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
)

// hours are the hours of a query in which something was used, and how many there are.
func (b *book) hours(q account.HourQuery) (lines []string, n int) {
	b.t.Helper()
	q.Tenant = "acme"
	all, err := b.Hours(b.t.Context(), q)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, h := range all {
		if h.Runs == 0 && h.Tokens == (core.Usage{}) && h.Cost == (core.Cost{Known: true}) {
			continue
		}
		cost := "unknown"
		if h.Cost.Known {
			cost = h.Cost.USD.String()
		}
		lines = append(lines, fmt.Sprintf("%s runs %d in %d out %d: %s", time.UnixMilli(h.At).UTC().Format("02 15:04"), h.Runs, h.Tokens.Input, h.Tokens.Output, cost))
	}
	return lines, len(all)
}

// Hours are the same from records and from sums, at the prices of their days.
func TestHoursAreSummed(t *testing.T) {
	b := newBook(t)
	b.put(day(1).Add(23*time.Hour+59*time.Minute), 1, account.Record{User: "ann", Agent: "clerk", Models: calls("gpt-x", 1_000_000, 100_000)})
	b.put(day(2), 2, account.Record{User: "ann", Agent: "clerk", Models: calls("gpt-x", 1_000_000, 100_000)})
	b.put(day(2).Add(time.Minute), 3, account.Record{User: "ann", Agent: "scout", Models: calls("gpt-x", 1_000_000, 0)})
	b.put(day(2).Add(time.Hour), 4, account.Record{User: "bob", Agent: "scout", Models: calls("local", 5, 6)})
	b.put(day(3), 5, account.Record{User: "ann", Agent: "scout"})
	at := func(of time.Time) int64 { return of.UnixMilli() }
	for _, summed := range []bool{false, true} {
		if summed {
			if n, err := b.Sum(t.Context(), 15, b.now.Add(time.Hour)); err != nil || n != 4 {
				t.Fatalf("%d hours are summed, %v", n, err)
			}
		}
		for _, tt := range []struct {
			name string
			q    account.HourQuery
			want []string
			n    int
		}{
			{"all", account.HourQuery{From: at(day(1)), To: at(day(4))}, []string{
				"01 23:00 runs 1 in 1000000 out 100000: 2", "02 00:00 runs 2 in 2000000 out 100000: 6", "02 01:00 runs 1 in 5 out 6: unknown", "03 00:00 runs 1 in 0 out 0: 0"}, 72},
			{"an agent", account.HourQuery{From: at(day(1)), To: at(day(3)), Agent: "scout"}, []string{"02 00:00 runs 1 in 1000000 out 0: 2", "02 01:00 runs 1 in 5 out 6: unknown"}, 48},
			{"a user", account.HourQuery{From: at(day(2)), To: at(day(3)), OnlyUser: true, User: "bob"}, []string{"02 01:00 runs 1 in 5 out 6: unknown"}, 24},
			{"threads without an owner", account.HourQuery{From: at(day(2)), To: at(day(3)), OnlyUser: true}, nil, 24},
			{"whole hours", account.HourQuery{From: at(day(2)) - 1, To: at(day(2)) + 1}, []string{
				"01 23:00 runs 1 in 1000000 out 100000: 2", "02 00:00 runs 2 in 2000000 out 100000: 6"}, 2},
			{"one hour", account.HourQuery{From: at(day(2)), To: at(day(2).Add(time.Hour))}, []string{"02 00:00 runs 2 in 2000000 out 100000: 6"}, 1},
		} {
			got, n := b.hours(tt.q)
			if diff := cmp.Diff(tt.want, got); diff != "" || n != tt.n {
				t.Errorf("%s, summed %t: %d hours, want %d (-want +got):\n%s", tt.name, summed, n, tt.n, diff)
			}
		}
	}
}

func TestHoursThatAreRefused(t *testing.T) {
	b := newBook(t)
	for name, tt := range map[string]struct {
		q    account.HourQuery
		want string // empty: it is not refused
	}{
		"2,400 hours":           {account.HourQuery{From: 3_599_999, To: 2400 * 3_600_000}, ""},
		"2,401 hours":           {account.HourQuery{From: 3_599_999, To: 2400*3_600_000 + 1}, "since 3599999 until 8640000001 are 2401 hours, at most 2400 are allowed"},
		"none":                  {account.HourQuery{From: 5, To: 5}, "until 5 is not after since, 5"},
		"before the first hour": {account.HourQuery{From: -1, To: 5}, "since -1 is before 1970"},
	} {
		tt.q.Tenant = "acme"
		_, err := b.Hours(t.Context(), tt.q)
		if got := fmt.Sprint(err); tt.want != "" && (got != tt.want || core.CodeOf(err) != core.CodeInvalid) || tt.want == "" && err != nil {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
}
