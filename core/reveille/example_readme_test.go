package reveille_test

import (
	"context"
	"fmt"
	"log"

	"github.com/reveille-run/reveille/core/reveille"
	"github.com/reveille-run/reveille/core/reveille/reveilletest"
)

// Example_tool is an agent with one tool, in one process.
func Example_tool() {
	type place struct {
		City string `json:"city" jsonschema:"name of the city"`
	}
	weather := func(_ context.Context, _ reveille.Call, p place) (string, error) {
		return "sunny in " + p.City, nil
	}
	r, err := reveille.New(reveille.Parts{
		Specs:  []reveille.AgentSpec{{ID: "guide", Model: "m", SystemPrompt: "Be brief."}},
		Models: reveille.Models{"m": {Model: reveilletest.Rules()}}, // or a provider's model
		Tools:  []reveille.Tool{reveille.NewTool(reveille.ToolSpec{Name: "weather", ReadOnly: true}, weather)},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	result, err := r.Run(context.Background(), reveille.Input{Text: `call: weather {"city":"Oslo"}`})
	fmt.Println(result.Text, err)
	// Output: The result of weather: sunny in Oslo <nil>
}
