// Package app is the place to edit: the agents of this deployment, their tools
// and plugins. Every function and the local host get them from [Parts], and
// nothing else in the repository names what stands here, so that it can all be
// replaced.
package app

import (
	"github.com/reveille-run/reveille/core/reveille"
	"github.com/reveille-run/reveille/functions/kit/demo"
)

// Parts returns what the deployment consists of. models are those that package
// app/models binds, by the id that an agent's spec names ("default").
//
// To add to the demo, append before the return:
//
//	parts.Tools = append(parts.Tools, weather)          // see reveille.NewTool
//	parts.Plugins = append(parts.Plugins, audit)        // and its ID to the Plugins of a spec
//	parts.Specs = append(parts.Specs, reveille.AgentSpec{ID: "helper", Model: "default", SystemPrompt: "Be brief."})
//	parts.Default = "helper"                            // the agent of requests that name none
//
// To drop it, return parts of your own instead:
//
//	return reveille.Parts{
//		Models: models, Tools: []reveille.Tool{weather}, // the only agent is the default
//		Specs: []reveille.AgentSpec{{ID: "helper", Model: "default", SystemPrompt: "Be brief."}},
//	}, nil
//
// What does not fit together is an error at start that says what is wrong.
func Parts(models reveille.Models) (reveille.Parts, error) {
	parts, err := demo.Parts(models)
	if err != nil {
		return reveille.Parts{}, err
	}
	return parts, nil
}
