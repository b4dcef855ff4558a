// Package app is the place to edit: the agents of this deployment, their tools
// and plugins. Everything else finds them through [Parts].
package app

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/tool"
)

// DefaultAgent answers requests that name no agent.
const DefaultAgent = "demo"

// DemoModel is the id of the demo agent's model; package models binds it.
const DemoModel = "demo-model"

// Parts returns what the deployment consists of. models are bound by id: see
// package models.
func Parts(models map[string]agent.ModelBinding) (agent.Parts, error) {
	echo, err := Echo()
	if err != nil {
		return agent.Parts{}, fmt.Errorf("tool echo: %w", err)
	}
	danger, err := Danger()
	if err != nil {
		return agent.Parts{}, fmt.Errorf("tool danger: %w", err)
	}
	ask, err := AskUser()
	if err != nil {
		return agent.Parts{}, fmt.Errorf("tool ask_user: %w", err)
	}
	return agent.Parts{
		Models:  models,
		Tools:   []tool.Tool{echo, danger, ask},
		Plugins: []plugin.Plugin{Confirm{Tools: []string{"danger"}}},
		Specs: []agent.Spec{{
			ID:          DefaultAgent,
			Description: "Shows what the runtime does: echo: X, parallel: A, B, think: X, slow: N, approve: X, ask: X, call: TOOL {...}, fail.",
			SystemPrompt: "You are a friendly demo assistant. Use the tool echo when you are asked to echo something, " +
				"danger when you are asked to do something risky, and ask_user when you need to know something from the user.",
			Model:   DemoModel,
			Plugins: []string{"confirm"},
		}},
	}, nil
}

// Echo returns the tool echo, which answers what it is given.
func Echo() (tool.Tool, error) {
	type arguments struct {
		Text string `json:"text" jsonschema:"what to say back"`
	}
	type answer struct {
		Text string `json:"text"`
	}
	return tool.Typed(tool.Spec{Name: "echo", Description: "Says a text back."},
		func(_ context.Context, _ tool.Call, a arguments) (tool.Result, error) {
			return tool.JSON(answer(a))
		})
}
