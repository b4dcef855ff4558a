package state_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/state"
)

func add(v, n int) int                           { return v + n }
func push(v []string, s string) []string         { return append(v, s) }
func replace(_ *string, s *string) *string       { return s }
func explode(map[string]int, int) map[string]int { panic("boom") }

var (
	total = state.Key[int, int]{Name: "total", Scope: state.ScopeThread, Merge: state.Commutative, Apply: add}
	names = state.Key[[]string, string]{Name: "names", Scope: state.ScopeRun, Apply: push}
	note  = state.Key[*string, *string]{Name: "note", Scope: state.ScopeCall, Apply: replace}
	bomb  = state.Key[map[string]int, int]{Name: "bomb", Apply: explode}
)

func registry(t *testing.T) *state.Registry {
	t.Helper()
	r, err := state.NewRegistry(total.Definition(), names.Definition(), note.Definition(), bomb.Definition())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func commit(t *testing.T, r *state.Registry, s state.Snapshot, b state.Batch) state.Snapshot {
	t.Helper()
	next, err := r.Commit(s, b)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func update[V, U any](t *testing.T, c *state.Command, k state.Key[V, U], u U) {
	t.Helper()
	if err := k.Update(c, u); err != nil {
		t.Fatal(err)
	}
}

// values returns what a snapshot holds as text.
func values(s state.Snapshot) map[string]string {
	all := map[string]string{}
	for _, key := range s.Keys() {
		raw, _ := s.Raw(key)
		all[key] = string(raw)
	}
	return all
}

func TestCommitAppliesInOrderAndRaisesTheRevisionOnce(t *testing.T) {
	r := registry(t)
	var c state.Command
	update(t, &c, total, 2)
	update(t, &c, names, "a")
	update(t, &c, names, "b")
	update(t, &c, total, 3)
	s := commit(t, r, state.Snapshot{}, c.Batch)
	if s.Revision() != 1 {
		t.Errorf("revision %d, want 1", s.Revision())
	}
	if diff := cmp.Diff(map[string]string{"total": "5", "names": `["a","b"]`}, values(s)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"names", "total"}, s.Keys()); diff != "" {
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

func TestClearRemovesTheValueAndALaterUpdateStartsFromZero(t *testing.T) {
	r := registry(t)
	var first, second state.Command
	update(t, &first, total, 2)
	total.Clear(&second)
	s := commit(t, r, commit(t, r, state.Snapshot{}, first.Batch), second.Batch)
	if _, ok := s.Raw("total"); ok || s.Revision() != 2 {
		t.Errorf("total is there: %v, revision %d, want absent at 2", ok, s.Revision())
	}
	if n, err := total.Read(s); n != 0 || err != nil {
		t.Errorf("total reads %d, %v, want 0", n, err)
	}
	update(t, &second, total, 7)
	if n, _ := total.Read(commit(t, r, s, second.Batch)); n != 7 {
		t.Errorf("total reads %d, want 7", n)
	}
}

func TestUpdateToNullSurvivesItsWireForm(t *testing.T) {
	var c, decoded state.Command
	update(t, &c, note, nil)
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"batch":{"mutations":[{"key":"note","update":null}]}}`, string(raw)); diff != "" {
		t.Error(diff)
	}
	if err := json.Unmarshal(raw, &decoded); err != nil {
		t.Fatal(err)
	}
	s := commit(t, registry(t), state.Snapshot{}, decoded.Batch)
	if diff := cmp.Diff(map[string]string{"note": "null"}, values(s)); diff != "" {
		t.Error(diff)
	}
}

func TestEarlierSnapshotsNeverChange(t *testing.T) {
	r := registry(t)
	var c state.Command
	update(t, &c, names, "a")
	first := commit(t, r, state.Snapshot{}, c.Batch)
	second := commit(t, r, first, c.Batch)
	names.Clear(&c)
	commit(t, r, second, c.Batch)
	if diff := cmp.Diff(map[string]string{"names": `["a"]`}, values(first)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"names": `["a","a"]`}, values(second)); diff != "" {
		t.Error(diff)
	}
}

func TestCommitRefuses(t *testing.T) {
	tests := []struct {
		name      string
		mutations []state.Mutation
		want      string
		is        error
	}{
		{"a key that is not registered", []state.Mutation{{Key: "total", Update: json.RawMessage("1")}, {Key: "nobody"}}, `committing state: unknown state key "nobody"`, state.ErrUnknownKey},
		{"an update of another type", []state.Mutation{{Key: "total", Update: json.RawMessage(`"x"`)}}, `committing state: decoding the update of state key "total": json: cannot unmarshal string into Go value of type int`, &core.Error{Code: core.CodeCorrupt}},
		{"a panic of Apply", []state.Mutation{{Key: "bomb", Update: json.RawMessage("1")}}, `committing state: applying an update of state key "bomb": panic: boom`, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := registry(t).Commit(state.Restore(4, map[string]json.RawMessage{"total": json.RawMessage("1")}), state.Batch{Mutations: test.mutations})
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Error(diff)
			}
			if test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("%v is not %v", err, test.is)
			}
			if !s.Equal(state.Snapshot{}) {
				t.Errorf("snapshot %v, want the zero one", values(s))
			}
		})
	}
	var panicked *env.PanicError
	_, err := registry(t).Commit(state.Snapshot{}, state.Batch{Mutations: tests[2].mutations})
	if !errors.As(err, &panicked) {
		t.Errorf("%v is not a PanicError", err)
	}
}

func TestEmptyBatchKeepsTheRevision(t *testing.T) {
	s, err := registry(t).Commit(state.Restore(4, nil), state.Batch{})
	if err != nil || s.Revision() != 4 {
		t.Errorf("revision %d, %v, want 4", s.Revision(), err)
	}
}

func TestReplaySkipsKeysThatTheCodeLost(t *testing.T) {
	s, err := registry(t).Replay(state.Snapshot{}, state.Batch{Mutations: []state.Mutation{
		{Key: "lost", Update: json.RawMessage("1")},
		{Key: "total", Update: json.RawMessage("1")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"total": "1"}, values(s)); diff != "" {
		t.Error(diff)
	}
	if s.Revision() != 1 {
		t.Errorf("revision %d, want 1", s.Revision())
	}
}

func TestReadReportsAValueThatDoesNotDecode(t *testing.T) {
	_, err := total.Read(state.Restore(1, map[string]json.RawMessage{"total": json.RawMessage(`"x"`)}))
	if core.CodeOf(err) != core.CodeCorrupt {
		t.Errorf("%v has code %q, want corrupt", err, core.CodeOf(err))
	}
}

func TestScopesEndWithTheirRunAndStep(t *testing.T) {
	s := state.Restore(3, map[string]json.RawMessage{
		"total": json.RawMessage("1"), "names": json.RawMessage("[]"), "note": json.RawMessage(`"n"`), "other": json.RawMessage("1"),
	})
	r := registry(t)
	tests := []struct {
		name string
		got  state.Snapshot
		want []string
	}{
		{"a run keeps the thread's values and those of unknown keys", r.BeginRun(s), []string{"other", "total"}},
		{"a step keeps the run's values", r.BeginStep(s), []string{"names", "other", "total"}},
		{"the original stays", s, []string{"names", "note", "other", "total"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.got.Keys()); diff != "" {
				t.Error(diff)
			}
			if test.got.Revision() != 3 {
				t.Errorf("revision %d, want 3", test.got.Revision())
			}
		})
	}
}

func TestConflictIsAnExclusiveKeyInBoth(t *testing.T) {
	batch := func(keys ...string) (b state.Batch) {
		for _, key := range keys {
			b.Mutations = append(b.Mutations, state.Mutation{Key: key})
		}
		return b
	}
	tests := []struct {
		name     string
		a, b     state.Batch
		key      string
		conflict bool
	}{
		{"nothing shared", batch("names"), batch("note"), "", false},
		{"a commutative key", batch("total"), batch("total"), "", false},
		{"an exclusive key", batch("total", "note", "names"), batch("names", "note"), "note", true},
		{"an unknown key", batch("nobody"), batch("nobody"), "nobody", true},
		{"empty", batch(), batch("names"), "", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			key, conflict := registry(t).Conflict(test.a, test.b)
			if key != test.key || conflict != test.conflict {
				t.Errorf("%q, %v, want %q, %v", key, conflict, test.key, test.conflict)
			}
		})
	}
}

func TestNewRegistryNamesTheKeyThatIsWrong(t *testing.T) {
	tests := []struct {
		name string
		keys []state.Definition
		want string
	}{
		{"no name", []state.Definition{total.Definition(), state.Key[int, int]{Apply: add}.Definition()}, "state key 1 has no name"},
		{"no Apply", []state.Definition{state.Key[int, int]{Name: "x"}.Definition()}, `state key "x" has no Apply`},
		{"twice", []state.Definition{total.Definition(), total.Definition()}, `state key "total" is registered twice`},
		{"unknown scope", []state.Definition{state.Key[int, int]{Name: "x", Scope: 9, Apply: add}.Definition()}, `state key "x" has scope 9 and merge 0, which do not exist`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := state.NewRegistry(test.keys...)
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDefinitionDescribesItsKey(t *testing.T) {
	d := total.Definition()
	if d.Name() != "total" || d.Scope() != state.ScopeThread || d.Merge() != state.Commutative {
		t.Errorf("got %q, %d, %d", d.Name(), d.Scope(), d.Merge())
	}
}

func TestUpdateReportsWhatJSONCannotExpress(t *testing.T) {
	k := state.Key[int, func()]{Name: "f"}
	var c state.Command
	err := k.Update(&c, func() {})
	if diff := cmp.Diff(`encoding an update of state key "f": json: unsupported type: func()`, fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
	if !c.IsZero() {
		t.Error("the command changed")
	}
}

func TestAppendConcatenatesAndLeavesTheSourceAlone(t *testing.T) {
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

func TestSnapshotsAreEqualByRevisionAndBytes(t *testing.T) {
	one := func(text string) map[string]json.RawMessage {
		return map[string]json.RawMessage{"total": json.RawMessage(text)}
	}
	s := state.Restore(1, one("1"))
	tests := []struct {
		name  string
		other state.Snapshot
		want  bool
	}{
		{"same", state.Restore(1, one("1")), true},
		{"another value", state.Restore(1, one("2")), false},
		{"another revision", s.At(2), false},
		{"another key", state.Restore(1, map[string]json.RawMessage{"names": json.RawMessage("1")}), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if s.Equal(test.other) != test.want {
				t.Errorf("equal is %v", !test.want)
			}
		})
	}
}
