//go:build !race

// It starts no goroutine, and takes eight times as long under the race detector.

package accounting_test

import (
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
)

func TestAReportByRunsReadsSoManyRecords(t *testing.T) {
	b := newBook(t)
	put := func(n int) {
		b.put(day(1).Add(time.Duration(n%20)*time.Hour), 1, account.Record{User: "ann", Stretch: uint64(n)})
	}
	for n := range 100_000 {
		put(n)
	}
	q := account.Query{Tenant: "acme", From: day(1), To: day(1), By: account.By{Run: true}}
	if rows, err := b.Report(t.Context(), q); err != nil || len(rows) != 1 || rows[0].Stretches != 100_000 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	put(100_000)
	_, err := b.Report(t.Context(), q)
	const want = "the report by runs would read more than 100000 records: ask for fewer days"
	if core.CodeOf(err) != core.CodeInvalid || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
