package checkpoint

import (
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func items(l List[int]) []int { return append([]int{}, l.Slice()...) }

func TestListsThatShareAnArray(t *testing.T) {
	base := List[int]{}.With(1).With(2)
	first := base.With(3)
	second := base.With(4) // first has the place behind base
	third := first.With(5)
	three := List[int]{}.With(1).With(2).With(3)
	for _, tt := range []struct {
		name  string
		got   List[int]
		want  []int
		owner List[int] // whose array it is in
	}{
		{"the base stays", base, []int{1, 2}, base},
		{"the first goes on in place", first, []int{1, 2, 3}, base},
		{"the second has its own array", second, []int{1, 2, 4}, second},
		{"the third goes on behind the first", third, []int{1, 2, 3, 5}, base},
		{"a part appends in place", three.Without(2).With(6), []int{3, 6}, three},
		{"the beginning copies", third.First(1).With(7), []int{1, 7}, List[int]{}},
		{"what was given copies", ListOf([]int{8}).With(9), []int{8, 9}, List[int]{}},
	} {
		if diff := cmp.Diff(tt.want, items(tt.got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if tt.owner.in != nil && tt.got.in != tt.owner.in {
			t.Errorf("%s: it is in another array", tt.name)
		}
	}
	if s := third.Slice(); len(s) != 4 || cap(s) != 4 {
		t.Errorf("a slice of 4 items has room for %d", cap(s))
	}
}

func TestListGoesAlongWithAVersionOfItself(t *testing.T) {
	base := List[int]{}.With(1)
	other := base.With(2).With(3).Without(1)
	next, ok := base.along(other)
	if !ok || !slices.Equal(next.Slice(), []int{1, 2}) {
		t.Fatalf("%v, %v; want 1 and 2", next.Slice(), ok)
	}
	if next, ok = next.along(other); !ok || !slices.Equal(next.Slice(), []int{1, 2, 3}) {
		t.Fatalf("%v, %v; want 1 to 3", next.Slice(), ok)
	}
	if next, ok = next.along(other); ok {
		t.Errorf("it goes on behind the other's end: %v", next.Slice())
	}
	for name, stranger := range map[string]List[int]{
		"one of another array": List[int]{}.With(1).With(2), "an empty one": {}, "one that begins later": other.Without(2),
	} {
		if _, ok := base.along(stranger); ok {
			t.Errorf("it goes along with %s", name)
		}
	}
	if got := next.With(4); !slices.Equal(got.Slice(), []int{1, 2, 3, 4}) || got.in != base.in {
		t.Errorf("behind it stands %v, in another array: %v", got.Slice(), got.in != base.in)
	}
}

// However lists branch, each keeps what it was made of.
func TestAnyListsKeepTheirItems(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lists, want := []List[int]{{}}, [][]int{{}}
		for i := range rapid.IntRange(1, 60).Draw(t, "operations") {
			at := rapid.IntRange(0, len(lists)-1).Draw(t, "list")
			l, w := lists[at], want[at]
			switch n := rapid.IntRange(0, len(w)).Draw(t, "n"); rapid.IntRange(0, 5).Draw(t, "operation") {
			case 0:
				l, w = l.Without(n), w[n:]
			case 1:
				l, w = l.First(n), w[:n]
			default:
				l, w = l.With(i), append(slices.Clone(w), i)
			}
			lists, want = append(lists, l), append(want, slices.Clone(w))
		}
		for i := range lists {
			if !slices.Equal(lists[i].Slice(), want[i]) {
				t.Fatalf("list %d is %v, want %v", i, lists[i].Slice(), want[i])
			}
		}
	})
}

// Versions are read and appended to from any goroutine.
func TestListsBranchConcurrently(t *testing.T) {
	base := List[int]{}.With(0)
	var group sync.WaitGroup
	for n := 1; n <= 8; n++ {
		group.Go(func() {
			l := base
			for range 100 {
				l = l.With(n)
			}
			if got := slices.Index(l.Slice()[1:], 9-n); n != 9-n && got >= 0 || len(l.Slice()) != 101 {
				t.Errorf("list %d has %d items, one of another at %d", n, len(l.Slice()), got)
			}
		})
	}
	group.Wait()
}
