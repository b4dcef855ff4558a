package state_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/state/lattice"
)

var doc = state.Document[any]("doc", state.ScopeThread, state.LatticeAt[lattice.GSet[string]](state.At("tags")))

const long = `"a text that is long enough to be worth its path"`

func TestEditsOfADocument(t *testing.T) {
	tests := []struct {
		name   string
		before string // empty: the document is absent
		edits  []state.Edit
		want   string
		patch  string
	}{
		{"set a member", `{"a":1,"b":` + long + `}`, []state.Edit{state.At("a").Set("<x>")}, `{"a":"<x>","b":` + long + `}`, `[{"op":"replace","path":"/thread/doc/a","value":"<x>"}]`},
		{"set what is there already", `{"a":1}`, []state.Edit{state.At("a").Set(1)}, `{"a":1}`, `null`},
		{"set creates what leads to it", `{"a":1}`, []state.Edit{state.At("b", "c/d", "e").Set(true)}, `{"a":1,"b":{"c/d":{"e":true}}}`, `[{"op":"add","path":"/thread/doc/b","value":{"c/d":{"e":true}}}]`},
		{"set creates in an object that is there", `{"b":{"x":1}}`, []state.Edit{state.At("b", "c", "e").Set(2)}, `{"b":{"c":{"e":2},"x":1}}`, `[{"op":"add","path":"/thread/doc/b/c","value":{"e":2}}]`},
		{"set in place of null", `{"a":null}`, []state.Edit{state.At("a", "b").Set(2)}, `{"a":{"b":2}}`, `[{"op":"replace","path":"/thread/doc/a","value":{"b":2}}]`},
		{"set in a document that is absent", ``, []state.Edit{state.At("a", "b").Set(2)}, `{"a":{"b":2}}`, `[{"op":"add","path":"/thread/doc","value":{"a":{"b":2}}}]`},
		{"set the whole document", `{"a":1}`, []state.Edit{state.At().Set(7)}, `7`, `[{"op":"replace","path":"/thread/doc","value":7}]`},
		{"set an element", `{"l":[1,{"x":2}]}`, []state.Edit{state.At("l").Index(1).Member("x").Set(3)}, `{"l":[1,{"x":3}]}`, `[{"op":"replace","path":"/thread/doc/l/1/x","value":3}]`},
		{"set spells its value", `{}`, []state.Edit{state.At("a").Set(json.RawMessage(`{ "b": 1, "a": 2 }`))}, `{"a":{"a":2,"b":1}}`, `[{"op":"add","path":"/thread/doc/a","value":{"a":2,"b":1}}]`},

		{"delete a member", `{"a":1,"b":2}`, []state.Edit{state.At("a").Delete()}, `{"b":2}`, `[{"op":"remove","path":"/thread/doc/a"}]`},
		{"delete an element", `{"l":[1,2,3]}`, []state.Edit{state.At("l").Index(1).Delete()}, `{"l":[1,3]}`, `[{"op":"remove","path":"/thread/doc/l/1"}]`},
		{"delete what is not there", `{"l":[1],"s":"x"}`, []state.Edit{state.At("a", "b").Delete(), state.At("l").Index(1).Delete(), state.At("l", "x").Delete(), state.At("s", "x").Delete()}, `{"l":[1],"s":"x"}`, `null`},
		{"delete the whole document that is null", `null`, []state.Edit{state.At().Delete()}, `null`, `null`},
		{"delete the whole document", `{"a":1}`, []state.Edit{state.At().Delete()}, `null`, `[{"op":"replace","path":"/thread/doc","value":null}]`},

		{"append to a list", `{"l":[1]}`, []state.Edit{state.At("l").Append(2)}, `{"l":[1,2]}`, `[{"op":"add","path":"/thread/doc/l/-","value":2}]`},
		{"append to an empty list", `{"l":[]}`, []state.Edit{state.At("l").Append(2)}, `{"l":[2]}`, `[{"op":"add","path":"/thread/doc/l/-","value":2}]`},
		{"append creates the list", `{"l":null}`, []state.Edit{state.At("l").Append(2), state.At("m", "n").Append(3)}, `{"l":[2],"m":{"n":[3]}}`, `[{"op":"replace","path":"/thread/doc","value":{"l":[2],"m":{"n":[3]}}}]`},
		{"append to a document that is a list", `[1]`, []state.Edit{state.At().Append(2)}, `[1,2]`, `[{"op":"add","path":"/thread/doc/-","value":2}]`},

		{"merge members one level deep", `{"o":{"a":1,"b":{"x":1},"c":` + long + `}}`, []state.Edit{state.At("o").Merge(map[string]any{"a": 1, "b": map[string]int{"y": 2}, "d": nil})}, `{"o":{"a":1,"b":{"y":2},"c":` + long + `,"d":null}}`, `[{"op":"replace","path":"/thread/doc/o/b","value":{"y":2}},{"op":"add","path":"/thread/doc/o/d","value":null}]`},
		{"merge creates the object", `{}`, []state.Edit{state.At("o").Merge(map[string]int{"a": 1})}, `{"o":{"a":1}}`, `[{"op":"add","path":"/thread/doc/o","value":{"a":1}}]`},

		{"increment within an element", `{"l":[0,{"n":1}]}`, []state.Edit{state.At("l").Index(1).Member("n").Increment(2)}, `{"l":[0,{"n":3}]}`, `[{"op":"replace","path":"/thread/doc/l/1/n","value":3}]`},
		{"append to a list within an element", `{"l":[[1]]}`, []state.Edit{state.At("l").Index(0).Append(2)}, `{"l":[[1,2]]}`, `[{"op":"add","path":"/thread/doc/l/0/-","value":2}]`},
		{"increment", `{"n":1}`, []state.Edit{state.At("n").Increment(2)}, `{"n":3}`, `[{"op":"replace","path":"/thread/doc/n","value":3}]`},
		{"decrement", `{"n":1}`, []state.Edit{state.At("n").Decrement(2)}, `{"n":-1}`, `[{"op":"replace","path":"/thread/doc/n","value":-1}]`},
		{"integers stay exact", `{"n":9007199254740993}`, []state.Edit{state.At("n").Increment(2)}, `{"n":9007199254740995}`, `[{"op":"replace","path":"/thread/doc/n","value":9007199254740995}]`},
		{"increment by a fraction", `{"n":1}`, []state.Edit{state.At("n").IncrementFloat(0.5)}, `{"n":1.5}`, `[{"op":"replace","path":"/thread/doc/n","value":1.5}]`},
		{"increment by less than nothing", `{"n":1}`, []state.Edit{state.At("n").IncrementFloat(-0.5)}, `{"n":0.5}`, `[{"op":"replace","path":"/thread/doc/n","value":0.5}]`},
		{"decrement by a fraction", `{"n":1}`, []state.Edit{{Op: "decrement", Path: "/n", Value: json.RawMessage("0.25")}}, `{"n":0.75}`, `[{"op":"replace","path":"/thread/doc/n","value":0.75}]`},
		{"increment a fraction", `{"n":1.5}`, []state.Edit{state.At("n").Increment(2)}, `{"n":3.5}`, `[{"op":"replace","path":"/thread/doc/n","value":3.5}]`},
		{"increment to the largest", `{"n":9223372036854775806}`, []state.Edit{state.At("n").Increment(1)}, `{"n":9223372036854775807}`, `[{"op":"replace","path":"/thread/doc/n","value":9223372036854775807}]`},
		{"decrement to the smallest", `{"n":-9223372036854775807}`, []state.Edit{state.At("n").Decrement(1)}, `{"n":-9223372036854775808}`, `[{"op":"replace","path":"/thread/doc/n","value":-9223372036854775808}]`},
		{"increment by ten", `{"n":1}`, []state.Edit{state.At("n").Increment(10)}, `{"n":11}`, `[{"op":"replace","path":"/thread/doc/n","value":11}]`},
		{"increment by very much", `{"n":1}`, []state.Edit{state.At("n").Increment(9223372036854775806)}, `{"n":9223372036854775807}`, `[{"op":"replace","path":"/thread/doc/n","value":9223372036854775807}]`},
		{"decrement by nothing", `{"n":1}`, []state.Edit{state.At("n").Decrement(0)}, `{"n":1}`, `null`},
		{"a single edit is its patch, however little changes", `{"o":{"a":1,"b":` + long + `}}`, []state.Edit{state.At("o").Set(json.RawMessage(`{"a":2,"b":` + long + `}`))}, `{"o":{"a":2,"b":` + long + `}}`, `[{"op":"replace","path":"/thread/doc/o","value":{"a":2,"b":` + long + `}}]`},
		{"increment by nothing", `{"n":1}`, []state.Edit{state.At("n").Increment(0)}, `{"n":1}`, `null`},
		{"several edits of one place come to one", `{"n":1,"x":` + long + `}`, []state.Edit{state.At("n").Increment(1), state.At("n").Increment(1)}, `{"n":3,"x":` + long + `}`, `[{"op":"replace","path":"/thread/doc/n","value":3}]`},

		{"insert before an element", `{"l":[1,2]}`, []state.Edit{state.At("l").Insert(1, 9)}, `{"l":[1,9,2]}`, `[{"op":"add","path":"/thread/doc/l/1","value":9}]`},
		{"insert at the end", `{"l":[1,2]}`, []state.Edit{state.At("l").Insert(2, 9)}, `{"l":[1,2,9]}`, `[{"op":"add","path":"/thread/doc/l/2","value":9}]`},

		{"remove the first that is equal", `{"l":[1,{"a":1},2,{"a":1}]}`, []state.Edit{state.At("l").Remove(map[string]int{"a": 1})}, `{"l":[1,2,{"a":1}]}`, `[{"op":"remove","path":"/thread/doc/l/1"}]`},
		{"remove what is not there", `{"l":[1]}`, []state.Edit{state.At("l").Remove("1")}, `{"l":[1]}`, `null`},

		{"join a lattice", `{"tags":["b"]}`, []state.Edit{state.At("tags").Join(lattice.GSet[string]{}.Adding("a", "b"))}, `{"tags":["a","b"]}`, `[{"op":"add","path":"/thread/doc/tags/0","value":"a"}]`},
		{"join creates the lattice", `{}`, []state.Edit{state.At("tags").Join(lattice.GSet[string]{}.Adding("b", "a"))}, `{"tags":["a","b"]}`, `[{"op":"add","path":"/thread/doc/tags","value":["a","b"]}]`},
		{"join what is there already", `{"tags":["a","b"]}`, []state.Edit{state.At("tags").Join(lattice.GSet[string]{}.Adding("b"))}, `{"tags":["a","b"]}`, `null`},

		{"edits far apart stay edits", `{"a":[` + long + `,` + long + `],"b":1}`, []state.Edit{state.At("a").Append(1), state.At("b").Set(2)}, `{"a":[` + long + `,` + long + `,1],"b":2}`, `[{"op":"add","path":"/thread/doc/a/-","value":1},{"op":"replace","path":"/thread/doc/b","value":2}]`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := map[string]string{}
			if test.before != "" {
				before["/thread/doc"] = test.before
			}
			s, patch := commit(t, registry(t, doc.Definition()), given(t, 3, before), doc.Edit(test.edits...).Batch)
			if diff := cmp.Diff(test.want, values(s)["/thread/doc"]); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.patch, text(patch)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEditsThatDoNotFit(t *testing.T) {
	before := `{"big":9223372036854775807,"deep":-1e308,"f":1e308,"huge":9223372036854775808,"l":[1,2],"low":-9223372036854775808,"n":1,"no":false,"none":null,"o":{},"s":"x","tags":[1],"yes":true}`
	tests := []struct {
		edit state.Edit
		want string
	}{
		{state.At("s", "a").Set(1), `set at "/s/a": wrong type: a text has no member "a"`},
		{state.At("l", "a").Set(1), `set at "/l/a": wrong type: a list has no member "a"`},
		{state.At("l").Index(2).Set(1), `set at "/l/2": out of range: index 2 of a list of 2`},
		{state.At("s").Append(1), `append at "/s": wrong type: a text is not a list`},
		{state.At("o").Merge(1), `merge_object at "/o": wrong type: a number to merge`},
		{state.At("l").Merge(map[string]int{}), `merge_object at "/l": wrong type: a list is not an object`},
		{state.At("missing").Increment(1), `increment at "/missing": nothing is there`},
		{state.At("none").Increment(1), `increment at "/none": wrong type: null is not a number`},
		{state.At("yes").Increment(1), `increment at "/yes": wrong type: a boolean is not a number`},
		{state.At("no").Increment(1), `increment at "/no": wrong type: a boolean is not a number`},
		{state.At("o").Decrement(1), `decrement at "/o": wrong type: an object is not a number`},
		{state.At("huge").Increment(1), `increment at "/huge": out of range: 9223372036854775808 and 1`},
		{state.At("low").Decrement(1), `decrement at "/low": out of range: -9223372036854775808 and 1`},
		{state.At("low").Increment(-1), `increment at "/low": out of range: -9223372036854775808 and -1`},
		{state.Edit{Op: "increment", Path: "/n", Value: json.RawMessage("9223372036854775808")}, `increment at "/n": out of range: 5 and 9223372036854775808`},
		{state.Edit{Op: "increment", Path: "/low", Value: json.RawMessage("9223372036854775808")}, `increment at "/low": out of range: -9223372036854775808 and 9223372036854775808`},
		{state.At("huge").Decrement(1), `decrement at "/huge": out of range: 9223372036854775808 and 1`},
		{state.At("big").Increment(1), `increment at "/big": out of range: 9223372036854775807 and 1`},
		{state.At("big").Decrement(math.MinInt64), `decrement at "/big": out of range: 9223372036854775807 and -9223372036854775808`},
		{state.At("f").IncrementFloat(1.7e308), `increment at "/f": out of range: 1e308 and 1.7e+308`},
		{state.At("deep").IncrementFloat(-1.7e308), `increment at "/deep": out of range: -1e308 and -1.7e+308`},
		{state.Edit{Op: "increment", Path: "/n", Value: json.RawMessage("1e400")}, `increment at "/n": out of range: 5 and 1e400`},
		{state.Edit{Op: "increment", Path: "/n", Value: json.RawMessage(`"1"`)}, `increment at "/n": wrong type: a text is not an amount`},
		{state.At("l").Insert(3, 1), `insert at "/l": out of range: index 3 of a list of 2`},
		{state.At("l").Insert(-1, 1), `insert at "/l": out of range: index -1 of a list of 2`},
		{state.At("o").Insert(0, 1), `insert at "/o": wrong type: an object is not a list`},
		{state.At("missing").Insert(0, 1), `insert at "/missing": nothing is there`},
		{state.At("missing").Remove(1), `remove at "/missing": nothing is there`},
		{state.At("n").Remove(1), `remove at "/n": wrong type: a number is not a list`},
		{state.At("l").Join(lattice.GSet[string]{}.Adding("a")), `lattice_merge at "/l": no lattice is declared there`},
		{state.At("tags").Join(lattice.GSet[string]{}.Adding("a")), `lattice_merge at "/tags": wrong type: json: cannot unmarshal number into Go value of type string`},
		{state.At("tags").Join(3), `lattice_merge at "/tags": wrong type: json: cannot unmarshal number into Go value of type string`},
		{state.Edit{Op: "twist", Path: "/n", Value: json.RawMessage("1")}, `twist at "/n": there is no such edit`},
		{state.Edit{Op: "set", Path: "n", Value: json.RawMessage("1")}, `set at "n": the path does not begin with a slash`},
		{state.Edit{Op: "set", Path: "/~2", Value: json.RawMessage("1")}, `set at "/~2": the path has a tilde that escapes nothing`},
		{state.Edit{Op: "set", Path: "/n"}, `set at "/n": the value: not JSON`},
	}
	for _, test := range tests {
		t.Run(test.want, func(t *testing.T) {
			s := given(t, 3, map[string]string{"/thread/doc": before})
			_, _, err := registry(t, doc.Definition()).Commit(s, doc.Edit(state.At("n").Set(5), test.edit).Batch)
			if diff := cmp.Diff(`committing state: edit 1 of state key "doc": `+test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
			if core.CodeOf(err) != core.CodeInvalid {
				t.Errorf("%v has code %s", err, core.CodeOf(err))
			}
		})
	}
}

// highest is a lattice whose values may be a single digit.
type highest int

func (h highest) Merge(other highest) highest { return max(h, other) }

func TestALatticeMergesIntoTheShortestValue(t *testing.T) {
	levels := state.Document[any]("levels", state.ScopeThread, state.LatticeAt[highest](state.At("n")))
	tests := []struct {
		before string
		joined int
		want   string
	}{
		{`{"n":5}`, 3, `null`},
		{`{"n":5}`, 7, `[{"op":"replace","path":"/thread/levels/n","value":7}]`},
		{`{"n":null}`, 3, `[{"op":"replace","path":"/thread/levels/n","value":3}]`},
		{`{}`, -3, `[{"op":"add","path":"/thread/levels/n","value":0}]`},
	}
	for _, tt := range tests {
		s := given(t, 1, map[string]string{"/thread/levels": tt.before})
		_, patch := commit(t, registry(t, levels.Definition()), s, levels.Edit(state.At("n").Join(tt.joined)).Batch)
		if diff := cmp.Diff(tt.want, text(patch)); diff != "" {
			t.Errorf("%d joined to %s (-want +got):\n%s", tt.joined, tt.before, diff)
		}
	}
}

func TestADocumentStaysWhatItIsReadAs(t *testing.T) {
	type task struct {
		Title string
		Done  int
	}
	typed := state.Document[task]("task", state.ScopeRun)
	r := registry(t, typed.Definition())
	s, _ := commit(t, r, state.Snapshot{}, typed.Edit(state.At("Title").Set("x"), state.At("Done").Set(2)).Batch)
	if got := read(t, typed.Key, s); got != (task{"x", 2}) {
		t.Errorf("got %v", got)
	}
	_, _, err := r.Commit(s, typed.Edit(state.At("Done").Set("yes")).Batch)
	want := `committing state: after edits of state key "task": wrong type: decoding the value of state key "task": json: cannot unmarshal string into Go struct field task.Done of type int`
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" || core.CodeOf(err) != core.CodeInvalid {
		t.Error(diff)
	}
}

func TestADamagedDocumentIsCorrupt(t *testing.T) {
	for _, damaged := range []string{`{"a":`, `[1,}]`} {
		s := given(t, 1, map[string]string{"/thread/doc": damaged})
		_, _, err := registry(t, doc.Definition()).Commit(s, doc.Edit(state.At("a", "b").Set(1), state.At("0").Delete()).Batch)
		if err == nil {
			t.Errorf("%s was edited", damaged)
		}
	}
	for damaged, edits := range map[string][]state.Edit{
		`{"a":`: {state.At("a").Set(1), state.At().Merge(map[string]int{"b": 1}), state.At("a").Increment(1), state.At("a").Delete()},
		`[1,}]`: {state.At("0").Increment(1), state.At().Remove(1), state.At("0").Set(2)},
	} {
		s := given(t, 1, map[string]string{"/thread/doc": damaged})
		for _, edit := range edits {
			_, _, err := registry(t, doc.Definition()).Commit(s, doc.Edit(edit).Batch)
			if core.CodeOf(err) != core.CodeCorrupt {
				t.Errorf("%s of %s: %v has code %s", edit.Op, damaged, err, core.CodeOf(err))
			}
		}
	}
}

// What follows a clear starts from nothing: the patch leads there from what was before.
func TestEditsBehindAClearOfTheDocument(t *testing.T) {
	s := given(t, 1, map[string]string{"/thread/doc": `{"a":1,"l":[1,2]}`})
	_, patch := commit(t, registry(t, doc.Definition()), s, state.Combine(doc.Clear(), doc.Edit(state.At("a").Set(1))).Batch)
	if diff := cmp.Diff(`[{"op":"remove","path":"/thread/doc/l"}]`, text(patch)); diff != "" {
		t.Error(diff)
	}
}

func TestAnUpdateThatIsNoEditsIsCorrupt(t *testing.T) {
	b := state.Batch{Mutations: []state.Mutation{{Key: "doc", Update: json.RawMessage("3")}}}
	s, patch, err := registry(t, doc.Definition()).Commit(given(t, 1, map[string]string{"/thread/doc": "1"}), b)
	want := `committing state: decoding the update of state key "doc": json: cannot unmarshal number into Go value of type []state.Edit`
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" || core.CodeOf(err) != core.CodeCorrupt || !s.Equal(state.Snapshot{}) || patch != nil {
		t.Errorf("%s, code %s, %s", diff, core.CodeOf(err), text(patch))
	}
}

func TestADeltaThatIsNoValueOfTheLatticeIsRefused(t *testing.T) {
	_, _, err := registry(t, doc.Definition()).Commit(state.Snapshot{}, doc.Edit(state.At("tags").Join(3)).Batch)
	want := `committing state: edit 0 of state key "doc": lattice_merge at "/tags": wrong type: json: cannot unmarshal number into Go value of type []string`
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
}

func TestAnEditThatJSONCannotExpressIsTheCommandsError(t *testing.T) {
	err := doc.Edit(state.At("a").Set(1), state.At("b").Set(func() {})).Check()
	want := `encoding an update of state key "doc": json: error calling MarshalJSON for type state.Edit: json: unsupported type: func()`
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
}

func TestTheFormOfAnEdit(t *testing.T) {
	edits := []state.Edit{state.At("a", "b/c").Index(0).Set("<x>"), state.At("l").Insert(2, 1), state.At("a").Delete()}
	want := `[{"op":"set","path":"/a/b~1c/0","value":"<x>"},{"op":"insert","path":"/l","index":2,"value":1},{"op":"delete","path":"/a"}]`
	if diff := cmp.Diff(want, text(edits)); diff != "" {
		t.Error(diff)
	}
	if got := state.At("a", "b/c").Index(0).String(); got != "/a/b~1c/0" {
		t.Errorf("the path is %s", got)
	}
}

// FuzzEdits makes any bytes the update of a document: it is refused without a panic, or
// its patch leads to what it made.
func FuzzEdits(f *testing.F) {
	for _, edits := range []string{
		`[{"op":"set","path":"/a/b~1c/0","value":"<x>"},{"op":"insert","path":"/l","index":2,"value":1},{"op":"delete","path":"/l/0"}]`,
		`[{"op":"append","path":"/new/list","value":{}},{"op":"merge_object","path":"/o","value":{"x":null}},{"op":"set","path":"","value":[]}]`,
		`[{"op":"increment","path":"/n","value":1.5e3},{"op":"decrement","path":"/n","value":-2},{"op":"remove","path":"/l","value":{"a":1}}]`,
		`[{"op":"lattice_merge","path":"/tags","value":["b"]},{"op":"lattice_merge","path":"/tags","value":["a"]},{"op":"delete","path":""}]`,
	} {
		f.Add([]byte(edits))
	}
	r, err := new(state.Registry).With(doc.Definition())
	if err != nil {
		f.Fatal(err)
	}
	before := given(f, 1, map[string]string{"/thread/doc": `{"a":null,"l":[1,{"a":1}],"n":1,"o":{"x":{"y":2}},"s":"x","tags":["a","c"]}`})
	f.Fuzz(func(t *testing.T, update []byte) {
		s, patch, err := r.Commit(before, state.Batch{Mutations: []state.Mutation{{Key: "doc", Update: update}}})
		if err != nil {
			var panicked *env.PanicError
			if errors.As(err, &panicked) {
				t.Fatalf("%v\n%s", err, panicked.Stack)
			}
			return
		}
		fold := before.Fold()
		if err := fold.Apply(patch, s.Revision()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(values(s), values(fold.Snapshot())); diff != "" {
			t.Fatalf("%s leads elsewhere: %s", text(patch), diff)
		}
	})
}
