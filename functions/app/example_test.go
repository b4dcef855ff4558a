package app_test

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core/tool"
)

// A tool, as README.md shows it.
func Example() {
	weather, err := tool.Typed(tool.Spec{Name: "weather", Description: "Tells the weather of a city."},
		func(ctx context.Context, call tool.Call, a struct {
			City string `json:"city" jsonschema:"name of the city"`
		}) (tool.Result, error) {
			return tool.JSON(map[string]string{"city": a.City, "sky": "clear"})
		})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := tool.Execute(context.Background(), weather, tool.Call{Name: "weather", Arguments: []byte(`{"city":"Oslo"}`)})
	fmt.Println(result.Text(), err)
	// Output: {"city":"Oslo","sky":"clear"} <nil>
}
