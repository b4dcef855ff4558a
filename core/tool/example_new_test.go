package tool_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/reveille-run/reveille/core/tool"
)

// The first tool: a name, a description, and a function whose argument type is what the
// model is told of its parameters.
func ExampleNew() {
	type where struct {
		City string `json:"city" jsonschema:"name of the city"`
	}
	type sky struct {
		Sky     string `json:"sky"`
		Degrees int    `json:"degrees"`
	}
	weather := tool.New(tool.Spec{Name: "weather", Description: "Tells the weather of a city."}, func(_ context.Context, _ tool.Call, w where) (sky, error) {
		return sky{"clear over " + w.City, 21}, nil
	})

	call := tool.Call{Name: "weather", Arguments: json.RawMessage(`{"city":"Oslo"}`)} // as a model makes it
	result, err := weather.Run(context.Background(), call)
	fmt.Println(result.Text(), err)
	// Output: {"sky":"clear over Oslo","degrees":21} <nil>
}

// A tool that returns an image: models that accept images see it.
func ExampleResult_WithFile() {
	type of struct {
		Month string `json:"month"`
	}
	chart := tool.New(tool.Spec{Name: "chart", Description: "Draws the sales of a month."}, func(_ context.Context, _ tool.Call, o of) (tool.Result, error) {
		png := []byte("\x89PNG...") // of your drawing library
		return tool.NewResult("The sales of "+o.Month+".").WithFile("image/png", png), nil
	})

	result, err := chart.Run(context.Background(), tool.Call{Name: "chart", Arguments: json.RawMessage(`{"month":"May"}`)})
	fmt.Println(result.Text(), result.Content[0].MediaType, err)
	// Output: "The sales of May." image/png <nil>
}
