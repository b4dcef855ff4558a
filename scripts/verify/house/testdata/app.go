// Package app is another than ours: an agent with two tools of its own.
package app

import (
	"context"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/tool"
)

// Parts returns what the deployment consists of.
func Parts(models map[string]agent.ModelBinding) (agent.Parts, error) {
	add := tool.New(tool.Spec{Name: "add", Description: "Adds two numbers."},
		func(_ context.Context, _ tool.Call, a struct{ A, B int }) (int, error) { return a.A + a.B, nil })
	negate := tool.New(tool.Spec{Name: "negate", Description: "Negates a number."},
		func(_ context.Context, _ tool.Call, a struct{ A int }) (int, error) { return -a.A, nil })
	id := "default" // or whatever package models has been made to bind
	for bound := range models {
		id = bound
	}
	return agent.Parts{
		Models: models, Tools: []tool.Tool{add, negate}, Default: "calculator",
		Specs: []agent.Spec{{ID: "calculator", Model: id, SystemPrompt: "You calculate."}},
	}, nil
}
