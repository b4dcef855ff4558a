package state_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/state"
)

// visible accepts everything but keys of the name "hidden" and of calls.
func visible(p state.KeyPath) bool { return p.Name != "hidden" && p.Scope != state.ScopeCall }

func TestDocumentHasTheAcceptedValuesOfThreadAndRun(t *testing.T) {
	at := func(scope state.Scope, name string) state.KeyPath { return state.KeyPath{Scope: scope, Name: name} }
	tests := []struct {
		name   string
		values map[state.KeyPath]json.RawMessage
		want   string
		empty  bool
	}{
		{"nothing", nil, `{"thread":{},"run":{}}`, true},
		{"only what is hidden", map[state.KeyPath]json.RawMessage{
			at(state.ScopeThread, "hidden"): []byte("1"), at(state.ScopeCall, "seen"): []byte("2"),
		}, `{"thread":{},"run":{}}`, true},
		{"one", map[state.KeyPath]json.RawMessage{at(state.ScopeRun, "n"): []byte("7")}, `{"thread":{},"run":{"n":7}}`, false},
		{"both", map[state.KeyPath]json.RawMessage{
			at(state.ScopeThread, "b"): []byte(`{"x":[1]}`), at(state.ScopeThread, `a"/`): []byte("true"),
			at(state.ScopeRun, "n"): []byte("7"), at(state.ScopeRun, "hidden"): []byte("8"),
		}, `{"thread":{"a\"/":true,"b":{"x":[1]}},"run":{"n":7}}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, empty := state.Snapshot{}.With(3, tt.values).Document(visible)
			if string(got) != tt.want || empty != tt.empty {
				t.Errorf("%s, empty %t; want %s, %t", got, empty, tt.want, tt.empty)
			}
		})
	}
}

func TestOnlyKeepsTheOperationsOnAcceptedKeys(t *testing.T) {
	add := func(path string) state.Operation {
		return state.Operation{Op: "add", Path: path, Value: []byte("1")}
	}
	patch := state.Patch{add("/thread/a"), add("/run/hidden/x"), add("/call/0/a"), add("/run/b/0"), add("nonsense")}
	want := state.Patch{add("/thread/a"), add("/run/b/0")}
	if diff := cmp.Diff(want, patch.Only(visible)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(patch) != 5 || patch[1].Path != "/run/hidden/x" {
		t.Errorf("the patch itself has changed: %v", patch)
	}
	if got := want.Only(visible); len(got) != 2 || &got[0] != &want[0] {
		t.Errorf("a patch of which everything is accepted became another: %v", got)
	}
}

// Keys of calls are in no document, whatever is accepted.
func TestTheSizeOfADocumentIsAboutItsBytes(t *testing.T) {
	all := func(state.KeyPath) bool { return true }
	none := func(state.KeyPath) bool { return false }
	values := map[state.KeyPath]json.RawMessage{
		{Scope: state.ScopeThread, Name: "b"}:    []byte(`{"x":[1]}`),
		{Scope: state.ScopeRun, Name: "long"}:    []byte("7"),
		{Scope: state.ScopeCall, Name: "hidden"}: []byte(`"not shown"`),
	}
	s := state.Snapshot{}.With(3, values)
	for _, tt := range []struct {
		name string
		keep func(state.KeyPath) bool
		want int
	}{{"all", all, 45}, {"none", none, 22}} {
		if got := s.DocumentSize(tt.keep); got != tt.want {
			t.Errorf("%s: %d bytes, want %d", tt.name, got, tt.want)
		}
	}
}
