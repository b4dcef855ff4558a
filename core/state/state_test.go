package state_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
)

func add(v, n int) int                           { return v + n }
func replace(_ *string, s *string) *string       { return s }
func explode(map[string]int, int) map[string]int { panic("boom") }

// exclusive returns the key for one hook at a time.
func exclusive[V, U any](k state.Key[V, U]) state.Key[V, U] {
	k.Commutative = false
	return k
}

var (
	total = state.Key[int, int]{Name: "total", Scope: state.ScopeThread, Commutative: true, Apply: add}
	names = exclusive(state.List[string]("names", state.ScopeRun))
	seen  = exclusive(state.Map[int]("seen", state.ScopeThread).Key)
	plan  = state.Key[any, any]{Name: "plan/~", Scope: state.ScopeRun, Apply: func(_, u any) any { return u }}
	note  = state.Key[*string, *string]{Name: "note", Scope: state.ScopeCall, Apply: replace}
	bomb  = state.Key[map[string]int, int]{Name: "bomb", Apply: explode}
)

func registry(tb testing.TB, definitions ...state.Definition) *state.Registry {
	tb.Helper()
	if definitions == nil {
		definitions = []state.Definition{total.Definition(), names.Definition(), seen.Definition(), plan.Definition(), note.Definition(), bomb.Definition()}
	}
	r, err := new(state.Registry).With(definitions...)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// commit commits the updates of one command and checks what holds for every
// commit: its patch, through its wire form, leads to the same snapshot.
func commit(t *testing.T, r *state.Registry, s state.Snapshot, b state.Batch) (state.Snapshot, state.Patch) {
	t.Helper()
	next, patch, err := r.Commit(s, b)
	if err != nil {
		t.Fatal(err)
	}
	folded := fold(t, s, next.Revision(), text(patch))
	if diff := cmp.Diff(values(next), values(folded)); diff != "" {
		t.Errorf("folding %s gives another state: %s", text(patch), diff)
	}
	return next, patch
}

func fold(t *testing.T, s state.Snapshot, revision uint64, patch string) state.Snapshot {
	t.Helper()
	f := s.Fold()
	if err := f.Apply(parse(t, patch), revision); err != nil {
		t.Fatal(err)
	}
	return f.Snapshot()
}

func parse(tb testing.TB, patch string) (p state.Patch) {
	tb.Helper()
	if err := json.Unmarshal([]byte(patch), &p); err != nil {
		tb.Fatal(err)
	}
	return p
}

// text returns the JSON of what always has one.
func text(v any) string {
	raw, err := core.EncodeJSON(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func update[V, U any](tb testing.TB, c *state.Command, k state.Key[V, U], u U) {
	tb.Helper()
	c.Append(k.Update(u))
	if c.Err != nil {
		tb.Fatal(c.Err)
	}
}

// given is a snapshot at a revision of values by path.
func given(tb testing.TB, revision uint64, values map[string]string) state.Snapshot {
	tb.Helper()
	all := map[state.KeyPath]json.RawMessage{}
	for path, value := range values {
		var p state.KeyPath
		if err := p.UnmarshalText([]byte(path)); err != nil {
			tb.Fatal(err)
		}
		all[p] = json.RawMessage(value)
	}
	return state.Snapshot{}.With(revision, all)
}

// values returns what a snapshot holds as text, by path.
func values(s state.Snapshot) map[string]string {
	all := map[string]string{}
	for _, path := range s.Paths() {
		raw, _ := s.Value(path)
		all[path.String()] = string(raw)
	}
	return all
}

func TestARegistryNamesTheKeyThatIsWrong(t *testing.T) {
	tests := []struct {
		name string
		keys []state.Definition
		want string
	}{
		{"no name", []state.Definition{total.Definition(), state.Key[int, int]{Apply: add}.Definition()}, "state key 1 has no name"},
		{"no text", []state.Definition{state.Key[int, int]{Name: "\xff", Apply: add}.Definition()}, `state key "\xff" is not UTF-8`},
		{"no Apply", []state.Definition{state.Key[int, int]{Name: "x"}.Definition()}, `state key "x" has no Apply`},
		{"twice", []state.Definition{total.Definition(), total.Definition()}, `state key "total" is registered twice`},
		{"unknown scope", []state.Definition{state.Key[int, int]{Name: "x", Scope: 9, Apply: add}.Definition()}, `state key "x" has scope 9, which does not exist`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := new(state.Registry).With(test.keys...)
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDefinitionDescribesItsKey(t *testing.T) {
	d := total.Definition()
	if d.Name() != "total" || d.Scope() != state.ScopeThread || !d.Commutative() {
		t.Errorf("got %q, %d, %t", d.Name(), d.Scope(), d.Commutative())
	}
}

func TestConflictIsAKeyInBothWhoseChangesDoNotMerge(t *testing.T) {
	batch := func(keys ...string) (b state.Batch) {
		for _, key := range keys {
			b.Mutations = append(b.Mutations, state.Mutation{Key: key, Update: json.RawMessage("1")})
		}
		return b
	}
	set, clear := state.Set(total, 5).Batch, total.Clear().Batch
	tests := []struct {
		name string
		a, b state.Batch
		want string
	}{
		{"nothing shared", batch("names"), batch("note"), ""},
		{"a commutative key", batch("total"), batch("total"), ""},
		{"a commutative key that is set", batch("total"), set, "total"},
		{"a commutative key that was set", set, batch("total"), "total"},
		{"a commutative key that is cleared", batch("total"), clear, "total"},
		{"a commutative key that was cleared", clear, batch("total"), "total"},
		{"a commutative key set by both", set, set, "total"},
		{"a commutative key set behind an update", state.Combine(total.Update(1), state.Set(total, 5)).Batch, batch("total"), "total"},
		{"another key set", set, batch("note"), ""},
		{"an exclusive key", batch("total", "names"), batch("names", "note"), "names"},
		{"a key of the call", batch("note", "names"), batch("names", "note"), "note"},
		{"an unknown key", batch("nobody"), batch("nobody"), "nobody"},
		{"empty", batch(), batch("names"), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if key, conflict := registry(t).Conflict(test.a, test.b); key != test.want || conflict != (key != "") {
				t.Errorf("%q, %v, want %q", key, conflict, test.want)
			}
		})
	}
}

func TestSnapshotsAreEqualByRevisionAndBytes(t *testing.T) {
	s := given(t, 1, map[string]string{"/thread/total": "1"})
	tests := []struct {
		name  string
		other state.Snapshot
		want  bool
	}{
		{"same", given(t, 1, map[string]string{"/thread/total": "1"}), true},
		{"bound", s.ForCall(2), true},
		{"another value", given(t, 1, map[string]string{"/thread/total": "2"}), false},
		{"another revision", given(t, 2, map[string]string{"/thread/total": "1"}), false},
		{"another key", given(t, 1, map[string]string{"/thread/names": "1"}), false},
		{"another scope", given(t, 1, map[string]string{"/run/total": "1"}), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if s.Equal(test.other) != test.want {
				t.Errorf("equal is %v", !test.want)
			}
		})
	}
}

func TestRestoreTakesWhatASnapshotHeld(t *testing.T) {
	s := given(t, 7, map[string]string{"/thread/a": `{ "b": 1, "a": 2 }`, "/run/b": "[]", "/call/1/c": `"x"`, "/call/0/c": "null", "/thread/damaged": `{"`})
	stored := map[state.KeyPath]json.RawMessage{}
	for _, path := range s.Paths() {
		stored[path], _ = s.Value(path)
	}
	again := state.Snapshot{}.With(7, stored)
	want := map[string]string{"/thread/a": `{"a":2,"b":1}`, "/run/b": "[]", "/call/1/c": `"x"`, "/call/0/c": "null", "/thread/damaged": `{"`}
	if diff := cmp.Diff(want, values(again)); diff != "" {
		t.Error(diff)
	}
	if !again.Equal(s) {
		t.Error("not equal")
	}
	if n := s.Size(); n != 355 {
		t.Errorf("size %d, want 355", n)
	}
}

func TestCommandAppendConcatenatesAndLeavesTheSourceAlone(t *testing.T) {
	var a, b state.Command
	update(t, &a, total, 1)
	update(t, &b, total, 2)
	b.Actions = []state.Action{{Phase: core.PhaseStepEnd, Key: "k"}}
	b.Effects = []state.Effect{{Key: "e"}}
	a.Append(b)
	a.Append(state.Command{})
	a.Batch.Mutations[1].Update = json.RawMessage("9")
	want := state.Command{
		Batch:   state.Batch{Mutations: []state.Mutation{{Key: "total", Update: json.RawMessage("1")}, {Key: "total", Update: json.RawMessage("9")}}},
		Actions: []state.Action{{Phase: core.PhaseStepEnd, Key: "k"}},
		Effects: []state.Effect{{Key: "e"}},
	}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Error(diff)
	}
	if string(b.Batch.Mutations[0].Update) != "2" {
		t.Error("the appended command changed")
	}
}

func TestCommandCheckNamesWhatCouldNotBeStored(t *testing.T) {
	bad := json.RawMessage(`{"a":`)
	tests := []struct {
		name    string
		command state.Command
		want    string
	}{
		{"nothing", state.Command{}, "<nil>"},
		{"payloads", state.Command{Batch: state.Batch{Mutations: []state.Mutation{{Key: "k", Update: json.RawMessage("1")}, {Key: "set", Value: json.RawMessage("1")}, {Key: "cleared"}}}, Effects: []state.Effect{{Key: "bare"}}}, "<nil>"},
		{"an update", state.Command{Batch: state.Batch{Mutations: []state.Mutation{{Key: "k", Update: bad}}}}, `update of state key "k" is not JSON`},
		{"a value", state.Command{Batch: state.Batch{Mutations: []state.Mutation{{Key: "k", Value: bad}}}}, `value of state key "k" is not JSON`},
		{"its own error before all others", state.Command{Err: errors.New("no value"), Batch: state.Batch{Mutations: []state.Mutation{{Key: "k", Update: bad}}}}, "no value"},
		{"an update that is no more than a bracket", state.Command{Batch: state.Batch{Mutations: []state.Mutation{{Key: "k", Update: bad[:1]}}}}, `update of state key "k" is not JSON`},
		{"an update and a value", state.Command{Batch: state.Batch{Mutations: []state.Mutation{{Key: "k", Update: json.RawMessage("1"), Value: json.RawMessage("2")}}}}, `state key "k" has both an update and a value`},
		{"an action", state.Command{Actions: []state.Action{{Key: "a", Payload: bad}}}, `payload of action "a" is not JSON`},
		{"an effect", state.Command{Effects: []state.Effect{{Key: "e", Payload: bad}}}, `payload of effect "e" is not JSON`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, fmt.Sprint(test.command.Check())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestARegistryWithMoreKeysLeavesTheFirstAsItIs(t *testing.T) {
	var told int
	first := registry(t, total.Definition()).Listen(func(state.Snapshot, state.Snapshot, state.Patch) { told++ }, nil)
	both, err := first.With(names.Definition())
	if err != nil {
		t.Fatal(err)
	}
	if !both.Has("total") || !both.Has("names") || first.Has("names") {
		t.Error("a registry has other keys than it was given")
	}
	if _, _, err := both.Commit(state.Snapshot{}, names.Update("a").Batch); err != nil || told != 1 {
		t.Errorf("told %d times, %v", told, err)
	}
	if _, err := both.With(total.Definition()); err == nil || err.Error() != `state key "total" is registered twice` {
		t.Errorf("got %v", err)
	}
}
