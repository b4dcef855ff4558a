package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/reveille-run/reveille/core/internal/calendar"
	"github.com/reveille-run/reveille/core/store"
)

// tallyOf is what the store holds of a tenant's admissions.
func (st *storage) tallyOf(tenant string) *store.Tally {
	t := st.tallies[tenant]
	if t == nil {
		t = &store.Tally{}
		st.tallies[tenant] = t
	}
	return t
}

// Admission implements [store.Backend].
func (b backend) Admission(ctx context.Context, tenant string, day int64) (a store.Admission, err error) {
	err = b.one(ctx, SiteGet, "admission "+tenant, func() { a = b.host.world.storage.tallyOf(tenant).On(day) })
	if err != nil {
		return store.Admission{}, err
	}
	return a, nil
}

// Admit implements [store.Backend].
func (b backend) Admit(ctx context.Context, tenant string, a store.Admitting) (after store.Admission, admitted bool, err error) {
	err = b.one(ctx, SiteRewrite, fmt.Sprintf("admit %s again=%t tokens=%d", a.Run, a.Again, a.Slot.Tokens), func() {
		t := b.host.world.storage.tallyOf(tenant)
		_, had := t.Slots[a.Run]
		var taken bool
		if admitted, taken = t.Admit(a); taken {
			b.host.world.auditor.noteAdmission(tenant, a, had)
			b.host.world.admissions.last[a.Run] = b.host.world.now
		}
		after = t.On(a.Day)
	})
	if err != nil {
		return store.Admission{}, false, err
	}
	return after, admitted, nil
}

// Charge implements [store.Backend].
func (b backend) Charge(ctx context.Context, tenant string, c store.Use) (after store.Admission, charged bool, err error) {
	err = b.one(ctx, SiteRewrite, fmt.Sprintf("charge %s since=%d", c.Run, c.Slot.Since), func() {
		t := b.host.world.storage.tallyOf(tenant)
		charged = t.Charge(c)
		after = t.On(c.Day)
		if charged {
			b.host.world.admissions.noteCharge(tenant, c)
			b.host.world.admissions.by[c.Run] = charger{b.host, b.host.world.now}
		}
	})
	if err != nil {
		return store.Admission{}, false, err
	}
	return after, charged, nil
}

// Release implements [store.Backend].
func (b backend) Release(ctx context.Context, tenant string, r store.Use) (released bool, err error) {
	err = b.one(ctx, SiteRewrite, fmt.Sprintf("release %s since=%d seen=%d less=%d runs=%d", r.Run, r.Slot.Since, r.Slot.Tokens, r.Tokens, r.Runs), func() {
		w := b.host.world
		if released = w.storage.tallyOf(tenant).Release(r); released && r.Runs > 0 {
			run := w.admissions.runs[r.Run]
			if run.times--; b.host.dead && w.partition(run.thread).state.runs.admitted[r.Run] {
				run.slow = true
			}
		}
		if calendar.Day(r.Slot.Since) != r.Day {
			w.admissions.crossed[tenant] = true
		}
	})
	return released && err == nil, err
}

// Occupied implements [store.Backend].
func (b backend) Occupied(ctx context.Context, after string, limit int) (list []store.Occupied, err error) {
	err = b.one(ctx, SiteDue, "occupied", func() {
		list = nil
		for _, tenant := range slices.Sorted(maps.Keys(b.host.world.storage.tallies)) {
			if t := b.host.world.storage.tallies[tenant]; tenant > after && len(t.Slots) > 0 && len(list) < limit {
				list = append(list, store.Occupied{Tenant: tenant, Slots: maps.Clone(t.Slots)})
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}
