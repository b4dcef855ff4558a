package accounting

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/internal/calendar"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/model/catalog"
	"github.com/reveille-run/reveille/core/store"
)

// Usages keeps what runs have used: see [store.Backend].
type Usages interface {
	UsageRecords(ctx context.Context, tenant string, hour int64, after string, limit int) ([]store.Record, error)
	UsageMarks(ctx context.Context, shard int, tenant string, after *store.UsageMark, limit int) ([]store.UsageMark, error)
	SumUsage(ctx context.Context, mark store.UsageMark, total store.UsageTotal) error
	UsageTotals(ctx context.Context, tenant string, from, to int64, limit int) ([]store.UsageTotal, error)
}

// LedgerOptions configures a [Ledger]. Store and Now are required.
type LedgerOptions struct {
	Store   Usages
	Now     func() time.Time
	Records thread.Records                // the schemas that the program reads and writes
	Keep    time.Duration                 // how long sums are kept: as long as records
	Models  *catalog.Catalog              // what models cost; nil: nothing is known of it
	Rates   func() (account.Rates, error) // what the cloud costs; nil: that is not known
}

// Ledger reads what tenants have used. It is safe for concurrent use.
type Ledger struct{ o LedgerOptions }

// NewLedger returns a Ledger.
func NewLedger(o LedgerOptions) (*Ledger, error) {
	if o.Store == nil || o.Now == nil {
		return nil, core.Errorf(core.CodeInvalid, "usage: Store and Now are required")
	}
	if o.Models == nil {
		o.Models = &catalog.Catalog{}
	}
	return &Ledger{o}, nil
}

// settled is how long after its end an hour is summed. A process that takes the hour for
// the current one, since its clock is slow, leaves marks out.
const settled = 15 * time.Minute

// pageOf is how many records, marks or sums are read at a time.
const pageOf = 500

// stored is the payload of a store.UsageTotal.
type stored struct {
	Sums []account.Row `json:"sums"`
}

// Sum sums the marked hours of a shard that have passed, and returns how many it did. It
// begins none when ctx is done, or until has passed; what is left keeps its mark. An hour
// that another process sums at the same time is omitted. One that cannot be
// summed keeps its mark, too, and stops no other; the error is that of the first.
func (l *Ledger) Sum(ctx context.Context, shard int, until time.Time) (summed int, err error) {
	var last *store.UsageMark
	for {
		marks, failed := l.o.Store.UsageMarks(ctx, shard, "", last, pageOf)
		if failed != nil || len(marks) == 0 {
			return summed, cmp.Or(err, failed)
		}
		for i, mark := range marks {
			now := l.o.Now()
			if ctx.Err() != nil || !now.Before(until) {
				return summed, err
			}
			last = &marks[i]
			if end := time.UnixMilli((mark.Hour + 1) * calendar.HourMillis); now.Before(end.Add(settled)) {
				continue
			}
			switch failed := l.sumHour(ctx, mark); {
			case errors.Is(failed, store.ErrConflict):
			case failed != nil:
				err = cmp.Or(err, fmt.Errorf("hour %d of tenant %s: %w", mark.Hour, mark.Tenant, failed))
			default:
				summed++
			}
		}
	}
}

// SumNext is Sum of the shard whose turn it is: each has a minute of every sixteen, so
// that who sweeps every minute pays for one look.
func (l *Ledger) SumNext(ctx context.Context, until time.Time) (summed int, err error) {
	minute := l.o.Now().Unix() / 60
	return l.Sum(ctx, int(minute%store.Shards), until)
}

// sumHour sums a marked hour from its records. The sum that it replaces is read before
// them, so that of two that sum the same hour none stores what is older.
func (l *Ledger) sumHour(ctx context.Context, mark store.UsageMark) error {
	before, err := l.o.Store.UsageTotals(ctx, mark.Tenant, mark.Hour, mark.Hour, 1)
	if err != nil {
		return err
	}
	total := store.UsageTotal{Hour: mark.Hour}
	if len(before) > 0 {
		total.Revision = before[0].Revision
	}
	if l.o.Keep > 0 {
		total.Expires = mark.Hour*calendar.HourMillis/1000 + int64(l.o.Keep/time.Second)
	}
	all := sums{}
	if _, err := l.hour(ctx, mark.Tenant, mark.Hour, all, false); err != nil {
		return err
	}
	if total.Payload, err = l.o.Records.Encode("usage sums", &stored{all.sorted()}); err != nil {
		return err
	}
	return l.o.Store.SumUsage(ctx, mark, total)
}

// hour adds the records of an hour, each run's apart if runs is set, and returns their
// number.
func (l *Ledger) hour(ctx context.Context, tenant string, hour int64, all sums, runs bool) (n int, err error) {
	after := ""
	for {
		records, err := l.o.Store.UsageRecords(ctx, tenant, hour, after, pageOf)
		if n += len(records); err != nil || len(records) == 0 {
			return n, err
		}
		for _, stored := range records {
			var r account.Record
			if err := l.o.Records.Decode("usage", stored.Payload, &r); err != nil {
				return n, fmt.Errorf("%s: %w", stored.Name, err)
			}
			all.addRecord(&r, runs)
		}
		after = records[len(records)-1].Name
	}
}
