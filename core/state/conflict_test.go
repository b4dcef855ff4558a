package state_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/reveille-run/reveille/core/state"
)

func TestConflictsOfTwoPatches(t *testing.T) {
	op := func(op state.Op, path string) state.Operation {
		o := state.Operation{Op: op, Path: path}
		if op != state.OpRemove {
			o.Value = json.RawMessage("1")
		}
		return o
	}
	tests := []struct {
		name string
		a, b state.Operation
		want state.ConflictKind // empty: none
	}{
		{"one place", op(state.OpReplace, "/run/k/a"), op(state.OpRemove, "/run/k/a"), state.ConflictSame},
		{"one key", op(state.OpAdd, "/run/k"), op(state.OpAdd, "/run/k"), state.ConflictSame},
		{"what holds the other", op(state.OpReplace, "/run/k"), op(state.OpReplace, "/run/k/a/b"), state.ConflictAbove},
		{"inside the other", op(state.OpReplace, "/run/k/a/b"), op(state.OpRemove, "/run/k/a"), state.ConflictBelow},
		{"two members", op(state.OpAdd, "/run/k/a"), op(state.OpAdd, "/run/k/ab"), ""},
		{"two keys", op(state.OpAdd, "/run/k"), op(state.OpAdd, "/run/k2"), ""},
		{"one key in two scopes", op(state.OpAdd, "/run/k"), op(state.OpAdd, "/thread/k"), ""},
		{"one key of two calls", op(state.OpAdd, "/call/0/k"), op(state.OpRemove, "/call/1/k"), ""},
		{"an insert before an element", op(state.OpAdd, "/run/l/0"), op(state.OpReplace, "/run/l/1"), state.ConflictShift},
		{"an insert before what holds the other", op(state.OpAdd, "/run/l/0"), op(state.OpReplace, "/run/l/2/a"), state.ConflictShift},
		{"an insert at the element that holds the other", op(state.OpAdd, "/run/l/2"), op(state.OpReplace, "/run/l/2/a"), state.ConflictShift},
		{"a removal before an element", op(state.OpReplace, "/run/l/10"), op(state.OpRemove, "/run/l/9"), state.ConflictShift},
		{"a removal of what holds the other", op(state.OpRemove, "/run/l/2"), op(state.OpReplace, "/run/l/2/a"), state.ConflictAbove},
		{"an insert behind an element", op(state.OpAdd, "/run/l/2"), op(state.OpReplace, "/run/l/1"), ""},
		{"two elements", op(state.OpReplace, "/run/l/2"), op(state.OpReplace, "/run/l/1"), ""},
		{"two appends", op(state.OpAdd, "/run/l/-"), op(state.OpAdd, "/run/l/-"), state.ConflictAppend},
		{"an append and an element", op(state.OpAdd, "/run/l/-"), op(state.OpRemove, "/run/l/0"), ""},
		{"two lists", op(state.OpAdd, "/run/l/0"), op(state.OpRemove, "/run/m/1"), ""},
		{"a path that is none", op(state.OpAdd, "nowhere"), op(state.OpAdd, "nowhere"), ""},
	}
	tests = append(tests, []struct {
		name string
		a, b state.Operation
		want state.ConflictKind
	}{
		{"an element behind the other's place", op(state.OpAdd, "/run/l/2"), op(state.OpReplace, "/run/l/1/x"), ""},
		{"a member that is a number, and one that is none", op(state.OpAdd, "/run/o/0"), op(state.OpReplace, "/run/o/x/y"), ""},
		{"a member that is none, and one that is a number", op(state.OpAdd, "/run/o/x"), op(state.OpReplace, "/run/o/0/y"), ""},
		{"two keys whose names are numbers", op(state.OpAdd, "/run/0"), op(state.OpRemove, "/run/1"), ""},
		{"two keys of a call whose names are numbers", op(state.OpAdd, "/call/1/0"), op(state.OpReplace, "/call/1/1/a"), ""},
		{"an insert at the element that holds a member without a name", op(state.OpAdd, "/run/l/2"), op(state.OpReplace, "/run/l/2/"), state.ConflictShift},
		{"a removal of the element that holds a member without a name", op(state.OpRemove, "/run/l/2"), op(state.OpReplace, "/run/l/2/"), state.ConflictAbove},
		{"appends to two lists", op(state.OpAdd, "/run/l/-"), op(state.OpAdd, "/run/m/-"), ""},
		{"an append and a replacement of nothing", op(state.OpAdd, "/run/l/-"), op(state.OpReplace, "/run/l/-"), state.ConflictSame},
		{"a replacement of nothing and an append", op(state.OpReplace, "/run/l/-"), op(state.OpAdd, "/run/l/-"), state.ConflictSame},
		{"a path that names no key, and one below it", op(state.OpRemove, "/run"), op(state.OpReplace, "/run/k"), ""},
		{"a path below one that names no key", op(state.OpReplace, "/run/k"), op(state.OpRemove, "/run"), ""},
		{"a key whose name begins as the other", op(state.OpReplace, "/run/ab"), op(state.OpReplace, "/run/a"), ""},
	}...)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var want []state.Conflict
			if test.want != "" {
				want = []state.Conflict{{A: test.a.Path, B: test.b.Path, Kind: test.want}}
			}
			if diff := cmp.Diff(want, state.Conflicts(state.Patch{test.a}, state.Patch{test.b})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestConflictsAreInTheOrderOfTheOperations(t *testing.T) {
	a := parse(t, `[{"op":"add","path":"/run/x","value":1},{"op":"add","path":"/run/l/0","value":1}]`)
	b := parse(t, `[{"op":"add","path":"/run/l/0","value":1},{"op":"add","path":"/run/l/3","value":1},{"op":"remove","path":"/run/x"}]`)
	want := []state.Conflict{
		{"/run/x", "/run/x", state.ConflictSame},
		{"/run/l/0", "/run/l/0", state.ConflictSame},
		{"/run/l/0", "/run/l/3", state.ConflictShift},
	}
	if diff := cmp.Diff(want, state.Conflicts(a, b)); diff != "" {
		t.Error(diff)
	}
}

// Two patches without a conflict fold in either order, to the same state.
func TestPatchesWithoutAConflictFoldInEitherOrder(t *testing.T) {
	before := given(t, 1, map[string]string{"/run/l": `[0,{"a":[1,2,3],"1":0},2,{"a":{"x":1}},[7,8]]`, "/run/o": `{"a":1,"0":{"b":2},"2":3}`})
	free := 0
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawPatch(t, before), drawPatch(t, before)
		if len(state.Conflicts(a, b)) > 0 {
			return
		}
		free++
		ab := folded(t, folded(t, before, a, 2), b, 3)
		ba := folded(t, folded(t, before, b, 2), a, 3)
		if diff := cmp.Diff(values(ab), values(ba)); diff != "" {
			t.Fatalf("%s and %s: %s", text(a), text(b), diff)
		}
	})
	if free == 0 {
		t.Error("no two patches were free of conflicts")
	}
}

// drawPatch draws operations that fit one after the other.
func drawPatch(t *rapid.T, s state.Snapshot) (p state.Patch) {
	paths := []string{
		"/run/l", "/run/l/0", "/run/l/1", "/run/l/2", "/run/l/4", "/run/l/5", "/run/l/-", "/run/l/1/a", "/run/l/1/a/0", "/run/l/1/a/2", "/run/l/1/a/-",
		"/run/l/1/1", "/run/l/3/a/x", "/run/l/4/0", "/run/l/4/1", "/run/o", "/run/o/a", "/run/o/0", "/run/o/0/b", "/run/o/2", "/run/new",
	}
	f := state.NewFold(s)
	revision := s.Revision()
	for range rapid.IntRange(1, 3).Draw(t, "operations") {
		o := state.Operation{
			Op:   rapid.SampledFrom([]state.Op{state.OpAdd, state.OpReplace, state.OpRemove}).Draw(t, "op"),
			Path: rapid.SampledFrom(paths).Draw(t, "path"),
		}
		if o.Op != state.OpRemove {
			o.Value = json.RawMessage(rapid.SampledFrom([]string{`"v"`, `[5,6]`, `{"b":4}`}).Draw(t, "value"))
		}
		next := state.NewFold(f.Snapshot())
		revision++
		if next.Apply(state.Patch{o}, revision) == nil {
			p, f = append(p, o), next
		}
	}
	return p
}

// FuzzConflicts looks at any two patches.
func FuzzConflicts(f *testing.F) {
	for i, patch := range []string{`[{"op":"add","path":"/run/l/-","value":1}]`, `[{"op":"remove","path":"/run/l/0"},{"op":"replace","path":"/run/l/0/x","value":null}]`, `[{"op":"add","path":"/call/0/~0~1","value":{}}]`} {
		f.Add([]byte(patch), []byte(fmt.Sprintf(`[{"op":"remove","path":"/run/l/%d"}]`, i)))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var p, q state.Patch
		if json.Unmarshal(a, &p) != nil || json.Unmarshal(b, &q) != nil {
			return
		}
		if there, back := state.Conflicts(p, q), state.Conflicts(q, p); len(there) != len(back) {
			t.Fatalf("%v and %v", there, back)
		}
	})
}
