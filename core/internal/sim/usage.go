package sim

import (
	"context"

	"github.com/reveille-run/reveille/core/store"
)

// The world's usage lies in a separate memory store, so that its condition is the one
// that is tested elsewhere; its faults are those of any request.

// usageStore is a store in memory, which also puts a record of usage without a commit.
type usageStore interface {
	store.Backend
	PutUsage(tenant string, usage *store.Usage) error
}

// putUsage puts the usage record of a commit, and marks its hour.
func (b backend) putUsage(ctx context.Context, tenant string, usage *store.Usage) error {
	if usage == nil {
		return nil
	}
	var refusal error
	err := b.host.ask(ctx, request{site: SiteRewrite, name: usage.Name, do: func() {
		b.host.world.foldRecord(&usage.Record)
		refusal = b.host.world.storage.usage.PutUsage(tenant, usage)
	}})
	if err != nil {
		return err
	}
	return refusal
}

// UsageRecords implements [store.Backend].
func (b backend) UsageRecords(ctx context.Context, tenant string, hour int64, after string, limit int) (found []store.Record, err error) {
	var failure error
	err = b.one(ctx, SiteGet, tenant, func() { found, failure = b.host.world.storage.usage.UsageRecords(ctx, tenant, hour, after, limit) })
	if err == nil {
		err = failure
	}
	return found, err
}

// UsageMarks implements [store.Backend].
func (b backend) UsageMarks(ctx context.Context, shard int, tenant string, after *store.UsageMark, limit int) (found []store.UsageMark, err error) {
	var failure error
	err = b.one(ctx, SiteGet, tenant, func() { found, failure = b.host.world.storage.usage.UsageMarks(ctx, shard, tenant, after, limit) })
	if err == nil {
		err = failure
	}
	return found, err
}

// SumUsage implements [store.Backend].
func (b backend) SumUsage(ctx context.Context, mark store.UsageMark, total store.UsageTotal) error {
	var failure error
	err := b.one(ctx, SiteRewrite, mark.Tenant, func() {
		b.host.world.foldBytes(total.Payload)
		failure = b.host.world.storage.usage.SumUsage(ctx, mark, total)
	})
	if err == nil {
		err = failure
	}
	return err
}

// UsageTotals implements [store.Backend].
func (b backend) UsageTotals(ctx context.Context, tenant string, from, to int64, limit int) (found []store.UsageTotal, err error) {
	var failure error
	err = b.one(ctx, SiteGet, tenant, func() { found, failure = b.host.world.storage.usage.UsageTotals(ctx, tenant, from, to, limit) })
	if err == nil {
		err = failure
	}
	return found, err
}
