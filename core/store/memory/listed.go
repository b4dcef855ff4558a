package memory

import (
	"context"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/store"
)

// lists is the index of the listed records: the places of each list, oldest first. The first
// list that is asked for makes it, so that a program without lists does not pay for it. From
// then on it is exact: it changes with the records, under the store's lock.
type lists map[tenantList][]store.Place

type tenantList struct{ tenant, list string }

// index makes the index; the caller holds the lock.
func (s *backend) index() {
	s.lists = lists{}
	for key, c := range s.threads {
		at, _ := c.find(recordname.Activity)
		for _, r := range c.records[at:] {
			in, place, ok := placeOf(key, r)
			if !ok {
				break // the listed records follow each other
			}
			s.lists[in] = append(s.lists[in], place)
		}
	}
	for _, places := range s.lists {
		slices.SortFunc(places, store.Place.Compare)
	}
}

// placeOf returns where a thread's record is listed; ok is false for a record that is not.
func placeOf(key core.ThreadKey, r *store.Record) (in tenantList, place store.Place, ok bool) {
	if !strings.HasPrefix(r.Name, recordname.Activity) {
		return in, place, false
	}
	list, place, err := r.Place(key.Thread)
	if err != nil { // cannot be: it was admitted
		return in, place, false
	}
	return tenantList{key.Tenant, list}, place, true
}

// add notes a record that was put.
func (l lists) add(key core.ThreadKey, r *store.Record) {
	if l == nil {
		return
	}
	in, place, ok := placeOf(key, r)
	if !ok {
		return
	}
	if at, found := slices.BinarySearchFunc(l[in], place, store.Place.Compare); !found {
		l[in] = slices.Insert(l[in], at, place)
	}
}

// remove notes that a record is gone, or replaced by another.
func (l lists) remove(key core.ThreadKey, r *store.Record) {
	if l == nil {
		return
	}
	in, place, ok := placeOf(key, r)
	if !ok {
		return
	}
	if at, found := slices.BinarySearchFunc(l[in], place, store.Place.Compare); found {
		l[in] = slices.Delete(l[in], at, at+1)
	}
	if len(l[in]) == 0 {
		delete(l, in)
	}
}

// Listed implements [store.Backend].
func (s *backend) Listed(ctx context.Context, tenant, list string, before *store.Place, limit int) ([]store.Listed, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := store.CheckListed(tenant, list); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lists == nil {
		s.index()
	}
	places := s.lists[tenantList{tenant, list}]
	if before != nil {
		end, _ := slices.BinarySearchFunc(places, *before, store.Place.Compare)
		places = places[:end]
	}
	var all []store.Listed
	for _, place := range slices.Backward(places[len(places)-min(len(places), max(limit, 0)):]) {
		c := s.threads[core.ThreadKey{Tenant: tenant, Thread: place.Thread}]
		at, _ := c.find(place.Name)
		all = append(all, store.Listed{Place: place, Payload: copied(c.records[at].Payload)})
	}
	return all, nil
}
