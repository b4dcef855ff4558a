package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/reveille-run/reveille/core/store"
)

// usages are the usage records, marks and totals by tenant and hour.
type usages map[tenantHour]*usageHour

type tenantHour struct {
	tenant string
	hour   int64
}

type usageHour struct {
	records  map[string]store.Record
	mark     uint64 // its revision; 0: no mark
	revision uint64 // of the newest mark
	total    *store.UsageTotal
}

func (u usages) at(tenant string, hour int64) *usageHour {
	at := tenantHour{tenant, hour}
	if u[at] == nil {
		u[at] = &usageHour{records: map[string]store.Record{}}
	}
	return u[at]
}

// admitUsage looks whether the record may be written; the caller holds the lock.
func (s *backend) admitUsage(tenant string, usage *store.Usage) (write bool, err error) {
	if usage == nil {
		return false, nil
	}
	var stored *store.Record
	if hour := s.usages[tenantHour{tenant, usage.Hour}]; hour != nil {
		if r, ok := hour.records[usage.Name]; ok {
			stored = &r
		}
	}
	return usage.AdmitUsage(stored)
}

// PutUsage puts a usage record and marks its hour: see [New].
func (s *backend) PutUsage(tenant string, usage *store.Usage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	write, err := s.admitUsage(tenant, usage)
	if write {
		s.putUsage(tenant, usage)
	}
	return err
}

func (s *backend) putUsage(tenant string, usage *store.Usage) {
	hour, r := s.usages.at(tenant, usage.Hour), usage.Record
	r.Payload = kept(r.Payload)
	hour.records[r.Name] = r
	hour.revision++
	hour.mark = hour.revision
}

// UsageRecords implements [store.Backend].
func (s *backend) UsageRecords(ctx context.Context, tenant string, hour int64, after string, limit int) ([]store.Record, error) {
	if err := checkTenant(ctx, tenant); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.usages[tenantHour{tenant, hour}]
	if at == nil {
		return nil, nil
	}
	var records []store.Record
	for _, name := range slices.Sorted(maps.Keys(at.records)) {
		if len(records) >= limit {
			break
		}
		if r := at.records[name]; name > after {
			records = append(records, clone(&r))
		}
	}
	return records, nil
}

// UsageMarks implements [store.Backend].
func (s *backend) UsageMarks(ctx context.Context, shard int, tenant string, after *store.UsageMark, limit int) ([]store.UsageMark, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := (store.UsageMark{Tenant: tenant}).CheckShard(shard); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var marks []store.UsageMark
	for at, hour := range s.usages {
		m := store.UsageMark{Tenant: at.tenant, Hour: at.hour, Revision: hour.mark}
		mine := store.UsageMark{Tenant: at.tenant}.Shard() == shard && (tenant == "" || tenant == at.tenant)
		if hour.mark != 0 && mine && (after == nil || compareMarks(m, *after) > 0) {
			marks = append(marks, m)
		}
	}
	slices.SortFunc(marks, compareMarks)
	return marks[:min(len(marks), max(limit, 0))], nil
}

func compareMarks(a, b store.UsageMark) int {
	return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Hour, b.Hour))
}

// SumUsage implements [store.Backend].
func (s *backend) SumUsage(ctx context.Context, mark store.UsageMark, total store.UsageTotal) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := mark.CheckSum(total); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	hour := s.usages.at(mark.Tenant, mark.Hour)
	stored := uint64(0)
	if hour.total != nil {
		stored = hour.total.Revision
	}
	if stored != total.Revision {
		return fmt.Errorf("sum usage of %s: %w", mark.Tenant, store.ErrConflict)
	}
	total.Payload, total.Revision = copied(total.Payload), stored+1
	hour.total = &total
	if hour.mark == mark.Revision {
		hour.mark = 0
	}
	return nil
}

// UsageTotals implements [store.Backend].
func (s *backend) UsageTotals(ctx context.Context, tenant string, from, to int64, limit int) ([]store.UsageTotal, error) {
	if err := checkTenant(ctx, tenant); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var totals []store.UsageTotal
	for at, hour := range s.usages {
		if at.tenant == tenant && at.hour >= from && at.hour <= to && hour.total != nil {
			t := *hour.total
			t.Payload = copied(t.Payload)
			totals = append(totals, t)
		}
	}
	slices.SortFunc(totals, func(a, b store.UsageTotal) int { return cmp.Compare(a.Hour, b.Hour) })
	return totals[:min(len(totals), max(limit, 0))], nil
}
