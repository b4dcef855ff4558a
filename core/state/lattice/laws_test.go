package lattice_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/state/lattice"
)

// text returns the JSON of what always has one.
func text(v any) string {
	raw, err := core.EncodeJSON(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func tag(n int) core.ID { return core.ID{15: byte(n)} }

func drawTag(t *rapid.T) core.ID { return tag(rapid.IntRange(1, 4).Draw(t, "tag")) }

func drawName(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "a", "b<", "é"}).Draw(t, "name")
}

// flag is a lattice of these tests: any type with a Merge is one.
type flag bool

func (f flag) Merge(g flag) flag { return f || g }

func drawFlag(t *rapid.T) flag { return flag(rapid.Bool().Draw(t, "flag")) }

func drawMax(t *rapid.T) lattice.MaxReg[int] {
	if rapid.IntRange(0, 4).Draw(t, "said") == 0 {
		return lattice.MaxReg[int]{}
	}
	return lattice.MaxReg[int]{}.With(rapid.IntRange(-2, 2).Draw(t, "value"))
}

func drawMin(t *rapid.T) lattice.MinReg[string] {
	if rapid.IntRange(0, 4).Draw(t, "said") == 0 {
		return lattice.MinReg[string]{}
	}
	return lattice.MinReg[string]{}.With(drawName(t))
}

// merged draws a few parts and merges them.
func merged[T interface{ Merge(T) T }](draw func(*rapid.T) T) func(*rapid.T) T {
	return func(t *rapid.T) (all T) {
		for range rapid.IntRange(0, 4).Draw(t, "parts") {
			all = all.Merge(draw(t))
		}
		return all
	}
}

var drawCounter = merged(func(t *rapid.T) lattice.GCounter {
	return lattice.GCounter{}.Add(drawName(t), rapid.Uint64Range(0, 3).Draw(t, "n"))
})

var drawSet = merged(func(t *rapid.T) lattice.GSet[string] { return lattice.GSet[string]{}.Adding(drawName(t), drawName(t)) })

// drawORSet draws removals of what is there and of what has never been seen.
var drawORSet = merged(func(t *rapid.T) lattice.ORSet[string] {
	s := lattice.ORSet[string]{}.Adding(drawTag(t), drawName(t))
	if rapid.Bool().Draw(t, "remove") {
		return s.Removing(s.Elements()...)
	}
	return s
})

var drawORMap = merged(func(t *rapid.T) lattice.ORMap[lattice.MaxReg[int]] {
	m := lattice.ORMap[lattice.MaxReg[int]]{}.Putting(drawTag(t), drawName(t), drawMax(t))
	if rapid.Bool().Draw(t, "remove") {
		return m.Removing(m.Names()...)
	}
	return m
})

func TestMergeIsCommutativeAssociativeAndIdempotent(t *testing.T) {
	t.Run("Flag", func(t *testing.T) { checkLaws(t, drawFlag) })
	t.Run("MaxReg", func(t *testing.T) { checkLaws(t, drawMax) })
	t.Run("MinReg", func(t *testing.T) { checkLaws(t, drawMin) })
	t.Run("GCounter", func(t *testing.T) { checkLaws(t, drawCounter) })
	t.Run("GSet", func(t *testing.T) { checkLaws(t, drawSet) })
	t.Run("ORSet", func(t *testing.T) { checkLaws(t, drawORSet) })
	t.Run("ORMap", func(t *testing.T) { checkLaws(t, drawORMap) })
	t.Run("ORMap of ORSet", func(t *testing.T) {
		checkLaws(t, merged(func(t *rapid.T) lattice.ORMap[lattice.ORSet[string]] {
			return lattice.ORMap[lattice.ORSet[string]]{}.Putting(drawTag(t), drawName(t), drawORSet(t))
		}))
	})
}

func checkLaws[T interface{ Merge(T) T }](t *testing.T, draw func(*rapid.T) T) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := draw(t), draw(t), draw(t)
		before := text([]T{a, b, c})
		equal := func(law string, x, y T) {
			t.Helper()
			if text(x) != text(y) {
				t.Fatalf("not %s:\n%s\n%s", law, text(x), text(y))
			}
		}
		var zero T
		equal("commutative", a.Merge(b), b.Merge(a))
		equal("associative", a.Merge(b).Merge(c), a.Merge(b.Merge(c)))
		equal("idempotent", a.Merge(a), a)
		equal("absorbing", a.Merge(b).Merge(b), a.Merge(b))
		equal("neutral to zero", a.Merge(zero), a)
		equal("neutral to zero", zero.Merge(a), a)
		if after := text([]T{a, b, c}); after != before {
			t.Fatalf("a merge changed what it merged:\n%s\n%s", before, after)
		}
		var again T
		if err := json.Unmarshal([]byte(text(a)), &again); err != nil {
			t.Fatal(err)
		}
		equal("the same after its JSON", again, a)
		equal("the same after its JSON", again.Merge(b), a.Merge(b))
	})
}

// Updates of a lattice key meet in any order and may come twice: the state is the same,
// byte for byte, and so is what a fold of the patches makes.
func TestUpdatesInAnyOrderGiveTheSameState(t *testing.T) {
	t.Run("Flag", func(t *testing.T) { checkOrder(t, drawFlag) })
	t.Run("MaxReg", func(t *testing.T) { checkOrder(t, drawMax) })
	t.Run("MinReg", func(t *testing.T) { checkOrder(t, drawMin) })
	t.Run("GCounter", func(t *testing.T) { checkOrder(t, drawCounter) })
	t.Run("GSet", func(t *testing.T) { checkOrder(t, drawSet) })
	t.Run("ORSet", func(t *testing.T) { checkOrder(t, drawORSet) })
	t.Run("ORMap", func(t *testing.T) { checkOrder(t, drawORMap) })
}

func checkOrder[T interface{ Merge(T) T }](t *testing.T, draw func(*rapid.T) T) {
	t.Helper()
	key := lattice.Key[T]("k", state.ScopeThread)
	registry, err := new(state.Registry).With(key.Definition())
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		updates := []T{draw(t), draw(t), draw(t)}
		values := map[string]bool{}
		for range 2 {
			order := rapid.Permutation(append(updates, updates[0])).Draw(t, "order")
			var s state.Snapshot
			f := s.Fold()
			for _, u := range order {
				next, patch, err := registry.Commit(s, key.Update(u).Batch)
				if err != nil {
					t.Fatal(err)
				}
				if err := f.Apply(patch, next.Revision()); err != nil {
					t.Fatal(err)
				}
				s = next
			}
			if folded := f.Snapshot(); !folded.Equal(s) {
				t.Fatal("the patches lead elsewhere")
			}
			value, _ := s.Value(state.KeyPath{Scope: state.ScopeThread, Name: "k"})
			values[string(value)] = true
		}
		if len(values) != 1 {
			t.Fatalf("two orders give %v", values)
		}
	})
}
