package reveille_test

import (
	"context"
	"fmt"
	"log"

	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/reveille"
)

type place struct {
	City string `json:"city" jsonschema:"name of the city"`
}

func weather(_ context.Context, _ reveille.Call, p place) (string, error) {
	return "sunny in " + p.City, nil
}

func people(_ context.Context, _ reveille.Call, p place) (int, error) {
	return len(p.City) * 100_000, nil
}

// budget ends a run whose model has said too much.
func budget(v reveille.StopView) *reveille.Termination {
	if v.Usage.Output < 1000 {
		return nil
	}
	return reveille.Stop("budget", "1000 tokens are enough")
}

func Example_agent() {
	r, err := reveille.New(reveille.Parts{
		Specs:  []reveille.AgentSpec{{ID: "guide", Model: "m", SystemPrompt: "You know every city."}},
		Models: reveille.Models{"m": {Model: scripted.Rules()}},
		Tools: []reveille.Tool{
			reveille.NewTool(reveille.ToolSpec{Name: "weather", Description: "Tells the weather.", ReadOnly: true}, weather),
			reveille.NewTool(reveille.ToolSpec{Name: "people", Description: "Counts people.", ReadOnly: true}, people),
		},
		Stops: []reveille.StopPolicy{reveille.StopFunc(budget)},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	result, err := r.Run(context.Background(), reveille.Input{Text: `call: weather {"city":"Oslo"}`})
	fmt.Println(result.Text, "/", result.Termination.Type, err)
	// Output: The result of weather: sunny in Oslo / natural_end <nil>
}
