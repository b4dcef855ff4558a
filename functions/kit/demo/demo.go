// Package demo has the agents of a fresh copy of this repository: the demo agent and a team.
// They show the features of the runtime, and the tests of the hosts and scripts use them. Put
// your agents into package app, which starts with these.
package demo

import (
	"context"
	"encoding/json"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/plugins/delegate"
	"github.com/reveille-run/reveille/core/plugins/permission"
	"github.com/reveille-run/reveille/core/tool"
)

// ID is the id of the agent.
const ID = "demo"

// Model is the id of the model that the agent uses, as package app/models binds it.
const Model = "default"

// Parts returns the demo agent with its tools echo, danger, ask_user and set_state, and the
// plugin that makes danger wait for an approval. The demo agent is the default agent. The
// other agents are a coordinator and its delegates, a researcher and a buyer.
func Parts(models map[string]agent.ModelBinding) (agent.Parts, error) {
	return agent.Parts{
		Models:  models,
		Tools:   []tool.Tool{echo(), danger(), askUser(), setState()},
		Plugins: []plugin.Plugin{permission.Plugin{}, delegate.Plugin{}},
		Specs: append([]agent.Spec{{
			ID:          ID,
			Description: "Shows what the runtime does: echo: X, parallel: A, B, think: X, slow: N, approve: X, ask: X, state: {...}, call: TOOL {...}, fail, help.",
			SystemPrompt: "You are a friendly demo assistant. Use the tool echo when you are asked to echo something, " +
				"danger when you are asked to do something risky, ask_user when you need to know something from the user, " +
				"and set_state to change the state that you share with the user's application.",
			Model:   Model,
			Plugins: []string{permission.ID},
			// MCP clients can call it without a model.
			ExposedTools: []string{"echo"},
			Sections:     rules(),
		}}, team()...),
		Default: ID,
	}, nil
}

// rules returns the settings by which danger waits for a person, and every other tool runs.
func rules() map[string]json.RawMessage {
	return plugin.Sections(permission.Section.Setting(permission.Config{
		DefaultBehavior: permission.Allow, Rules: []permission.Rule{{Tool: "danger", Behavior: permission.Ask}},
	}))
}

// echo returns the tool echo, which returns its argument.
func echo() tool.Tool {
	type arguments struct {
		Text string `json:"text" jsonschema:"what to say back"`
	}
	type reply struct {
		Text string `json:"text"`
	}
	return tool.New(tool.Spec{Name: "echo", Description: "Says a text back.", ReadOnly: true},
		func(_ context.Context, _ tool.Call, a arguments) (reply, error) { return reply(a), nil })
}
