package runtime_test

import (
	"context"
	"fmt"
	"log"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/runtime"
	"github.com/reveille-run/reveille/core/stop"
	"github.com/reveille-run/reveille/core/tool"
)

type place struct {
	City string `json:"city" jsonschema:"name of the city"`
}

func weather(_ context.Context, _ tool.Call, p place) (string, error) {
	return "sunny in " + p.City, nil
}

func people(_ context.Context, _ tool.Call, p place) (int, error) { return len(p.City) * 100_000, nil }

// budget ends a run whose model has said too much.
func budget(v stop.View) *core.Termination {
	if v.Usage.Output < 1000 {
		return nil
	}
	return stop.Stop("budget", "1000 tokens are enough")
}

func Example_agent() {
	r, err := runtime.New(agent.Parts{
		Specs:  []agent.Spec{{ID: "guide", Model: "scripted", SystemPrompt: "You know every city."}},
		Models: map[string]agent.ModelBinding{"scripted": {Model: scripted.New(env.System())}},
		Tools: []tool.Tool{
			tool.New(tool.Spec{Name: "weather", Description: "Tells the weather."}, weather),
			tool.New(tool.Spec{Name: "people", Description: "Counts people."}, people),
		},
		Stops: []stop.Policy{stop.Func(budget)},
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := r.Run(context.Background(), "guide", `call: weather {"city":"Oslo"}`)
	fmt.Println(result.Text, "/", result.Termination.Type, err)
	// Output: The result of weather: sunny in Oslo / natural_end <nil>
}
