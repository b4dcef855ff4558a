package state_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/state"
)

// What changes nothing copies nothing: most threads have no state, and most steps leave
// it as it is.
func TestWhatChangesNothingAllocatesNothing(t *testing.T) {
	all := func(state.KeyPath) bool { return true }
	moved := given(t, 1, map[string]string{"/run/k": `[1]`, "/thread/a": "1"}).Fold()
	if err := moved.Apply(parse(t, `[{"op":"add","path":"/run/k/-","value":2}]`), 2); err != nil {
		t.Fatal(err)
	}
	moved.Snapshot()
	still := given(t, 1, map[string]string{"/run/k": `[1]`, "/thread/a": "1"}).Fold()
	for name, f := range map[string]func(){
		"a new run of an empty state":           func() { state.Snapshot{}.BeginRun() },
		"a new step of an empty state":          func() { state.Snapshot{}.BeginStep() },
		"the document of an empty state":        func() { state.Snapshot{}.Document(all) },
		"a snapshot of a fold that did nothing": func() { still.Snapshot() },
		"a second snapshot of a fold":           func() { moved.Snapshot() },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations, want none", name, n)
		}
	}
}

// A fold pays for what its patches touch, not for what else there is.
func TestAFoldCostsAsMuchInALargeState(t *testing.T) {
	appended := func(size int) float64 {
		list := "[0"
		for i := range size {
			list += fmt.Sprintf(",%d", i)
		}
		s, p := given(t, 1, map[string]string{"/run/l": list + "]"}), parse(t, `[{"op":"add","path":"/run/l/-","value":1}]`)
		return testing.AllocsPerRun(20, func() {
			if err := s.Fold().Apply(p, 2); err != nil {
				t.Fatal(err)
			}
		})
	}
	set := func(size int) float64 {
		values := map[string]string{"/run/k": "1"}
		for i := range size {
			values[fmt.Sprintf("/run/k%d", i)] = "1"
		}
		f, p, revision := given(t, 1, values).Fold(), parse(t, `[{"op":"replace","path":"/run/k","value":2}]`), uint64(1)
		return testing.AllocsPerRun(20, func() { // the first one copies what a snapshot holds, and is not counted
			if revision++; f.Apply(p, revision) != nil {
				t.Fatal("it does not fit")
			}
		})
	}
	for name, allocations := range map[string]func(int) float64{"an append to a list": appended, "a value that is set": set} {
		if diff := cmp.Diff(allocations(1), allocations(1000)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
