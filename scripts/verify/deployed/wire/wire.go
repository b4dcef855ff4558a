// Package wire binds the demo agent's model to the provider that the settings
// name, for functions that call their model over HTTP, as deployed functions do.
package wire

import (
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/plugins/timer"
	"github.com/reveille-run/reveille/functions/kit/demo"
	"github.com/reveille-run/reveille/functions/kit/providers"
	"github.com/reveille-run/reveille/functions/kit/settings"
	"github.com/reveille-run/reveille/functions/kit/wiring"
)

// Bind returns the provider under the model id of the demo agent.
func Bind(e *env.Env, s settings.Settings) (wiring.Bound, error) {
	bound, err := providers.Bind(e, s)
	return wiring.Bound{Models: map[string]agent.ModelBinding{demo.Model: bound}}, err
}

// Sleeper is the id of an agent whose only tool is wait_until.
const Sleeper = "sleeper"

// Delegator is the id of an agent whose only tool runs the agent [Helper], which has no tools.
const (
	Delegator = "delegator"
	Helper    = "helper"
)

// Parts returns the demo agent, [Sleeper], [Delegator] and [Helper]. The demo agent waits for an overloaded provider less
// than in a deployment: 200 ms before the second call, so that a test of an outage takes seconds.
// And its window has 400,000 tokens, so that a conversation of 200,000 is shown whole.
func Parts(models map[string]agent.ModelBinding) (agent.Parts, error) {
	parts, err := demo.Parts(models)
	if err == nil {
		parts.Specs[0].Context = &agent.ContextWindowPolicy{MaxContextTokens: 400_000}
		parts.Specs[0].Retry.OverloadedBackoffBaseMS = new(200)
		parts.Plugins = append(parts.Plugins, plugin.Plugin(timer.Plugin{}))
		parts.Specs = append(parts.Specs,
			agent.Spec{ID: Sleeper, Model: demo.Model, Plugins: []string{timer.ID}, AllowedTools: []string{timer.Tool}},
			agent.Spec{ID: Delegator, Model: demo.Model, AllowedTools: []string{}, Delegates: []string{Helper}},
			agent.Spec{ID: Helper, Description: "Helps.", Model: demo.Model, AllowedTools: []string{}})
	}
	return parts, err
}
