package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// listed is a store with lists of entries, each at a time, newest first: an entry is named
// by its time, and on the thread "t". Each seventh cannot be decoded.
type listed map[string][]int64

func (l listed) reader(log *slog.Logger) *reader {
	found := func(_ context.Context, _, list string, before *store.Place, limit int) (all []store.Listed, err error) {
		if l[list] == nil {
			return nil, errors.New("there is no such list")
		}
		for _, at := range l[list] {
			place := store.Place{At: at, Thread: "t", Name: fmt.Sprint("L#", at)}
			if (before == nil || place.Compare(*before) < 0) && len(all) < limit {
				payload, _ := thread.Records{}.EncodeListing(&thread.Listing{List: list, At: at, AgentID: "demo"})
				if at%7 == 0 {
					payload = []byte("{")
				}
				all = append(all, store.Listed{Place: place, Payload: payload})
			}
		}
		return all, nil
	}
	return &reader{env: env.System(), log: log, store: &storetest.Faulty{Backend: memory.New(), OnListed: found}}
}

// down lists so many times, from one down.
func down(from, n int64) (all []int64) {
	for i := range n {
		all = append(all, from-i)
	}
	return all
}

// A page of a list ends at its limit, at 3,000,000 bytes, or with the lists; the next one
// begins where it has ended, also if an entry before was left out.
func TestAPageOfAListEnds(t *testing.T) {
	for name, test := range map[string]struct {
		lists listed
		limit int
		sizes map[int64]int // of entries; 0: it is left out
		size  int           // of the others
		want  [][]int64
	}{
		"none":                    {lists: listed{"a:": {}}, limit: 3, size: 1, want: [][]int64{nil}},
		"limit":                   {lists: listed{"a:": {5, 4, 3, 2, 1}}, limit: 2, size: 1, want: [][]int64{{5, 4}, {3, 2}, {1}}},
		"just as many":            {lists: listed{"a:": {2, 1}}, limit: 2, size: 1, want: [][]int64{{2, 1}}},
		"some are left out":       {lists: listed{"a:": {5, 4, 3, 2, 1}}, limit: 2, size: 1, sizes: map[int64]int{5: 0, 3: 0, 1: 0}, want: [][]int64{{4, 2}}},
		"bytes":                   {lists: listed{"a:": {3, 2, 1}}, limit: 9, sizes: map[int64]int{3: 1_000_000, 2: 2_000_000, 1: 1}, want: [][]int64{{3, 2}, {1}}},
		"one byte more":           {lists: listed{"a:": {3, 2, 1}}, limit: 9, sizes: map[int64]int{3: 1_000_000, 2: 2_000_001, 1: 1}, want: [][]int64{{3}, {2, 1}}},
		"one too large":           {lists: listed{"a:": {3, 2, 1}}, limit: 9, sizes: map[int64]int{3: 4_000_000, 2: 4_000_000, 1: 1}, want: [][]int64{{3}, {2}, {1}}},
		"two lists":               {lists: listed{"a:": {6, 3, 1}, "b:": {5, 4, 2}}, limit: 4, size: 1, want: [][]int64{{6, 5, 4, 3}, {2, 1}}},
		"two lists have it":       {lists: listed{"a:": {6, 3, 1}, "b:": {5, 3}}, limit: 9, size: 1, want: [][]int64{{6, 5, 3, 1}}},
		"just a portion":          {lists: listed{"a:": down(25, 25)}, limit: 99, size: 1, want: [][]int64{down(25, 25)}},
		"more than a portion":     {lists: listed{"a:": down(26, 26)}, limit: 99, size: 1, want: [][]int64{down(26, 26)}},
		"an empty list":           {lists: listed{"a:": down(30, 30), "b:": {}}, limit: 99, size: 1, want: [][]int64{down(30, 30)}},
		"two lists, two portions": {lists: listed{"a:": down(60, 20), "b:": down(40, 20)}, limit: 99, size: 1, want: [][]int64{down(60, 40)}},
		"a short list is older":   {lists: listed{"a:": down(100, 30), "b:": {70, 3}}, limit: 200, size: 1, want: [][]int64{append(down(100, 30), 70, 3)}},
	} {
		t.Run(name, func(t *testing.T) {
			names := slices.Sorted(func(yield func(string) bool) {
				for name := range test.lists {
					if !yield(name) {
						return
					}
				}
			})
			var got [][]int64
			for before := (*store.Place)(nil); ; {
				items, next, err := walk(t.Context(), test.lists.reader(slog.New(slog.DiscardHandler)), "acme", stroll[int64]{lists: names, before: before, limit: test.limit,
					look: func(_ context.Context, e entry) (*int64, int, error) {
						if e.Listing.At != e.Place.At || !slices.Contains(names, e.List) || (e.AgentID == "") != (e.Place.At%7 == 0) {
							t.Errorf("entry %+v", e)
						}
						size, ok := test.sizes[e.Place.At]
						if !ok {
							size = test.size
						}
						if size == 0 {
							return nil, 0, nil
						}
						return &e.Place.At, size, nil
					}})
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, items)
				if before = next; next == nil {
					break
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What is damaged, or only a newer program reads, is logged and left out; any other error
// is the list's.
func TestAnEntryThatCannotBeRead(t *testing.T) {
	for _, test := range []struct {
		err     error
		refused bool
	}{
		{store.ErrCorrupt, false}, {core.Errorf(core.CodeSchema, "newer"), false}, {store.ErrThrottled, true}, {core.Errorf(core.CodeNotFound, "gone"), true},
	} {
		var log strings.Builder
		r := listed{"a:": {3, 2, 1}}.reader(slog.New(slog.NewTextHandler(&log, nil)))
		items, next, err := walk(t.Context(), r, "acme", stroll[int64]{lists: []string{"a:"}, limit: 9, look: func(_ context.Context, e entry) (*int64, int, error) {
			if e.Place.At == 2 {
				return nil, 0, fmt.Errorf("read: %w", test.err)
			}
			return &e.Place.At, 1, nil
		}})
		if test.refused {
			if !errors.Is(err, test.err) || items != nil || next != nil || log.Len() > 0 {
				t.Errorf("%v: %v, next %v, %v, logged %q", test.err, items, next, err, log.String())
			}
			continue
		}
		want := `level=WARN msg="listed record cannot be read" tenant=acme thread=t record=L#2`
		if diff := cmp.Diff([]int64{3, 1}, items); diff != "" || err != nil || next != nil || !strings.Contains(log.String(), want) {
			t.Errorf("%v: next %v, %v, logged %q (-want +got):\n%s", test.err, next, err, log.String(), diff)
		}
	}
}

func TestAListThatCannotBeRead(t *testing.T) {
	_, _, err := walk(t.Context(), listed{"a:": {1}}.reader(nil), "acme", stroll[int64]{lists: []string{"a:", "b:"}, limit: 9, look: func(context.Context, entry) (*int64, int, error) {
		t.Error("an entry is looked at")
		return nil, 0, nil
	}})
	if want := "list b:: there is no such list"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// A page looks at 1,000 entries, and says where it has stopped.
func TestAPageOfAListLooksAtSoManyEntries(t *testing.T) {
	for n, next := range map[int64]*store.Place{999: nil, 1000: {At: 1, Thread: "t", Name: "L#1"}, 1001: {At: 2, Thread: "t", Name: "L#2"}} {
		r := listed{"a:": down(n, n)}.reader(nil)
		items, got, err := walk(t.Context(), r, "acme", stroll[int64]{lists: []string{"a:"}, limit: 9, look: func(_ context.Context, e entry) (*int64, int, error) {
			return nil, 0, nil
		}})
		if diff := cmp.Diff(next, got); diff != "" || err != nil || len(items) != 0 {
			t.Errorf("of %d: %v, %v (-want +got):\n%s", n, items, err, diff)
		}
	}
}

// Lists that have ended with a whole page are not read again.
func TestListsThatHaveEndedAreNotReadAgain(t *testing.T) {
	r, reads := listed{"a:": down(50, 13), "b:": down(30, 12)}.reader(nil), 0
	over := r.store.(*storetest.Faulty)
	found := over.OnListed
	over.OnListed = func(ctx context.Context, tenant, list string, before *store.Place, limit int) ([]store.Listed, error) {
		reads++
		return found(ctx, tenant, list, before, limit)
	}
	items, next, err := walk(t.Context(), r, "acme", stroll[int64]{lists: []string{"a:", "b:"}, limit: 99, look: func(_ context.Context, e entry) (*int64, int, error) {
		return &e.Place.At, 1, nil
	}})
	if err != nil || next != nil || len(items) != 25 || reads != 2 {
		t.Errorf("%d items, next %v, %v, %d reads", len(items), next, err, reads)
	}
}
