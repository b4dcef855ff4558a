package memory

import (
	"context"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core/store"
)

// Listed implements [store.Lists]. It has no index: it looks at the listed records of
// the tenant's threads.
func (s *Store) Listed(ctx context.Context, tenant, list string, before *store.Place, limit int) ([]store.Listed, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := store.CheckListed(tenant, list); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []store.Listed
	for key, c := range s.threads {
		if key.Tenant != tenant {
			continue
		}
		at, _ := c.find(store.ActivityName)
		for _, r := range c.records[at:] {
			if !strings.HasPrefix(r.Name, store.ActivityName) {
				break
			}
			in, err := store.PlaceOf(*r)
			if err != nil {
				return nil, err // cannot be: it was admitted
			}
			place := store.Place{At: in.At, Thread: key.Thread, Name: r.Name}
			if in.List == list && (before == nil || place.Compare(*before) < 0) {
				all = append(all, store.Listed{Place: place, Payload: r.Payload})
			}
		}
	}
	slices.SortFunc(all, func(a, b store.Listed) int { return b.Compare(a.Place) })
	all = all[:min(len(all), max(limit, 0))]
	for i := range all {
		all[i].Payload = copied(all[i].Payload)
	}
	return all, nil
}
