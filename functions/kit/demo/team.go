package demo

import (
	"slices"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/plugins/permission"
)

// The ids of the agents of [Team].
const (
	Coordinator = "coordinator"
	Researcher  = "researcher"
	Buyer       = "buyer"
)

// Team returns the parts of the demo and a team: a coordinator, whose
// delegates are a researcher with the tool echo and a buyer with the tool danger. They work
// concurrently on separate threads. A person approves what the buyer does, as in the demo
// agent. The specialists are hidden, since the coordinator is the one to talk to.
func Team(parts agent.Parts) agent.Parts {
	parts.Specs = append(slices.Clip(parts.Specs),
		agent.Spec{
			ID:          Coordinator,
			Description: "Leaves work to two specialists: team: researcher echo: prices | buyer approve: order.",
			SystemPrompt: "You coordinate a small team. Leave questions to the researcher and purchases to the buyer, both in one step " +
				"if a request has both. They see only the prompt that you give them. Then sum up their responses.",
			Model:         Model,
			ExecutionMode: agent.ParallelStreaming,
			AllowedTools:  []string{},
			Delegates:     []string{Researcher, Buyer},
		},
		agent.Spec{
			ID: Researcher, Description: "Finds out what you ask for.", Hidden: true,
			SystemPrompt: "You are a researcher. Use the tool echo to look something up.",
			Model:        Model, AllowedTools: []string{"echo"},
		},
		agent.Spec{
			ID: Buyer, Description: "Buys what you ask for, once a person has approved it.", Hidden: true,
			SystemPrompt: "You are a buyer. Use the tool danger to order something.",
			Model:        Model, AllowedTools: []string{"danger"}, Plugins: []string{permission.ID}, Sections: rules(),
		},
	)
	return parts
}
