package state_test

import (
	"fmt"

	"github.com/reveille-run/reveille/core/state"
)

// A key counts something for as long as the thread lives. What is stored is the
// patch: values, which read the same whatever becomes of Apply.
func Example() {
	visits := state.Key[int, int]{
		Name: "visits", Scope: state.ScopeThread, Commutative: true,
		Apply: func(count, more int) int { return count + more },
	}
	registry, err := new(state.Registry).With(visits.Definition())
	if err != nil {
		fmt.Println(err)
		return
	}

	var before state.Snapshot
	after, patch, err := registry.Commit(before, visits.Update(2).Batch)
	if err != nil {
		fmt.Println(err)
		return
	}

	count, err := visits.Read(after)
	fmt.Println(count, err, "at revision", after.Revision())
	fmt.Println(patch[0].Op, patch[0].Path, string(patch[0].Value))
	// Output:
	// 2 <nil> at revision 1
	// add /thread/visits 2
}
