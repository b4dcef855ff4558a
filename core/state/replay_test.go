package state_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
)

func TestReplayStopsAtTheRevision(t *testing.T) {
	change := func(revision, from uint64, patch string) state.Change {
		return state.Change{Patch: parse(t, patch), Revision: revision, From: from}
	}
	newRun := change(6, 5, `[{"op":"add","path":"/run/b","value":6}]`)
	newRun.NewRun = true
	newStep := change(7, 0, `[{"op":"add","path":"/call/0/d","value":7}]`)
	newStep.NewStep = true
	log := []state.Change{
		change(3, 0, `[{"op":"add","path":"/run/a","value":3}]`),
		change(5, 3, `[{"op":"add","path":"/call/0/c","value":5},{"op":"add","path":"/thread/t","value":5}]`),
		{Revision: 5},
		newRun, newStep,
		change(8, 0, `[{"op":"remove","path":"/run/a"}]`),
	}
	tests := []struct {
		name     string
		log      []state.Change
		revision uint64
		want     map[string]string
		is       error
		err      string
		code     core.Code
	}{
		{"the start", log, 2, map[string]string{"/thread/s": "1"}, nil, "<nil>", ""},
		{"a change", log, 3, map[string]string{"/thread/s": "1", "/run/a": "3"}, nil, "<nil>", ""},
		{"the end of a run has not come", log, 5, map[string]string{"/thread/s": "1", "/run/a": "3", "/call/0/c": "5", "/thread/t": "5"}, nil, "<nil>", ""},
		{"a new run", log, 6, map[string]string{"/thread/s": "1", "/thread/t": "5", "/run/b": "6"}, nil, "<nil>", ""},
		{"a new step", log, 7, map[string]string{"/thread/s": "1", "/thread/t": "5", "/run/b": "6", "/call/0/d": "7"}, nil, "<nil>", ""},
		{"before the start", log, 1, nil, state.ErrUnknownRevision, "replaying state to revision 1: the revision is not known: the changes start at revision 2", core.CodeNotFound},
		{"inside a change", log, 4, nil, state.ErrUnknownRevision, "replaying state to revision 4: the revision is not known: a change leads from revision 3 to 5", core.CodeNotFound},
		{"in the future", log[:4], 9, nil, state.ErrFutureRevision, "replaying state to revision 9: the revision has not been reached: the last one is 6", core.CodeNotFound},
		{"a gap", append([]state.Change{log[0]}, log[3:]...), 6, nil, state.ErrGap, "replaying state to revision 6: the changes have a gap: revision 6 follows revision 3", core.CodeCorrupt},
		{"out of order", []state.Change{log[0], change(3, 0, `[{"op":"add","path":"/run/a","value":4}]`)}, 6, nil, state.ErrGap, "replaying state to revision 6: the changes have a gap: revision 3 follows revision 3", core.CodeCorrupt},
		{"a patch that does not fit", log, 8, nil, nil, `replaying state to revision 8: folding operation 0 of a state patch: remove at "/run/a": nothing is there`, core.CodeCorrupt},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := state.ReplayTo(given(t, 2, map[string]string{"/thread/s": "1"}), slices.Values(test.log), test.revision)
			if diff := cmp.Diff(test.err, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
			if err != nil {
				if test.is != nil && !errors.Is(err, test.is) || core.CodeOf(err) != test.code || !s.Equal(state.Snapshot{}) {
					t.Errorf("%v has code %s; values %v", err, core.CodeOf(err), values(s))
				}
				return
			}
			if diff := cmp.Diff(test.want, values(s)); diff != "" || s.Revision() != test.revision {
				t.Error(diff, s.Revision())
			}
		})
	}
}

func TestReplayAsksForNoMoreChangesThanItNeeds(t *testing.T) {
	asked := 0
	log := func(yield func(state.Change) bool) {
		for i := range uint64(5) {
			asked++
			if !yield(state.Change{Patch: parse(t, `[{"op":"add","path":"/run/a","value":1}]`), Revision: i + 1}) {
				return
			}
		}
	}
	if _, err := state.ReplayTo(state.Snapshot{}, log, 2); err != nil || asked != 2 {
		t.Errorf("%d changes were asked for, %v", asked, err)
	}
}
