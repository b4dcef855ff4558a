package storetest_test

import (
	"context"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// listing is a backend whose lists are wrong.
func listing(m store.Backend, wrong func(all []store.Listed, before *store.Place, limit int) []store.Listed) store.Backend {
	return &storetest.Faulty{Backend: m, OnListed: func(ctx context.Context, tenant, list string, before *store.Place, limit int) ([]store.Listed, error) {
		all, err := m.Listed(ctx, tenant, list, before, limit)
		return wrong(all, before, limit), err
	}}
}

var listedFaults = []fault{
	{name: "an older listing replaces a newer one", clause: "PutOfAListedRecord", text: "version=7", backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnPut: func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			if stored, ok, _ := m.Get(ctx, key, r.Name); ok && r.Kind() == store.KindLatest {
				if _, err := m.Erase(ctx, key, 10); err != nil || stored.Name == "" {
					return err
				}
			}
			return m.Put(ctx, key, r)
		}}
	}},
	{name: "an older listing is refused", clause: "PutOfAListedRecord", text: "under fence 2", backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnPut: func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			if stored, ok, _ := m.Get(ctx, key, r.Name); ok && stored.Fence == r.Fence && stored.Version > r.Version {
				return store.ErrFenced
			}
			return m.Put(ctx, key, r)
		}}
	}},
	{name: "lists are oldest first", clause: "NewestIsListedFirst", text: "limit 100", backend: func(m store.Backend) store.Backend {
		return listing(m, func(all []store.Listed, _ *store.Place, _ int) []store.Listed {
			slices.Reverse(all)
			return all
		})
	}},
	{name: "a list begins with the place before", clause: "ListsArePaged", text: "which has moved by then", backend: func(m store.Backend) store.Backend {
		return listing(m, func(all []store.Listed, before *store.Place, limit int) []store.Listed {
			if before != nil {
				all = append([]store.Listed{{Place: *before, Payload: []byte(`{}`)}}, all...)
			}
			return all[:min(len(all), limit)]
		})
	}},
	{name: "what has moved is listed where it was too", clause: "RecordIsListedWhereItSays", text: "5 t L#", backend: func(m store.Backend) store.Backend {
		seen := map[store.Place]store.Listed{}
		return listing(m, func(all []store.Listed, _ *store.Place, _ int) []store.Listed {
			for _, l := range all {
				seen[l.Place] = l
			}
			for _, l := range seen {
				if l.At == 5 && len(all) == 1 && all[0].At == 9 {
					all = append(all, l)
				}
			}
			return all
		})
	}},
	{name: "lists without a name", clause: "ListsAreNamed", text: "want one of code invalid", backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnListed: func(context.Context, string, string, *store.Place, int) ([]store.Listed, error) { return nil, nil }}
	}},
	{name: "a listing without a place is stored", clause: "ListedRecordWithoutAPlaceIsInvalid", text: "want an error of code invalid", backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnPut: func(context.Context, core.ThreadKey, store.Record) error { return nil }}
	}},
	{name: "records backwards include the one before", clause: "RecordsAreListedBackwards", text: `before "R#b"`, backend: func(m store.Backend) store.Backend {
		return &storetest.Faulty{Backend: m, OnRecordsBackwards: func(ctx context.Context, key core.ThreadKey, prefix, before string, limit int) ([]store.Record, error) {
			if before != "" {
				before += "\x00"
			}
			return m.RecordsBackwards(ctx, key, prefix, before, limit)
		}}
	}},
}
