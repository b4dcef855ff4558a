package host

import (
	"context"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// Lists are an index of the store over records of many threads: who may be listed where is
// in the record's payload (thread.Listing), which is written with the commit that changes
// it. The index may lag and may show an entry twice, at its old place and its new
// one. So a list only proposes: what a page shows is read from the heads and records
// themselves, on behalf of the caller.

// How many entries of lists one page looks at, and how many of them concurrently. With a
// filter that few entries pass, a page may therefore have fewer items than its limit, or
// none, and still have a Next.
const (
	listedLooked = 1000
	listedAtOnce = 25
)

// entry is an entry of a list: where it is, and its record.
type entry struct {
	store.Place
	thread.Listing
}

// stroll is a walk through lists. What the list itself shows bounds it: where it starts and
// ends, and how many items it is for. What an item is, and whether there is one for an entry,
// look decides, from the entry or from what it reads.
type stroll[T any] struct {
	lists  []string
	before *store.Place // where it starts; nil: from the newest
	since  int64        // entries before this time end it, unix milliseconds; 0: none does
	limit  int          // items
	// prepare, if not nil, reads what the entries of a portion share, before they are looked
	// at.
	prepare func(context.Context, []entry) error
	// look reads the item of an entry and its size in bytes; nil: the page omits it.
	look func(context.Context, entry) (item *T, size int, err error)
}

// walk reads several lists as one, newest first, until the page is full: limit items,
// maxPageBytes bytes, or listedLooked entries. next is where the next page starts; nil: the
// lists have ended.
//
// Entries are looked at in portions, the entries of a portion concurrently. An entry that
// cannot be decoded is logged and omitted: one damaged record must not hide the rest of a list.
func walk[T any](ctx context.Context, r *reader, tenant string, w stroll[T]) (items []T, next *store.Place, err error) {
	// before moves past every entry that was looked at, items or not.
	before, limit, bytes, seen := w.before, w.limit, 0, map[string]bool{}
	for range listedLooked / listedAtOnce {
		portion, more, err := r.portion(ctx, tenant, w.lists, before)
		if err != nil {
			return nil, nil, err
		}
		if i := slices.IndexFunc(portion, func(e entry) bool { return e.Place.At < w.since }); i >= 0 {
			portion, more = portion[:i], false
		}
		found, sizes, err := w.lookAt(ctx, r, tenant, portion)
		if err != nil {
			return nil, nil, err
		}
		for i, item := range found {
			// The item that does not fit is the next page's first: before is the entry ahead
			// of it.
			if name := portion[i].Thread + "#" + portion[i].Name; item != nil && !seen[name] {
				seen[name] = true // a lagging index may have it twice: its present place comes first
				if len(items) == limit || len(items) > 0 && bytes+sizes[i] > maxPageBytes {
					return items, before, nil
				}
				items, bytes = append(items, *item), bytes+sizes[i]
			}
			before = &portion[i].Place
		}
		if !more {
			return items, nil, nil
		}
	}
	return items, before, nil
}

// lookAt reads the items of a portion of entries, and their sizes.
func (w *stroll[T]) lookAt(ctx context.Context, r *reader, tenant string, portion []entry) (found []*T, sizes []int, err error) {
	if w.prepare != nil {
		if err := w.prepare(ctx, portion); err != nil {
			return nil, nil, err
		}
	}
	found, sizes = make([]*T, len(portion)), make([]int, len(portion))
	group, _ := r.env.Group(ctx)
	for i, e := range portion {
		group.Go(func(ctx context.Context) (err error) {
			found[i], sizes[i], err = w.look(ctx, e)
			if code := core.CodeOf(err); code == core.CodeCorrupt || code == core.CodeSchema {
				r.log.WarnContext(ctx, "listed record cannot be read", "tenant", tenant, "thread", e.Thread, "record", e.Name, "error", err)
				err = nil
			}
			return err
		})
	}
	return found, sizes, group.Wait()
}

// portion reads the next listedAtOnce entries of several lists, merged. Any of the lists
// may hold all of them, so it reads that many of each.
func (r *reader) portion(ctx context.Context, tenant string, lists []string, before *store.Place) (entries []entry, more bool, err error) {
	for _, list := range lists {
		found, err := r.store.Listed(ctx, tenant, list, before, listedAtOnce)
		if err != nil {
			return nil, false, fmt.Errorf("list %s: %w", list, err)
		}
		more = more || len(found) == listedAtOnce
		for _, l := range found {
			note, err := r.records.DecodeListing(l.Payload)
			if err != nil { // of a newer program: its place is enough
				note = thread.Listing{List: list, At: l.At}
			}
			entries = append(entries, entry{l.Place, note})
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return b.Compare(a.Place) })
	if len(entries) > listedAtOnce {
		entries, more = entries[:listedAtOnce], true
	}
	return entries, more, nil
}

// listsOf returns the lists of a kind that a user may read: the user's own, and that of
// threads without an owner.
func listsOf(kind func(user string) string, user string) []string {
	if user == "" {
		return []string{kind("")}
	}
	return []string{kind(user), kind("")}
}
