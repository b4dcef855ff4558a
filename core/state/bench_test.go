package state_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/reveille-run/reveille/core/state"
)

// history returns the patches of n commits: each appends to one list, adds to a
// count, and now and then sets a member.
func history(tb testing.TB, n int) []state.Patch {
	tb.Helper()
	patches := make([]state.Patch, 0, n)
	for i := range n {
		wire := fmt.Sprintf(`[{"op":"add","path":"/run/names/-","value":"the element with the number %d of a long list"},{"op":"replace","path":"/thread/total","value":%d},{"op":"add","path":"/thread/seen/m%d","value":%d}]`, i, i, i%50, i)
		patches = append(patches, parse(tb, wire))
	}
	return patches
}

func start(tb testing.TB) state.Snapshot {
	return given(tb, 0, map[string]string{"/run/names": "[]", "/thread/total": "0", "/thread/seen": "{}"})
}

func foldAll(tb testing.TB, s state.Snapshot, patches []state.Patch) state.Snapshot {
	f := s.Fold()
	for i, p := range patches {
		if err := f.Apply(p, uint64(i+1)); err != nil {
			tb.Fatal(err)
		}
	}
	return f.Snapshot()
}

// Bytes allocated stand for time here, since they do not depend on the machine:
// a fold that decodes or copies the list for each of its records allocates 64
// times as much for 8 times as many.
func TestAFoldIsLinearInTheRecords(t *testing.T) {
	allocated := func(n int) uint64 {
		patches, s := history(t, n), start(t)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		foldAll(t, s, patches)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	small, large := allocated(4_000), allocated(32_000)
	if small > 8<<20 {
		t.Errorf("4,000 records allocated %d bytes, want at most 8 MB", small)
	}
	if large > 12*small {
		t.Errorf("4,000 records allocated %d bytes and 32,000 allocated %d, want about 8 times as much", small, large)
	}
}

func BenchmarkFold(b *testing.B) {
	for _, n := range []int{4_000, 10_000} {
		b.Run(fmt.Sprintf("records=%d", n), func(b *testing.B) {
			patches, s := history(b, n), start(b)
			b.ReportAllocs()
			for b.Loop() {
				foldAll(b, s, patches)
			}
		})
	}
	b.Run("appends=4000", func(b *testing.B) {
		patches, s := make([]state.Patch, 4_000), start(b)
		for i := range patches {
			patches[i] = parse(b, fmt.Sprintf(`[{"op":"add","path":"/run/names/-","value":"element %d"}]`, i))
		}
		b.ReportAllocs()
		for b.Loop() {
			foldAll(b, s, patches)
		}
	})
}

func BenchmarkCommit(b *testing.B) {
	r := registry(b)
	long := foldAll(b, start(b), history(b, 4_000))
	tests := []struct {
		name string
		make func(c *state.Command)
	}{
		{"append", func(c *state.Command) { update(b, c, names, "one more") }},
		{"merge", func(c *state.Command) { update(b, c, seen, map[string]*int{"m1": pointer(7)}) }},
		{"replace", func(c *state.Command) { update(b, c, total, 1) }},
	}
	for _, test := range tests {
		b.Run(test.name, func(b *testing.B) {
			var c state.Command
			test.make(&c)
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := r.Commit(long, c.Batch); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSnapshot(b *testing.B) {
	long := foldAll(b, start(b), history(b, 4_000))
	patch := parse(b, `[{"op":"add","path":"/run/names/-","value":"one more"}]`)
	b.Run("after an append to 4,000", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f := long.Fold()
			if err := f.Apply(patch, long.Revision()+1); err != nil {
				b.Fatal(err)
			}
			f.Snapshot()
		}
	})
	b.Run("unchanged", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			long.Fold().Snapshot()
		}
	})
}
