package state_test

import (
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/state"
)

// counted counts how often a value was decoded.
type counted struct {
	N int
}

var decodings atomic.Int64

func (c *counted) UnmarshalJSON(text []byte) error {
	decodings.Add(1)
	return json.Unmarshal(text, &c.N)
}

func (c counted) MarshalJSON() ([]byte, error) { return json.Marshal(c.N) }

func TestAValueIsDecodedOnce(t *testing.T) {
	k := state.Value[counted]("counted", state.ScopeThread)
	r := registry(t, k.Definition(), total.Definition())
	s := given(t, 1, map[string]string{"/thread/counted": "3", "/thread/total": "1"})
	decodings.Store(0)
	reads := func(want int64, s state.Snapshot) {
		t.Helper()
		if v := read(t, k, s); v.N != 3 {
			t.Errorf("reads %d, want 3", v.N)
		}
		if n := decodings.Load(); n != want {
			t.Errorf("decoded %d times, want %d", n, want)
		}
	}
	reads(1, s)
	reads(1, s)
	reads(1, s.ForCall(2).For(r))
	other, patch := must(t, r, s, total.Update(1))
	reads(1, other)
	reads(1, fold(t, s, 2, text(patch)))
	reads(2, given(t, 1, map[string]string{"/thread/counted": "3"}))

	// The same value, read as another type: neither disturbs the other.
	plain := state.Value[int]("counted", state.ScopeThread)
	if n := read(t, plain, s); n != 3 {
		t.Errorf("reads %d, want 3", n)
	}
	reads(2, s)
	set, _ := must(t, r, s, k.Update(counted{4}))
	if v := read(t, k, set); v.N != 4 {
		t.Errorf("reads %d, want 4", v.N)
	}
}

// So does one of which nothing was stored.
func TestAValueOfNoBytesReadsAsTheZeroValue(t *testing.T) {
	s := given(t, 1, map[string]string{"/thread/total": ""})
	if n, err := total.Read(s); n != 0 || err != nil || !total.Has(s) {
		t.Errorf("reads %d, %v", n, err)
	}
}

func TestReadingAgainAllocatesNothing(t *testing.T) {
	list := state.List[string]("names", state.ScopeRun)
	s := given(t, 1, map[string]string{"/run/names": `["a","b"]`})
	if n := testing.AllocsPerRun(100, func() { read(t, list, s) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// The value that readers share is not the one that Apply is given: Apply may change it.
func TestApplyDoesNotReachWhatReadersShare(t *testing.T) {
	k := state.Key[map[string]int, string]{Name: "k", Apply: func(v map[string]int, u string) map[string]int {
		v[u]++
		return v
	}}
	r := registry(t, k.Definition())
	s := given(t, 1, map[string]string{"/run/k": `{"a":1}`})
	shared := read(t, k, s)
	next, _ := must(t, r, s, k.Update("a"))
	if diff := cmp.Diff(map[string]int{"a": 1}, shared); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int{"a": 2}, read(t, k, next)); diff != "" {
		t.Error(diff)
	}
}

func TestWhatOneReaderAppendsNobodyElseSees(t *testing.T) {
	type fields struct {
		List  []int
		Any   any
		Inner struct{ List []int }
		own   []int
	}
	s := given(t, 1, map[string]string{"/run/list": "[1,2,3]", "/run/fields": `{"List":[1,2,3],"Any":[1,2,3],"Inner":{"List":[1,2,3]}}`, "/run/any": "[1,2,3]"})
	list := read(t, state.List[int]("list", state.ScopeRun), s)
	whole, _ := read(t, state.Value[any]("any", state.ScopeRun), s).([]any)
	f := read(t, state.Value[fields]("fields", state.ScopeRun), s)
	anyList, _ := f.Any.([]any)
	for i, room := range []int{cap(list), cap(whole), cap(f.List), cap(anyList), cap(f.Inner.List), cap(f.own) + 3} {
		if room != 3 {
			t.Errorf("list %d has room for %d, want 3", i, room)
		}
	}
}

// Under the race detector: any number of hooks read one value, and may append to what
// they have read.
func TestReadersSideBySideMayAppend(t *testing.T) {
	type lists struct {
		A, B []int
		In   struct{ C []int }
	}
	list := state.List[int]("list", state.ScopeRun)
	fields := state.Value[lists]("fields", state.ScopeRun)
	s := given(t, 1, map[string]string{"/run/list": "[1,2,3]", "/run/fields": `{"A":[1,2,3],"B":[1],"In":{"C":[1,2,3,4,5]}}`})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			v, err := list.Read(s)
			if v = append(v, i); err != nil || !slices.Equal(v, []int{1, 2, 3, i}) {
				t.Errorf("%v, %v", v, err)
			}
			f, err := fields.Read(s)
			f.A, f.B, f.In.C = append(f.A, i), append(f.B, i), append(f.In.C, i)
			if err != nil || f.A[3] != i || f.B[1] != i || f.In.C[5] != i {
				t.Errorf("%v, %v", f, err)
			}
		})
	}
	all.Wait()
}

func BenchmarkRead(b *testing.B) {
	long := foldAll(b, start(b), history(b, 4_000))
	b.Run("list of 4,000", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			read(b, names, long)
		}
	})
	b.Run("first", func(b *testing.B) {
		path := state.KeyPath{Scope: state.ScopeThread, Name: "total"}
		b.ReportAllocs()
		for b.Loop() {
			read(b, total, state.Snapshot{}.With(1, map[state.KeyPath]json.RawMessage{path: json.RawMessage("12")}))
		}
	})
}
