package tool_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/reveille-run/reveille/core/tool"
)

// A tool is a function of its arguments. What the model gets wrong comes back
// to it as a result that it can mend.
func Example() {
	type roll struct {
		Sides int `json:"sides" jsonschema:"sides of the die"`
	}
	dice, err := tool.Typed(tool.Spec{Name: "roll", Description: "Rolls a die."},
		func(_ context.Context, _ tool.Call, args roll) (tool.Result, error) {
			return tool.JSON(map[string]int{"sides": args.Sides, "rolled": 4})
		})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(dice.Spec().Parameters))

	for _, arguments := range []string{`{"sides":6}`, `{"side":6}`} {
		call := tool.Call{ID: "call_1", Name: "roll", Arguments: json.RawMessage(arguments)}
		result, err := tool.Execute(context.Background(), dice, call)
		fmt.Println(result.Text(), err)
	}
	// Output:
	// {"type":"object","properties":{"sides":{"type":"integer","description":"sides of the die"}},"required":["sides"],"additionalProperties":false}
	// {"rolled":4,"sides":6} <nil>
	// invalid arguments: property "sides" is missing <nil>
}
