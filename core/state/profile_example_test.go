package state_test

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
)

// Agents share what outlives their threads. A hook or a tool finds its tenant's
// profiles in what it is given; a test makes some in memory.
func ExampleProfileKey() {
	planner := state.Shared{Agent: "planner"}.Key()
	budget := state.ProfileKey[int]{Name: "budget"}
	ctx, profiles := context.Background(), store.ProfilesOf(memory.New(), "acme")

	if err := budget.Write(ctx, profiles, planner, 100); err != nil {
		fmt.Println(err)
		return
	}
	left, err := budget.Update(ctx, profiles, planner, func(left int) (int, error) {
		if left < 30 {
			return 0, fmt.Errorf("only %d are left", left)
		}
		return left - 30, nil
	})
	fmt.Println(left, err)

	nobody, err := budget.Read(ctx, profiles, state.Shared{}.Key()) // another key, another value
	fmt.Println(nobody, err)
	// Output:
	// 70 <nil>
	// 0 <nil>
}
