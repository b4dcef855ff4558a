package storetest

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

func onUsage(method, tenant string) Operation {
	return Operation{Method: method, Key: core.ThreadKey{Tenant: tenant}}
}

// UsageRecords implements [store.Backend].
func (f *Faulty) UsageRecords(ctx context.Context, tenant string, hour int64, after string, limit int) ([]store.Record, error) {
	var found []store.Record
	err := f.around(ctx, onUsage("UsageRecords", tenant), func(ctx context.Context) (err error) {
		found, err = f.Backend.UsageRecords(ctx, tenant, hour, after, limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// UsageMarks implements [store.Backend].
func (f *Faulty) UsageMarks(ctx context.Context, shard int, tenant string, after *store.UsageMark, limit int) ([]store.UsageMark, error) {
	var found []store.UsageMark
	err := f.around(ctx, onUsage("UsageMarks", tenant), func(ctx context.Context) (err error) {
		found, err = f.Backend.UsageMarks(ctx, shard, tenant, after, limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// SumUsage implements [store.Backend].
func (f *Faulty) SumUsage(ctx context.Context, mark store.UsageMark, total store.UsageTotal) error {
	return f.around(ctx, onUsage("SumUsage", mark.Tenant), func(ctx context.Context) error { return f.Backend.SumUsage(ctx, mark, total) })
}

// UsageTotals implements [store.Backend].
func (f *Faulty) UsageTotals(ctx context.Context, tenant string, from, to int64, limit int) ([]store.UsageTotal, error) {
	var found []store.UsageTotal
	err := f.around(ctx, onUsage("UsageTotals", tenant), func(ctx context.Context) (err error) {
		found, err = f.Backend.UsageTotals(ctx, tenant, from, to, limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}
