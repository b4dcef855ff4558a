package state_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
)

func TestConflictsOfTwoPatches(t *testing.T) {
	const (
		same  = "both change one place"
		above = "the first changes what holds the place of the second"
		below = "the first changes a place inside what the second changes"
		shift = "one moves the element of a list that the other names"
		end   = "both add at the end of one list"
	)
	op := func(op, path string) state.Operation {
		o := state.Operation{Op: op, Path: path}
		if op != "remove" {
			o.Value = json.RawMessage("1")
		}
		return o
	}
	tests := []struct {
		name string
		a, b state.Operation
		want string // empty: none
	}{
		{"one place", op("replace", "/run/k/a"), op("remove", "/run/k/a"), same},
		{"one key", op("add", "/run/k"), op("add", "/run/k"), same},
		{"what holds the other", op("replace", "/run/k"), op("replace", "/run/k/a/b"), above},
		{"inside the other", op("replace", "/run/k/a/b"), op("remove", "/run/k/a"), below},
		{"two members", op("add", "/run/k/a"), op("add", "/run/k/ab"), ""},
		{"two keys", op("add", "/run/k"), op("add", "/run/k2"), ""},
		{"one key in two scopes", op("add", "/run/k"), op("add", "/thread/k"), ""},
		{"one key of two calls", op("add", "/call/0/k"), op("remove", "/call/1/k"), ""},
		{"an insert before an element", op("add", "/run/l/0"), op("replace", "/run/l/1"), shift},
		{"an insert before what holds the other", op("add", "/run/l/0"), op("replace", "/run/l/2/a"), shift},
		{"an insert at the element that holds the other", op("add", "/run/l/2"), op("replace", "/run/l/2/a"), shift},
		{"a removal before an element", op("replace", "/run/l/10"), op("remove", "/run/l/9"), shift},
		{"a removal of what holds the other", op("remove", "/run/l/2"), op("replace", "/run/l/2/a"), above},
		{"an insert behind an element", op("add", "/run/l/2"), op("replace", "/run/l/1"), ""},
		{"two elements", op("replace", "/run/l/2"), op("replace", "/run/l/1"), ""},
		{"two appends", op("add", "/run/l/-"), op("add", "/run/l/-"), end},
		{"an append and an element", op("add", "/run/l/-"), op("remove", "/run/l/0"), ""},
		{"two lists", op("add", "/run/l/0"), op("remove", "/run/m/1"), ""},
		{"a path that is none", op("add", "nowhere"), op("add", "nowhere"), ""},
	}
	tests = slices.Concat(tests, []struct {
		name string
		a, b state.Operation
		want string
	}{
		{"an element behind the other's place", op("add", "/run/l/2"), op("replace", "/run/l/1/x"), ""},
		{"a member that is a number, and one that is none", op("add", "/run/o/0"), op("replace", "/run/o/x/y"), ""},
		{"a member that is none, and one that is a number", op("add", "/run/o/x"), op("replace", "/run/o/0/y"), ""},
		{"two keys whose names are numbers", op("add", "/run/0"), op("remove", "/run/1"), ""},
		{"two keys of a call whose names are numbers", op("add", "/call/1/0"), op("replace", "/call/1/1/a"), ""},
		{"an insert at the element that holds a member without a name", op("add", "/run/l/2"), op("replace", "/run/l/2/"), shift},
		{"a removal of the element that holds a member without a name", op("remove", "/run/l/2"), op("replace", "/run/l/2/"), above},
		{"appends to two lists", op("add", "/run/l/-"), op("add", "/run/m/-"), ""},
		{"an append and a replacement of nothing", op("add", "/run/l/-"), op("replace", "/run/l/-"), same},
		{"a replacement of nothing and an append", op("replace", "/run/l/-"), op("add", "/run/l/-"), same},
		{"a path that names no key, and one below it", op("remove", "/run"), op("replace", "/run/k"), ""},
		{"a path below one that names no key", op("replace", "/run/k"), op("remove", "/run"), ""},
		{"a key whose name begins as the other", op("replace", "/run/ab"), op("replace", "/run/a"), ""},
	})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := "<nil>"
			if test.want != "" {
				want = fmt.Sprintf("%s at %q and %s at %q: %s", test.a.Op, test.a.Path, test.b.Op, test.b.Path, test.want)
			}
			err := state.Patch{test.a}.Conflict(state.Patch{test.b})
			if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" || err != nil && core.CodeOf(err) != core.CodeConflict {
				t.Error(diff)
			}
		})
	}
}

func TestTheFirstConflictIsNamed(t *testing.T) {
	a := parse(t, `[{"op":"add","path":"/run/x","value":1},{"op":"add","path":"/run/l/0","value":1}]`)
	b := parse(t, `[{"op":"remove","path":"/run/x"},{"op":"add","path":"/run/l/3","value":1},{"op":"add","path":"/run/l/0","value":1}]`)
	for want, pair := range map[string][2]state.Patch{
		`add at "/run/x" and remove at "/run/x": both change one place`:                                 {a, b},
		`add at "/run/l/0" and add at "/run/l/3": one moves the element of a list that the other names`: {a[1:], b[1:]},
	} {
		if diff := cmp.Diff(want, fmt.Sprint(pair[0].Conflict(pair[1]))); diff != "" {
			t.Error(diff)
		}
	}
}

// Two patches without a conflict fold in either order, to the same state.
func TestPatchesWithoutAConflictFoldInEitherOrder(t *testing.T) {
	before := given(t, 1, map[string]string{"/run/l": `[0,{"a":[1,2,3],"1":0},2,{"a":{"x":1}},[7,8]]`, "/run/o": `{"a":1,"0":{"b":2},"2":3}`})
	free := 0
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawPatch(t, before), drawPatch(t, before)
		if a.Conflict(b) != nil {
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
	f := s.Fold()
	revision := s.Revision()
	for range rapid.IntRange(1, 3).Draw(t, "operations") {
		o := state.Operation{
			Op:   rapid.SampledFrom([]string{"add", "replace", "remove"}).Draw(t, "op"),
			Path: rapid.SampledFrom(paths).Draw(t, "path"),
		}
		if o.Op != "remove" {
			o.Value = json.RawMessage(rapid.SampledFrom([]string{`"v"`, `[5,6]`, `{"b":4}`}).Draw(t, "value"))
		}
		next := f.Snapshot().Fold()
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
		if there, back := p.Conflict(q), q.Conflict(p); (there == nil) != (back == nil) {
			t.Fatalf("%v, and the other way %v", there, back)
		}
	})
}
