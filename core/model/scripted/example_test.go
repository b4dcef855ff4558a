package scripted_test

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/reveille"
)

// order is a tool of the agent that is tested.
func order(_ context.Context, _ reveille.Call, a struct {
	Dish string `json:"dish"`
}) (string, error) {
	return "one " + a.Dish + " is on its way", nil
}

// A test of an agent needs no model: "call: TOOL J" makes the scripted one call any of
// the agent's tools with the arguments J, so that tools, plugins and gates do what they
// would; then it says the result. In a test, the last line is the comparison.
func Example() {
	r, err := reveille.New(reveille.Parts{
		Specs:  []reveille.AgentSpec{{ID: "waiter", Model: "scripted"}},
		Models: reveille.Models{"scripted": {Model: scripted.Rules()}},
		Tools:  []reveille.Tool{reveille.NewTool(reveille.ToolSpec{Name: "order", Description: "Orders a dish."}, order)},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := r.Run(context.Background(), reveille.Input{Text: `call: order {"dish":"soup"}`})
	fmt.Println(result.Text == "The result of order: one soup is on its way", err)
	// Output: true <nil>
}

// What the rules cannot say, a test says turn by turn: any calls, side by side too.
func ExampleTurns() {
	type dish struct {
		Dish string `json:"dish"`
	}
	r, err := reveille.New(reveille.Parts{
		Specs: []reveille.AgentSpec{{ID: "waiter", Model: "scripted"}},
		Models: reveille.Models{"scripted": {Model: scripted.Turns(
			scripted.Turn{Calls: []core.ToolCall{scripted.Call("order", dish{"soup"}), scripted.Call("order", dish{"bread"})}},
			scripted.Turn{Text: "Both are on their way."},
		)}},
		Tools: []reveille.Tool{reveille.NewTool(reveille.ToolSpec{Name: "order", Description: "Orders a dish."}, order)},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := r.Run(context.Background(), reveille.Input{Text: "Soup and bread, please."})
	for _, m := range result.Messages {
		if m.Role == core.RoleTool {
			fmt.Println(m.Text())
		}
	}
	fmt.Println(result.Text, err)
	// Output:
	// "one soup is on its way"
	// "one bread is on its way"
	// Both are on their way. <nil>
}
