package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/reveille-run/reveille/core/store"
)

// tally calls f with a tenant's tally under the lock.
func (s *backend) tally(ctx context.Context, tenant string, f func(*store.Tally)) error {
	if err := checkTenant(ctx, tenant); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tallies[tenant]
	if t == nil {
		t = &store.Tally{}
		s.tallies[tenant] = t
	}
	f(t)
	return nil
}

// Admission implements [store.Backend].
func (s *backend) Admission(ctx context.Context, tenant string, day int64) (a store.Admission, err error) {
	err = s.tally(ctx, tenant, func(t *store.Tally) { a = t.On(day) })
	return a, err
}

// Admit implements [store.Backend].
func (s *backend) Admit(ctx context.Context, tenant string, a store.Admitting) (after store.Admission, admitted bool, err error) {
	err = s.tally(ctx, tenant, func(t *store.Tally) {
		admitted, _ = t.Admit(a)
		after = t.On(a.Day)
	})
	return after, admitted, err
}

// Charge implements [store.Backend].
func (s *backend) Charge(ctx context.Context, tenant string, c store.Use) (after store.Admission, charged bool, err error) {
	err = s.tally(ctx, tenant, func(t *store.Tally) {
		charged = t.Charge(c)
		after = t.On(c.Day)
	})
	return after, charged, err
}

// Release implements [store.Backend].
func (s *backend) Release(ctx context.Context, tenant string, r store.Use) (released bool, err error) {
	err = s.tally(ctx, tenant, func(t *store.Tally) { released = t.Release(r) })
	return released, err
}

// Occupied implements [store.Backend].
func (s *backend) Occupied(ctx context.Context, after string, limit int) ([]store.Occupied, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []store.Occupied
	for _, tenant := range slices.Sorted(maps.Keys(s.tallies)) {
		if t := s.tallies[tenant]; tenant > after && len(t.Slots) > 0 && len(list) < limit {
			list = append(list, store.Occupied{Tenant: tenant, Slots: maps.Clone(t.Slots)})
		}
	}
	return list, nil
}
