package lattice_test

import (
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/state/lattice"
)

// Two hooks add and remove side by side. Neither sees what the other does, and none of
// them runs again.
func Example() {
	watched := lattice.Key[lattice.ORSet[string]]("watched", state.ScopeThread)
	registry, err := new(state.Registry).With(watched.Definition())
	if err != nil {
		fmt.Println(err)
		return
	}
	first, second := core.ID{1}, core.ID{2} // in a hook: its context's NewID("watch")

	start, _, err := registry.Commit(state.Snapshot{}, watched.Update(lattice.ORSet[string]{}.Adding(first, "prices")).Batch)
	if err != nil {
		fmt.Println(err)
		return
	}
	seen, err := watched.Read(start)
	if err != nil {
		fmt.Println(err)
		return
	}
	both, err := registry.Merge(
		watched.Update(seen.Removing("prices")).Batch,
		watched.Update(lattice.ORSet[string]{}.Adding(second, "prices", "news")).Batch,
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	after, _, err := registry.Commit(start, both)
	if err != nil {
		fmt.Println(err)
		return
	}
	now, err := watched.Read(after)
	fmt.Println(now.Elements(), err)
	// Output:
	// [news prices] <nil>
}

func ExampleGCounter() {
	var calls lattice.GCounter
	calls = calls.Merge(lattice.GCounter{}.Add("call 1", 3))
	calls = calls.Merge(lattice.GCounter{}.Add("call 2", 4))
	calls = calls.Merge(lattice.GCounter{}.Add("call 1", 3)) // arrives twice
	fmt.Println(calls.Value())
	// Output: 7
}
