package stop_test

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/runtime"
	"github.com/reveille-run/reveille/core/stop"
	"github.com/reveille-run/reveille/core/tool"
)

// A policy of a program's own, in a run: it is a function of what is stored of the run. It is asked
// about every turn, before the turn's calls run.
func Example() {
	noRush := stop.Func(func(v stop.View) *core.Termination {
		if n := len(v.Turn.ToolCalls); n > 1 {
			return stop.Stop("rush", fmt.Sprintf("%d calls at once in step %d", n, v.Step))
		}
		return nil
	})
	r, err := runtime.New(agent.Parts{
		Specs:  []agent.Spec{{ID: "a", Model: "m"}},
		Models: map[string]agent.ModelBinding{"m": {Model: scripted.New(env.System())}},
		Tools:  []tool.Tool{tool.New(tool.Spec{Name: "echo", Description: "Says a text back."}, func(context.Context, tool.Call, map[string]any) (string, error) { return "", nil })},
		Stops:  []stop.Policy{noRush},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := r.Run(context.Background(), "a", "parallel: one, two")
	fmt.Println(result.Termination.Type, result.Termination.Code, result.Termination.Detail, err)
	// Output: stopped rush 2 calls at once in step 1 <nil>
}
