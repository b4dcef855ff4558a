package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// indexWaiting keeps the index of a thread's tenant; the caller holds the lock.
func (s *backend) indexWaiting(key core.ThreadKey, since int64) {
	threads := s.waiting[key.Tenant]
	switch {
	case since == 0:
		delete(threads, key.Thread) // which may be no map yet
	case threads == nil:
		s.waiting[key.Tenant] = map[string]int64{key.Thread: since}
	default:
		threads[key.Thread] = since
	}
}

// Waiting implements [store.Backend].
func (s *backend) Waiting(ctx context.Context, tenant string, after *store.Waiting, limit int) ([]store.Waiting, error) {
	if err := checkTenant(ctx, tenant); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []store.Waiting
	for name, since := range s.waiting[tenant] {
		w := store.Waiting{Thread: name, Since: since}
		if after == nil || compareWaiting(w, *after) > 0 {
			list = append(list, w)
		}
	}
	slices.SortFunc(list, compareWaiting)
	return list[:min(len(list), max(limit, 0))], nil
}

func compareWaiting(a, b store.Waiting) int {
	return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.Thread, b.Thread))
}
