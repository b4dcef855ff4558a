package bolt

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// listed is an index of the records that are listed. It is in memory, as the [agenda] is.
// The first request for a list reads the listed records of the file, and from then on
// every write is noted here. It is a hint. A place is noted after its write, whether or
// not the write succeeded, and stays when its record moves: the reader of a list reads
// the record, and removes places without a record.
type listed struct {
	mu     sync.Mutex
	known  bool                     // the file was read
	places map[string][]store.Place // by tenant and list, oldest first
	writes uint64                   // that were noted
}

func listKey(tenant, list string) string { return tenant + separator + list }

// note adds the places of records that were put.
func (l *listed) note(key core.ThreadKey, records ...store.Record) {
	for _, r := range records {
		if r.Kind() != store.KindLatest {
			continue
		}
		if list, place, err := r.Place(key.Thread); err == nil {
			l.mu.Lock()
			if l.writes++; l.known {
				l.add(listKey(key.Tenant, list), place)
			}
			l.mu.Unlock()
		}
	}
}

// add adds a place; the caller holds the lock.
func (l *listed) add(list string, place store.Place) {
	places := l.places[list]
	at, found := slices.BinarySearchFunc(places, place, store.Place.Compare)
	if !found {
		l.places[list] = slices.Insert(places, at, place)
	}
}

// before returns places of a list, newest first, at most so many, and after how many
// writes that was.
func (l *listed) before(tenant, list string, before *store.Place, limit int) (found []store.Place, writes uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	places := l.places[listKey(tenant, list)]
	if before != nil {
		at, _ := slices.BinarySearchFunc(places, *before, store.Place.Compare)
		places = places[:at]
	}
	found = slices.Clone(places[max(0, len(places)-limit):])
	slices.Reverse(found)
	return found, l.writes
}

// drop takes a place out where nothing was after so many writes. When there was another
// write since, it may have been of that place: then a later look drops it.
func (l *listed) drop(tenant, list string, place store.Place, writes uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.writes != writes {
		return
	}
	places := l.places[listKey(tenant, list)]
	if at, found := slices.BinarySearchFunc(places, place, store.Place.Compare); found {
		l.places[listKey(tenant, list)] = slices.Delete(places, at, at+1)
	}
}

// learn reads the listed records of the file, once. Concurrent writers wait with their
// places, so that none is lost. A damaged record is omitted.
func (s *Store) learn(ctx context.Context) error {
	l := &s.listed
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known {
		return nil
	}
	places := map[string][]store.Place{}
	err := s.view(ctx, func(tx *bbolt.Tx) error {
		clear(places)
		records := tx.Bucket(threadsBucket).Cursor()
		eachThread(tx, func(at, _ []byte) {
			key, err := parseHeadKey(at)
			if err != nil {
				return
			}
			thread, prefix := recordKey(key, ""), recordKey(key, "L#")
			for at, value := records.Seek(prefix); bytes.HasPrefix(at, prefix); at, value = records.Next() {
				stored, err := decodeItem(at, value)
				if err != nil {
					continue
				}
				r := stored.record(nameOf(thread, at))
				if in, place, err := r.Place(key.Thread); err == nil {
					list := listKey(key.Tenant, in)
					places[list] = append(places[list], place)
				}
			}
		})
		return nil
	})
	if err != nil {
		return err
	}
	for _, list := range places {
		slices.SortFunc(list, store.Place.Compare)
	}
	l.known, l.places = true, places
	return nil
}

// Listed implements [store.Backend].
func (s *Store) Listed(ctx context.Context, tenant, list string, before *store.Place, limit int) (all []store.Listed, err error) {
	if err := store.CheckListed(tenant, list); err != nil {
		return nil, err
	}
	if err := s.learn(ctx); err != nil {
		return nil, fmt.Errorf("list %s of %s: %w", list, tenant, err)
	}
	for len(all) < limit {
		places, writes := s.listed.before(tenant, list, before, limit-len(all))
		if len(places) == 0 {
			return all, ctx.Err()
		}
		found, gone, err := s.readListed(ctx, tenant, list, places)
		if err != nil {
			return nil, fmt.Errorf("list %s of %s: %w", list, tenant, err)
		}
		for _, place := range gone {
			s.listed.drop(tenant, list, place, writes)
		}
		all, before = append(all, found...), &places[len(places)-1]
	}
	return all, ctx.Err()
}

// readListed reads the records at places, and returns the places without a record.
func (s *Store) readListed(ctx context.Context, tenant, list string, places []store.Place) (found []store.Listed, gone []store.Place, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		found, gone = nil, nil
		for _, place := range places {
			key := core.ThreadKey{Tenant: tenant, Thread: place.Thread}
			stored, err := readItem(tx.Bucket(threadsBucket), recordKey(key, place.Name))
			if err != nil {
				continue // damaged
			}
			if stored != nil {
				r := stored.record(place.Name)
				if in, at, err := r.Place(place.Thread); err == nil && in == list && at == place {
					found = append(found, store.Listed{Place: place, Payload: r.Payload})
					continue
				}
			}
			gone = append(gone, place)
		}
		return nil
	})
	return found, gone, err
}
