package state_test

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core/state"
)

// Agents share what outlives their threads. A hook or a tool finds its tenant's
// profiles in what it is given; a test makes some in memory.
func ExampleProfileKey() {
	budget := state.ProfileKey[int]{Name: "budget"}
	ctx, profiles := context.Background(), &state.MemoryProfiles{}

	if err := budget.Write(ctx, profiles, state.AgentType("planner"), 100); err != nil {
		fmt.Println(err)
		return
	}
	left, err := budget.Update(ctx, profiles, state.AgentType("planner"), func(left int) (int, error) {
		if left < 30 {
			return 0, fmt.Errorf("only %d are left", left)
		}
		return left - 30, nil
	})
	fmt.Println(left, err)

	nobody, err := budget.Read(ctx, profiles, state.Global) // another key, another value
	fmt.Println(nobody, err)
	// Output:
	// 70 <nil>
	// 0 <nil>
}
