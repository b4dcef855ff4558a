package state_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/stateerror"
	"github.com/reveille-run/reveille/core/state"
)

func TestCommitAppliesInOrderAndRaisesTheRevisionOnce(t *testing.T) {
	var c state.Command
	update(t, &c, total, 2)
	update(t, &c, names, "a")
	update(t, &c, names, "b")
	update(t, &c, total, 3)
	s, patch := commit(t, registry(t), state.Snapshot{}, c.Batch)
	if s.Revision() != 1 {
		t.Errorf("revision %d, want 1", s.Revision())
	}
	if diff := cmp.Diff(map[string]string{"/thread/total": "5", "/run/names": `["a","b"]`}, values(s)); diff != "" {
		t.Error(diff)
	}
	want := `[{"op":"add","path":"/thread/total","value":5},{"op":"add","path":"/run/names","value":["a","b"]}]`
	if diff := cmp.Diff(want, text(patch)); diff != "" {
		t.Error(diff)
	}
	got, err := names.Read(s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b"}, got); diff != "" {
		t.Error(diff)
	}
}

func pointer(n int) *int { return &n }

func TestPatchesSayNoMoreThanWhatChanged(t *testing.T) {
	long := `"a line that is long enough to be worth its path"`
	tests := []struct {
		name   string
		before map[string]string
		make   func(c *state.Command)
		want   string
	}{
		{"an append holds the element", map[string]string{"/run/names": `["a"]`},
			func(c *state.Command) { update(t, c, names, "b"); update(t, c, names, "<c>") },
			`[{"op":"add","path":"/run/names/-","value":"b"},{"op":"add","path":"/run/names/-","value":"<c>"}]`},
		{"an append to an empty list", map[string]string{"/run/names": `[]`},
			func(c *state.Command) { update(t, c, names, "b") },
			`[{"op":"add","path":"/run/names/-","value":"b"}]`},
		{"an append to null", map[string]string{"/run/names": `null`},
			func(c *state.Command) { update(t, c, names, "b") },
			`[{"op":"replace","path":"/run/names","value":["b"]}]`},
		{"an append after a clear", map[string]string{"/run/names": `["a"]`},
			func(c *state.Command) { c.Append(names.Clear()); update(t, c, names, "b") },
			`[{"op":"replace","path":"/run/names","value":["b"]}]`},
		{"a merge holds the members that change", map[string]string{"/thread/seen": `{"a":1,"b":2,"c/d":3}`},
			func(c *state.Command) {
				update(t, c, seen, map[string]*int{"a": pointer(1), "b": nil, "c/d": pointer(4), "e": pointer(5), "f": nil})
			},
			`[{"op":"remove","path":"/thread/seen/b"},{"op":"replace","path":"/thread/seen/c~1d","value":4},{"op":"add","path":"/thread/seen/e","value":5}]`},
		{"a first merge", nil,
			func(c *state.Command) { update(t, c, seen, map[string]*int{"a": pointer(1), "b": nil}) },
			`[{"op":"add","path":"/thread/seen","value":{"a":1}}]`},
		{"a diff when it is smaller", map[string]string{"/run/plan~1~0": `{"title":` + long + `,"done":false}`},
			func(c *state.Command) {
				update(t, c, plan, any(map[string]any{"title": "a line that is long enough to be worth its path", "done": true}))
			},
			`[{"op":"replace","path":"/run/plan~1~0/done","value":true}]`},
		{"a replacement when that is", map[string]string{"/run/plan~1~0": `{"done":false,"n":1}`},
			func(c *state.Command) { update(t, c, plan, any(map[string]any{"done": true, "n": 2})) },
			`[{"op":"replace","path":"/run/plan~1~0","value":{"done":true,"n":2}}]`},
		{"a clear", map[string]string{"/thread/total": "1"},
			func(c *state.Command) { c.Append(total.Clear()) },
			`[{"op":"remove","path":"/thread/total"}]`},
		{"several updates of one key come to one", map[string]string{"/thread/total": "1"},
			func(c *state.Command) { update(t, c, total, 1); update(t, c, total, 1) },
			`[{"op":"replace","path":"/thread/total","value":3}]`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var c state.Command
			test.make(&c)
			_, patch := commit(t, registry(t), given(t, 3, test.before), c.Batch)
			if diff := cmp.Diff(test.want, text(patch)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestACommitThatChangesNothingKeepsTheRevision(t *testing.T) {
	tests := []struct {
		name string
		make func(c *state.Command)
	}{
		{"an empty batch", func(*state.Command) {}},
		{"a sum of nothing", func(c *state.Command) { update(t, c, total, 0) }},
		{"members that are there", func(c *state.Command) { update(t, c, seen, map[string]*int{"a": pointer(1)}) }},
		{"a clear of nothing", func(c *state.Command) { c.Append(names.Clear()) }},
		{"there and back", func(c *state.Command) { update(t, c, total, 1); update(t, c, total, -1) }},
	}
	before := given(t, 4, map[string]string{"/thread/total": "1", "/thread/seen": `{"a":1}`})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var c state.Command
			test.make(&c)
			s, patch := commit(t, registry(t), before, c.Batch)
			if !s.Equal(before) || patch != nil {
				t.Errorf("revision %d, patch %v", s.Revision(), patch)
			}
		})
	}
}

func TestValuesHaveOneSpelling(t *testing.T) {
	type inner struct {
		Z, A int
		H    string
	}
	k := state.Key[inner, json.RawMessage]{Name: "k", Apply: func(_ inner, u json.RawMessage) (v inner) {
		_ = json.Unmarshal(u, &v)
		return v
	}}
	var c state.Command
	update(t, &c, k, json.RawMessage(`{"H":"\u003cé\n","Z":1,"A":12345678901234567}`))
	s, _ := commit(t, registry(t, k.Definition()), state.Snapshot{}, c.Batch)
	if diff := cmp.Diff(map[string]string{"/run/k": `{"A":12345678901234567,"H":"<é\n","Z":1}`}, values(s)); diff != "" {
		t.Error(diff)
	}
}

func TestClearRemovesTheValueAndALaterUpdateStartsFromZero(t *testing.T) {
	r := registry(t)
	first, second := total.Update(2), total.Clear()
	s, _ := commit(t, r, state.Snapshot{}, first.Batch)
	s, _ = commit(t, r, s, second.Batch)
	if len(s.Paths()) != 0 || s.Revision() != 2 {
		t.Errorf("%v at revision %d, want none at 2", s.Paths(), s.Revision())
	}
	if n, err := total.Read(s); n != 0 || err != nil {
		t.Errorf("total reads %d, %v, want 0", n, err)
	}
	update(t, &second, total, 7)
	s, _ = commit(t, r, s, second.Batch)
	if n, _ := total.Read(s); n != 7 {
		t.Errorf("total reads %d, want 7", n)
	}
}

func TestUpdateToNullSurvivesItsWireForm(t *testing.T) {
	var c, decoded state.Command
	update(t, &c, note, nil)
	raw := text(c)
	if diff := cmp.Diff(`{"batch":{"mutations":[{"key":"note","update":null}]}}`, raw); diff != "" {
		t.Error(diff)
	}
	if err := json.Unmarshal([]byte(raw), &decoded); err != nil {
		t.Fatal(err)
	}
	s, _ := commit(t, registry(t), state.Snapshot{}.ForCall(0), decoded.Batch)
	if diff := cmp.Diff(map[string]string{"/call/0/note": "null"}, values(s)); diff != "" {
		t.Error(diff)
	}
}

func TestEarlierSnapshotsNeverChange(t *testing.T) {
	r := registry(t)
	var c state.Command
	update(t, &c, names, "a")
	first, _ := commit(t, r, state.Snapshot{}, c.Batch)
	second, _ := commit(t, r, first, c.Batch)
	c.Append(names.Clear())
	commit(t, r, second, c.Batch)
	fold(t, second, 9, `[{"op":"add","path":"/run/names/-","value":"x"},{"op":"add","path":"/run/names/-","value":"y"}]`)
	if diff := cmp.Diff(map[string]string{"/run/names": `["a"]`}, values(first)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"/run/names": `["a","a"]`}, values(second)); diff != "" {
		t.Error(diff)
	}
}

func TestCommitRefusesTheWholeBatch(t *testing.T) {
	mutation := func(key, update string) state.Mutation {
		return state.Mutation{Key: key, Update: json.RawMessage(update)}
	}
	tests := []struct {
		name      string
		mutations []state.Mutation
		want      string
		is        error // a sentinel; nil: any of the code
		code      core.Code
	}{
		{"a key that is not registered", []state.Mutation{mutation("total", "1"), {Key: "nobody"}}, `committing state: unknown state key "nobody"`, stateerror.ErrUnknownKey, core.CodeInternal},
		{"an update of another type", []state.Mutation{mutation("total", `"x"`)}, `committing state: decoding the update of state key "total": json: cannot unmarshal string into Go value of type int`, nil, core.CodeCorrupt},
		{"an element of another type", []state.Mutation{mutation("names", `1`)}, `committing state: decoding the update of state key "names": json: cannot unmarshal number into Go value of type string`, nil, core.CodeCorrupt},
		{"a value that is no list any more", []state.Mutation{mutation("names", `"x"`)}, `committing state: decoding the value of state key "names": it is not a list`, nil, core.CodeCorrupt},
		{"a value that is no object any more", []state.Mutation{mutation("seen", `{"a":1}`)}, `committing state: decoding the value of state key "seen": it is not an object`, nil, core.CodeCorrupt},
		{"a key of the call without one", []state.Mutation{mutation("note", `"x"`)}, `committing state: state key "note" belongs to one tool call: the snapshot is bound to no tool call`, nil, core.CodeInternal},
		{"a panic of Apply", []state.Mutation{mutation("total", "1"), mutation("bomb", "1")}, `committing state: applying an update of state key "bomb": panic: boom`, nil, core.CodeInternal},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := given(t, 4, map[string]string{"/thread/total": "1", "/run/names": "3", "/thread/seen": "[]"})
			s, patch, err := registry(t).Commit(before, state.Batch{Mutations: test.mutations})
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
			if test.is != nil && !errors.Is(err, test.is) || core.CodeOf(err) != test.code {
				t.Errorf("the error is %v of code %s, want %v, %s", err, core.CodeOf(err), test.is, test.code)
			}
			if !s.Equal(state.Snapshot{}) || patch != nil {
				t.Errorf("snapshot %v, patch %v, want none", values(s), patch)
			}
		})
	}
	var panicked *env.PanicError
	_, _, err := registry(t).Commit(state.Snapshot{}, state.Batch{Mutations: []state.Mutation{mutation("bomb", "1")}})
	if !errors.As(err, &panicked) {
		t.Errorf("%v is not a PanicError", err)
	}
}

// Two registries of one origin do not hear of each other's listeners.
func TestListenersOfOneOriginStayApart(t *testing.T) {
	var told []string
	says := func(name string) func(state.Snapshot, state.Snapshot, state.Patch) {
		return func(state.Snapshot, state.Snapshot, state.Patch) { told = append(told, name) }
	}
	origin := registry(t).Listen(says("a"), nil).Listen(says("b"), nil).Listen(says("c"), nil)
	first, second := origin.Listen(says("first"), nil), origin.Listen(says("second"), nil)
	commit(t, first, state.Snapshot{}, total.Update(1).Batch)
	commit(t, second, state.Snapshot{}, total.Update(1).Batch)
	commit(t, origin, state.Snapshot{}, total.Update(1).Batch)
	if diff := cmp.Diff([]string{"a", "b", "c", "first", "a", "b", "c", "second", "a", "b", "c"}, told); diff != "" {
		t.Error(diff)
	}
}

func TestDiffNamesEachElementThatHasChanged(t *testing.T) {
	long := `"` + strings.Repeat("x", 200) + `"`
	before := given(t, 1, map[string]string{"/run/names": `[` + long + `,"a","b",` + long + `]`})
	after := given(t, 2, map[string]string{"/run/names": `[` + long + `,"c","d",` + long + `]`})
	want := `[{"op":"replace","path":"/run/names/1","value":"c"},{"op":"replace","path":"/run/names/2","value":"d"}]`
	if diff := cmp.Diff(want, text(before.Diff(after))); diff != "" {
		t.Error(diff)
	}
}

func TestAListenerThatDoesNotPanicIsNotComplainedOf(t *testing.T) {
	r := registry(t).Listen(func(state.Snapshot, state.Snapshot, state.Patch) {}, func(err error) { t.Errorf("a complaint: %v", err) })
	commit(t, r, state.Snapshot{}, total.Update(1).Batch)
}

func TestUninstallTellsTheListeners(t *testing.T) {
	var told []string
	r := registry(t).Listen(func(before, after state.Snapshot, patch state.Patch) {
		told = append(told, fmt.Sprintf("%d to %d: %s, left %v", before.Revision(), after.Revision(), text(patch), values(after)))
	}, nil)
	s := given(t, 3, map[string]string{"/thread/total": "1", "/run/names": `["a"]`})
	after, _, err := r.Uninstall(s, "total")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Uninstall(after, "total"); err != nil {
		t.Fatal(err)
	}
	want := []string{`3 to 4: [{"op":"remove","path":"/thread/total"}], left map[/run/names:["a"]]`} // then nothing is left to remove
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
}

func TestACommandIsZeroWhenItDoesNothing(t *testing.T) {
	for name, c := range map[string]state.Command{
		"a mutation": total.Update(1),
		"an action":  {Actions: []state.Action{{Key: "a"}}},
		"an effect":  {Effects: []state.Effect{{Key: "e"}}},
		"an error":   {Err: errors.New("no")},
	} {
		if c.IsZero() {
			t.Errorf("%s is nothing", name)
		}
	}
	if !(state.Command{}).IsZero() {
		t.Error("nothing is something")
	}
}

func TestAKeyOfACallHasNoValueOutsideOfOne(t *testing.T) {
	s := given(t, 1, map[string]string{"/call/2/note": `"x"`})
	if note.Has(s) || note.Has(s.ForCall(1)) || !note.Has(s.ForCall(2)) {
		t.Error("Has looks at another call")
	}
	if _, ok := s.Value(state.KeyPath{Scope: state.ScopeCall, Call: 2, Name: "note"}); !ok {
		t.Error("there is no value of the call")
	}
	if v, ok := s.Value(state.KeyPath{Scope: state.ScopeCall, Call: 1, Name: "note"}); ok || v != nil {
		t.Errorf("another call has %s", v)
	}
	if scope, ok := registry(t).Scope("note"); scope != state.ScopeCall || !ok {
		t.Errorf("scope %s, %v", scope, ok)
	}
	if _, ok := registry(t).Scope("nobody"); ok {
		t.Error("a key of nobody has a scope")
	}
}

func TestAScopeThatDoesNotExistHasAName(t *testing.T) {
	if got := fmt.Sprint(state.Scope(9), state.ScopeRun, state.ScopeThread, state.ScopeCall); got != "scope 9 run thread call" {
		t.Errorf("scopes are %s", got)
	}
}

func TestPathsAreSortedByHowLongTheyLast(t *testing.T) {
	s := given(t, 1, map[string]string{"/call/1/a": "1", "/call/0/b": "1", "/run/b": "1", "/run/a": "1", "/thread/z": "1", "/thread/a": "1"})
	var got []string
	for _, p := range s.Paths() {
		got = append(got, p.String())
	}
	if diff := cmp.Diff([]string{"/thread/a", "/thread/z", "/run/a", "/run/b", "/call/0/b", "/call/1/a"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestUpdateReportsWhatJSONCannotExpress(t *testing.T) {
	k := state.Key[int, func()]{Name: "f"}
	c := k.Update(func() {})
	if diff := cmp.Diff(`encoding an update of state key "f": json: unsupported type: func()`, fmt.Sprint(c.Err)); diff != "" {
		t.Error(diff)
	}
	if len(c.Batch.Mutations) != 0 || c.IsZero() {
		t.Errorf("the command is %v, want its error alone", c)
	}
}

func TestAValueThatJSONCannotExpressIsTheKeysError(t *testing.T) {
	ratio := state.Key[float64, float64]{Name: "ratio", Apply: func(v, u float64) float64 { return v / u }}
	var c state.Command
	update(t, &c, ratio, 0)
	for before, want := range map[string]string{
		`1`:   `committing state: encoding the value of state key "ratio": json: unsupported value: +Inf`,
		`"1"`: `committing state: decoding the value of state key "ratio": json: cannot unmarshal string into Go value of type float64`,
	} {
		_, _, err := registry(t, ratio.Definition()).Commit(given(t, 1, map[string]string{"/run/ratio": before}), c.Batch)
		if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
			t.Error(diff)
		}
	}
}

// oneWay is read from JSON, and some of it cannot be written.
type oneWay string

func (o oneWay) MarshalJSON() ([]byte, error) {
	if o == "bad" {
		return nil, errors.New("it does not go back")
	}
	return json.Marshal(string(o))
}

func TestAnElementThatCannotBeWrittenIsNotAppended(t *testing.T) {
	list := state.List[oneWay]("list", state.ScopeRun)
	r := registry(t, list.Definition())
	update := func(text string) state.Batch {
		return state.Batch{Mutations: []state.Mutation{{Key: "list", Update: json.RawMessage(text)}}}
	}
	s, _ := commit(t, r, state.Snapshot{}, update(`"good"`))
	_, patch, err := r.Commit(s, update(`"bad"`))
	const want = `committing state: encoding the update of state key "list": json: error calling MarshalJSON for type state_test.oneWay: it does not go back`
	if fmt.Sprint(err) != want || patch != nil {
		t.Errorf("patch %v, %v\nwant %s", patch, err, want)
	}
}

func TestAMemberThatCannotBeWrittenIsNotSet(t *testing.T) {
	object := state.Map[oneWay]("object", state.ScopeRun)
	b := state.Batch{Mutations: []state.Mutation{{Key: "object", Update: json.RawMessage(`{"a":"good","b":"bad"}`)}}}
	_, patch, err := registry(t, object.Definition()).Commit(state.Snapshot{}, b)
	const want = `committing state: encoding the update of state key "object": json: error calling MarshalJSON for type *state_test.oneWay: it does not go back`
	if fmt.Sprint(err) != want || patch != nil {
		t.Errorf("patch %v, %v\nwant %s", patch, err, want)
	}
}

func TestAListAppliesAsItsPatchesDo(t *testing.T) {
	list := names.Apply([]string{"a"}, "b")
	if diff := cmp.Diff([]string{"a", "b"}, list); diff != "" {
		t.Error(diff)
	}
}

func TestCallsDoNotShareTheirValues(t *testing.T) {
	r := registry(t)
	first, second := "first", "second"
	var a, b state.Command
	update(t, &a, note, &first)
	update(t, &b, note, &second)
	s, patch := commit(t, r, state.Snapshot{}.ForCall(0), a.Batch)
	if diff := cmp.Diff(`[{"op":"add","path":"/call/0/note","value":"first"}]`, text(patch)); diff != "" {
		t.Error(diff)
	}
	s, _ = commit(t, r, s.ForCall(1), b.Batch)
	for call, want := range []string{first, second} {
		got, err := note.Read(s.ForCall(call))
		if err != nil || got == nil || *got != want {
			t.Errorf("call %d reads %v, %v, want %s", call, got, err, want)
		}
	}
	if got, err := note.Read(s.ForCall(2)); got != nil || err != nil {
		t.Errorf("a third call reads %v, %v", got, err)
	}
	_, err := note.Read(s.Unbound())
	if diff := cmp.Diff(`state key "note" belongs to one tool call: the snapshot is bound to no tool call`, fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
}
