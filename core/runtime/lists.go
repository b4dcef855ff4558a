package runtime

import (
	"context"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// How many entries of lists one page looks at, and how many of them at a time. With a
// filter that few pass, a page may so have fewer than its limit, or none, and its Next.
const (
	listedLooked = 1000
	listedAtOnce = 25
)

// entry is a place of a list, with what its record says.
type entry struct {
	store.Place
	thread.Listing
}

// walk goes through lists as through one, newest first, in portions that are looked at
// side by side. look returns nothing for an entry that the page leaves out, and how many
// bytes an item is. It returns where the page has ended; nil: with the lists.
func walk[T any](ctx context.Context, r *reader, tenant string, lists []string, before *store.Place, limit int,
	look func(context.Context, entry) (item *T, size int, err error)) (items []T, next *store.Place, err error) {
	bytes, seen := 0, map[string]bool{}
	for looked := 0; looked < listedLooked; looked += listedAtOnce {
		portion, more, err := r.portion(ctx, tenant, lists, before)
		if err != nil {
			return nil, nil, err
		}
		found, sizes := make([]*T, len(portion)), make([]int, len(portion))
		group, _ := r.env.Group(ctx)
		for i, e := range portion {
			group.Go(func(ctx context.Context) (err error) {
				found[i], sizes[i], err = look(ctx, e)
				if code := core.CodeOf(err); code == core.CodeCorrupt || code == core.CodeSchema {
					r.log.WarnContext(ctx, "what is listed cannot be read", "tenant", tenant, "thread", e.Thread, "record", e.Name, "error", err)
					err = nil
				}
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return nil, nil, err
		}
		for i, item := range found {
			if name := portion[i].Thread + "#" + portion[i].Name; item != nil && !seen[name] {
				seen[name] = true // an index that lags has it twice: where it stands now comes first
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

// portion reads the next entries of lists. Each list has its own order, so that as many
// are read of each as come from all.
func (r *reader) portion(ctx context.Context, tenant string, lists []string, before *store.Place) (entries []entry, more bool, err error) {
	for _, list := range lists {
		found, err := r.store.Listed(ctx, tenant, list, before, listedAtOnce)
		if err != nil {
			return nil, false, fmt.Errorf("list %s: %w", list, err)
		}
		more = more || len(found) == listedAtOnce
		for _, l := range found {
			note, err := r.records.DecodeListing(l.Payload)
			if err != nil { // of a newer program: its place says enough
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

// listsOf are the lists of a kind that somebody may read: their own and nobody's.
func listsOf(kind func(user string) string, user string) []string {
	if user == "" {
		return []string{kind("")}
	}
	return []string{kind(user), kind("")}
}
