package state_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/state"
)

// TestStateEngine is what a commit does, fact by fact: from one state, by one batch.
func TestStateEngine(t *testing.T) {
	before := map[string]string{"/thread/total": "1", "/run/names": `["a"]`, "/thread/gone": `"of a plugin that is gone"`}
	other := state.Snapshot{}.With(3, nil)
	tests := []struct {
		name     string
		batch    state.Batch
		revision uint64
		changes  map[string]string // values that differ; "": none any more
		patch    string
		told     []string
		err      string
	}{
		{"an empty batch changes nothing and tells nobody", state.Batch{}, 4, nil, "null", nil, "<nil>"},
		{"an empty batch fits any revision", state.Batch{}.On(other), 4, nil, "null", nil, "<nil>"},
		{"an absent key starts from the zero value", seen.Update(map[string]*int{"x": pointer(2)}).Batch, 5,
			map[string]string{"/thread/seen": `{"x":2}`}, `[{"op":"add","path":"/thread/seen","value":{"x":2}}]`, []string{"4 to 5"}, "<nil>"},
		{"operations apply in order, and the revision rises once", state.Combine(total.Update(2), names.Update("b"), total.Update(3), total.Clear(), total.Update(7)).Batch, 5,
			map[string]string{"/thread/total": "7", "/run/names": `["a","b"]`},
			`[{"op":"replace","path":"/thread/total","value":7},{"op":"add","path":"/run/names/-","value":"b"}]`, []string{"4 to 5"}, "<nil>"},
		{"a clear removes the value", total.Clear().Batch, 5,
			map[string]string{"/thread/total": ""}, `[{"op":"remove","path":"/thread/total"}]`, []string{"4 to 5"}, "<nil>"},
		{"a batch for this revision", total.Update(1).Batch.On(state.Snapshot{}.With(4, nil)), 5,
			map[string]string{"/thread/total": "2"}, `[{"op":"replace","path":"/thread/total","value":2}]`, []string{"4 to 5"}, "<nil>"},
		{"a batch for another revision", total.Update(1).Batch.On(other), 0, nil, "null", nil,
			"committing state: the batch is for revision 3, the state is at revision 4"},
		{"one unknown key refuses all", state.Batch{Mutations: []state.Mutation{{Key: "total"}, {Key: "gone"}}}, 0, nil, "null", nil,
			`committing state: unknown state key "gone"`},
		{"a transient value leaves the revision", hint.Update("x").Batch, 4, nil, "null", []string{"4 to 4"}, "<nil>"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var told []string
			r := registry(t, total.Definition(), names.Definition(), seen.Definition(), hint.Definition()).Listen(func(before, after state.Snapshot, _ state.Patch) {
				told = append(told, fmt.Sprintf("%d to %d", before.Revision(), after.Revision()))
			}, nil)
			s := given(t, 4, before)
			after, patch, err := r.Commit(s, test.batch)
			if diff := cmp.Diff(test.err, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
			if after.Revision() != test.revision || text(patch) != test.patch {
				t.Errorf("revision %d, want %d; patch %s, want %s", after.Revision(), test.revision, text(patch), test.patch)
			}
			if diff := cmp.Diff(test.told, told); diff != "" {
				t.Error(diff)
			}
			want := map[string]string{}
			for path, value := range before {
				want[path] = value
			}
			if diff := cmp.Diff(want, values(s)); diff != "" {
				t.Errorf("the snapshot before it has changed: %s", diff)
			}
			if err != nil {
				return
			}
			for path, value := range test.changes {
				if want[path] = value; value == "" {
					delete(want, path)
				}
			}
			if diff := cmp.Diff(want, values(after)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestMergeStrategy is which two updates of hooks side by side go together.
func TestMergeStrategy(t *testing.T) {
	tests := []struct {
		name string
		a, b state.Command
		want string // the key over which they collide; empty: none
	}{
		{"two updates of a commutative key", total.Update(1), total.Update(2), ""},
		{"two updates of an exclusive key", names.Update("a"), names.Update("b"), "names"},
		{"a set of a commutative key and an update", state.Set(total, 1), total.Update(2), "total"},
		{"a clear of a commutative key and an update", total.Update(1), total.Clear(), "total"},
		{"two keys", names.Update("a"), total.Update(2), ""},
		{"a key that is not registered is exclusive", state.Counter("nobody", state.ScopeRun).Update(1), state.Counter("nobody", state.ScopeRun).Update(1), "nobody"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if key, conflict := registry(t).Conflict(test.a.Batch, test.b.Batch); key != test.want || conflict != (test.want != "") {
				t.Errorf("%q, %v, want %q", key, conflict, test.want)
			}
		})
	}
}
