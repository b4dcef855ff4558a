package engine_test

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
)

// steps counts the steps of a run.
var steps = state.Key[int, int]{Name: "steps", Scope: state.ScopeRun, Commutative: true,
	Apply: func(count, more int) int { return count + more }}

// stepCounter is a plugin: one key and the hook that updates it.
type stepCounter struct{}

func (stepCounter) ID() string { return "step-counter" }

func (stepCounter) Register(r *plugin.Registrar) error {
	r.Key(steps)
	r.OnStepEnd(func(context.Context, plugin.StepEnd) (state.Command, error) { return steps.Update(1), nil })
	return nil
}

// An engine runs the hooks of the plugins that it is made of, phase by phase.
func Example() {
	e, err := engine.New([]plugin.Plugin{stepCounter{}}, engine.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var snapshot state.Snapshot
	for range 3 {
		end := engine.Moment{Context: plugin.Context{Phase: core.PhaseStepEnd, Snapshot: snapshot}}
		result, err := e.Phase(context.Background(), env.System(), end)
		if err != nil {
			fmt.Println(err)
			return
		}
		snapshot = result.Snapshot
	}
	fmt.Println(steps.Read(snapshot))
	// Output: 3 <nil>
}
