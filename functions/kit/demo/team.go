package demo

import (
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/plugins/permission"
)

// team returns a coordinator and its delegates, a researcher with the tool echo and a buyer
// with the tool danger. They work concurrently, on separate threads. A person approves what
// the buyer does, as in the demo agent. The delegates are hidden, since a client talks to the
// coordinator.
func team() []agent.Spec {
	return []agent.Spec{
		{
			ID:          "coordinator",
			Description: "Leaves work to a researcher and a buyer: team: researcher echo: prices | buyer approve: order.",
			SystemPrompt: "You coordinate a small team. Leave questions to the researcher and purchases to the buyer, both in one step " +
				"if a request has both. They see only the prompt that you give them. Then summarize their responses.",
			Model:         Model,
			ExecutionMode: agent.ParallelStreaming,
			AllowedTools:  []string{},
			Delegates:     []string{"researcher", "buyer"},
		},
		{
			ID: "researcher", Description: "Finds out what you ask for.", Hidden: true,
			SystemPrompt: "You are a researcher. Use the tool echo to look something up.",
			Model:        Model, AllowedTools: []string{"echo"},
		},
		{
			ID: "buyer", Description: "Buys what you ask for, once a person has approved it.", Hidden: true,
			SystemPrompt: "You are a buyer. Use the tool danger to order something.",
			Model:        Model, AllowedTools: []string{"danger"}, Plugins: []string{permission.ID}, Sections: rules(),
		},
	}
}
