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

func TestABatchForAnotherRevisionIsNotApplied(t *testing.T) {
	r := registry(t)
	before := given(t, 4, map[string]string{"/thread/total": "1"})
	batch := total.Update(1).Batch.On(before)
	after, _, err := r.Commit(before, batch)
	if err != nil || read(t, total, after) != 2 {
		t.Fatal(after, err)
	}
	s, patch, err := r.Commit(after, batch)
	var revision *stateerror.Revision
	if !errors.As(err, &revision) || *revision != (stateerror.Revision{Expected: 4, Actual: 5}) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff("committing state: the batch is for revision 4, the state is at revision 5", fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
	if core.CodeOf(err) != core.CodeConflict || !s.Equal(state.Snapshot{}) || patch != nil {
		t.Errorf("code %s, %v, %s", core.CodeOf(err), values(s), text(patch))
	}
	if diff := cmp.Diff(`{"mutations":[{"key":"total","update":1}],"base":4}`, text(batch)); diff != "" {
		t.Error(diff)
	}
	if s, _, err := r.Commit(after, state.Batch{}.On(before)); !s.Equal(after) || err != nil {
		t.Errorf("an empty batch for another revision: %v, %v", s.Revision(), err)
	}
}

func TestTouchedNamesEachKeyOnce(t *testing.T) {
	b := state.Combine(names.Update("a"), total.Update(1), names.Clear(), state.Set(total, 3)).Batch
	if diff := cmp.Diff([]string{"names", "total"}, b.Touched()); diff != "" {
		t.Error(diff)
	}
	if touched := (state.Batch{}).Touched(); touched != nil {
		t.Errorf("nothing touches %v", touched)
	}
}

func TestMergeNamesWhatDoesNotGoTogether(t *testing.T) {
	one, two := state.Snapshot{}.With(1, nil), state.Snapshot{}.With(2, nil)
	add, list, set := total.Update(1).Batch, names.Update("a").Batch, state.Set(total, 9).Batch
	tests := []struct {
		name    string
		batches []state.Batch
		want    string
		err     string
	}{
		{"nothing", nil, `{}`, "<nil>"},
		{"other keys", []state.Batch{add, list}, `{"mutations":[{"key":"total","update":1},{"key":"names","update":"a"}]}`, "<nil>"},
		{"a commutative key", []state.Batch{add, add}, `{"mutations":[{"key":"total","update":1},{"key":"total","update":1}]}`, "<nil>"},
		{"an exclusive key", []state.Batch{add, list, list}, `{}`, `merging batches: two batches change state key "names" in ways that do not merge`},
		{"a set of a commutative key", []state.Batch{add, set}, `{}`, `merging batches: two batches change state key "total" in ways that do not merge`},
		{"one base", []state.Batch{add, add.On(one), add.On(one), add}, `{"mutations":[{"key":"total","update":1},{"key":"total","update":1},{"key":"total","update":1},{"key":"total","update":1}],"base":1}`, "<nil>"},
		{"two bases", []state.Batch{add.On(one), list.On(two)}, `{}`, "merging batches: one batch is for revision 1 and another for revision 2"},
		{"an empty batch of another base", []state.Batch{add.On(one), state.Batch{}.On(two)}, `{"mutations":[{"key":"total","update":1}],"base":1}`, "<nil>"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := registry(t).Merge(test.batches...)
			if diff := cmp.Diff(test.err, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.want, text(got)); diff != "" {
				t.Error(diff)
			}
			if err != nil && core.CodeOf(err) != core.CodeConflict {
				t.Errorf("%v is no conflict", err)
			}
		})
	}
}

func TestACommandOfTwoBasesIsRefused(t *testing.T) {
	a, b := total.Update(1), total.Update(2)
	a.Batch, b.Batch = a.Batch.On(state.Snapshot{}.With(1, nil)), b.Batch.On(state.Snapshot{}.With(2, nil))
	if diff := cmp.Diff("one batch is for revision 1 and another for revision 2", fmt.Sprint(state.Combine(a, b).Check())); diff != "" {
		t.Error(diff)
	}
	if err := state.Combine(a, total.Update(3)).Check(); err != nil {
		t.Error(err)
	}
	empty := state.Command{Batch: state.Batch{}.On(state.Snapshot{}.With(1, nil))}
	if empty.Append(b); empty.Check() != nil || text(empty) != `{"batch":{"mutations":[{"key":"total","update":2}],"base":2}}` {
		t.Errorf("behind an empty batch it is %s, %v", text(empty), empty.Check())
	}
}

func TestMergedBatchesDoNotShareRoom(t *testing.T) {
	first := state.Combine(total.Update(1), total.Update(2)).Batch
	first.Mutations = first.Mutations[:1]
	if _, err := registry(t).Merge(first, total.Update(3).Batch); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("2", string(first.Mutations[:2][1].Update)); diff != "" {
		t.Error(diff)
	}
}

func TestListenersAreToldOfEveryCommitThatChangesSomething(t *testing.T) {
	var told []string
	silent := registry(t, total.Definition(), names.Definition(), hint.Definition())
	r := silent.Listen(func(before, after state.Snapshot, patch state.Patch) {
		told = append(told, fmt.Sprintf("%d to %d: %s, %d values", before.Revision(), after.Revision(), text(patch), len(after.Paths())))
	}, nil)
	s, _ := must(t, r, state.Snapshot{}, total.Update(1), total.Update(1))
	s, _ = must(t, r, s, names.Clear())
	s, _ = must(t, r, s, hint.Update("a"))
	must(t, r, s)
	must(t, silent, s, total.Update(1))
	if _, _, err := r.Commit(s, state.Batch{Mutations: []state.Mutation{{Key: "nobody"}}}); err == nil {
		t.Error("nobody is known")
	}
	want := []string{
		`0 to 1: [{"op":"add","path":"/thread/total","value":2}], 1 values`,
		`1 to 1: null, 1 values`,
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
}

func TestAListenersPanicIsContained(t *testing.T) {
	var panicked []error
	later := 0
	r := registry(t, total.Definition()).
		Listen(func(state.Snapshot, state.Snapshot, state.Patch) { panic("boom") }, func(err error) { panicked = append(panicked, err) }).
		Listen(func(state.Snapshot, state.Snapshot, state.Patch) { panic("nobody hears it") }, nil).
		Listen(func(state.Snapshot, state.Snapshot, state.Patch) { later++ }, nil)
	s, _ := must(t, r, state.Snapshot{}, total.Update(1))
	if read(t, total, s) != 1 || later != 1 || len(panicked) != 1 {
		t.Fatalf("total %d, %d told behind it, panics %v", read(t, total, s), later, panicked)
	}
	var panicError *env.PanicError
	if !errors.As(panicked[0], &panicError) || !strings.HasPrefix(panicked[0].Error(), "telling of a commit of state: panic: boom") {
		t.Errorf("got %v", panicked[0])
	}
}

// A bad update behind good ones leaves nothing of them, and a key that nobody has
// registered is known before any Apply runs.
func TestUnknownKeysAreKnownBeforeAnyApplyRuns(t *testing.T) {
	ran := false
	k := state.Key[int, int]{Name: "k", Apply: func(v, u int) int { ran = true; return v + u }}
	b := state.Batch{Mutations: []state.Mutation{{Key: "k", Update: json.RawMessage("1")}, {Key: "nobody"}}}
	_, _, err := registry(t, k.Definition()).Commit(state.Snapshot{}, b)
	if !errors.Is(err, stateerror.ErrUnknownKey) || ran {
		t.Errorf("got %v, Apply ran: %v", err, ran)
	}
}
