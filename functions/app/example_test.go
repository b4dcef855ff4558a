package app_test

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core/reveille"
)

// A tool, as the guide to tools shows it.
func Example() {
	weather := reveille.NewTool(reveille.ToolSpec{Name: "weather", Description: "Tells the weather of a city.", ReadOnly: true},
		func(ctx context.Context, call reveille.Call, a struct {
			City string `json:"city" jsonschema:"name of the city"`
		}) (map[string]string, error) {
			return map[string]string{"city": a.City, "sky": "clear"}, nil
		})
	result, err := weather.Run(context.Background(), reveille.Call{Name: "weather", Arguments: []byte(`{"city":"Oslo"}`)})
	fmt.Println(result.Text(), err)
	// Output: {"city":"Oslo","sky":"clear"} <nil>
}
