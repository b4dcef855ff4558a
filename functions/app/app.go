// Package app is the place to edit: the agents of this deployment, their tools and their
// plugins. Every function and the local host get them from [Parts]. Nothing else in the
// repository names them, so you can replace all of them.
package app

import (
	"github.com/reveille-run/reveille/core/reveille"
	"github.com/reveille-run/reveille/functions/kit/demo"
)

// Parts returns the agents, tools and plugins of the deployment. models are the models that
// package app/models binds, by the id that the spec of an agent names ("default").
//
// To add to the demo, append before the return:
//
//	parts.Tools = append(parts.Tools, weather)          // see reveille.NewTool
//	parts.Plugins = append(parts.Plugins, audit)        // and its ID to the Plugins of a spec
//	parts.Specs = append(parts.Specs, reveille.AgentSpec{ID: "helper", Model: "default", SystemPrompt: "Be brief."})
//	parts.Default = "helper"                            // the agent of requests that name none
//
// To replace the demo, return your parts instead:
//
//	return reveille.Parts{
//		Models: models, Tools: []reveille.Tool{weather}, // the only agent is the default
//		Specs: []reveille.AgentSpec{{ID: "helper", Model: "default", SystemPrompt: "Be brief."}},
//	}, nil
//
// If parts do not fit together, the process fails at start. The error names the mistake.
func Parts(models reveille.Models) (reveille.Parts, error) {
	parts, err := demo.Parts(models)
	if err != nil {
		return reveille.Parts{}, err
	}
	return parts, nil
}
