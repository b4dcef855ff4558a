package state_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/state"
)

func TestReadyMadeKeysSayWhatTheyAre(t *testing.T) {
	tests := []struct {
		name string
		d    state.Definition
		want bool // commutative
	}{
		{"counter", state.Counter("counter", state.ScopeThread).Definition(), true},
		{"value", state.Value[string]("value", state.ScopeThread).Definition(), false},
		{"list", state.List[string]("list", state.ScopeThread).Definition(), true},
		{"map", state.Map[string]("map", state.ScopeThread).Definition(), true},
		{"document", state.Document[any]("document", state.ScopeThread).Definition(), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.d.Name() != test.name || test.d.Scope() != state.ScopeThread || test.d.Commutative() != test.want || test.d.Transient() || test.d.Retain() {
				t.Errorf("%s of scope %s is commutative: %t", test.d.Name(), test.d.Scope(), test.d.Commutative())
			}
			if _, err := new(state.Registry).With(test.d); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestUpdatesOfReadyMadeKeys(t *testing.T) {
	visits := state.Counter("visits", state.ScopeThread)
	draft := state.Value[[]string]("draft", state.ScopeRun)
	notes := state.List[string]("notes", state.ScopeRun)
	ages := state.Map[int]("ages", state.ScopeThread)
	tests := []struct {
		name    string
		command state.Command
		patch   string
	}{
		{"a counter", visits.Update(2), `[{"op":"replace","path":"/thread/visits","value":3}]`},
		{"a value", draft.Update([]string{"x"}), `[{"op":"replace","path":"/run/draft","value":["x"]}]`},
		{"a list", notes.Update("b"), `[{"op":"add","path":"/run/notes/-","value":"b"}]`},
		{"a new member", ages.Put("b", 2), `[{"op":"add","path":"/thread/ages/b","value":2}]`},
		{"a member that is there", ages.Put("a", 2), `[{"op":"replace","path":"/thread/ages/a","value":2}]`},
		{"a member that is the same", ages.Put("a", 1), `null`},
		{"members that go", ages.Delete("a", "z"), `[{"op":"remove","path":"/thread/ages/a"}]`},
	}
	r := registry(t, visits.Definition(), draft.Definition(), notes.Definition(), ages.Definition())
	before := given(t, 3, map[string]string{"/thread/visits": "1", "/run/draft": `["a"]`, "/run/notes": `["a"]`, "/thread/ages": `{"a":1}`})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, patch := commit(t, r, before, test.command.Batch)
			if diff := cmp.Diff(test.patch, text(patch)); diff != "" {
				t.Error(diff)
			}
		})
	}
	// A value that is null is an object to be: nothing can be added inside of it.
	s, patch := commit(t, r, given(t, 3, map[string]string{"/thread/ages": "null"}), ages.Put("a", 1).Batch)
	if diff := cmp.Diff(`[{"op":"replace","path":"/thread/ages","value":{"a":1}}]`, text(patch)); diff != "" || values(s)["/thread/ages"] != `{"a":1}` {
		t.Error(diff, values(s))
	}
	if age, ok, err := ages.Member(before, "a"); age != 1 || !ok || err != nil {
		t.Errorf("a is %d, %v, %v", age, ok, err)
	}
	if age, ok, err := ages.Member(before, "b"); age != 0 || ok || err != nil {
		t.Errorf("b is %d, %v, %v", age, ok, err)
	}
}

func TestAMapOfPointersRemovesByNull(t *testing.T) {
	k := state.Map[*int]("k", state.ScopeRun)
	s, _ := commit(t, registry(t, k.Definition()), given(t, 1, map[string]string{"/run/k": `{"a":1,"b":2}`}), k.Put("a", nil).Batch)
	if diff := cmp.Diff(map[string]string{"/run/k": `{"b":2}`}, values(s)); diff != "" {
		t.Error(diff)
	}
}
