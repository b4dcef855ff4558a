package run

import (
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/plugin"
)

// What a run's frontend brings: its tools are the agent's from the moment when the
// agent is known (agent.Resolved.WithFrontend), what it shows is part of each request,
// and its state is merged into the thread's as the run begins.

// shownBy is what a frontend shows, as a part of the system prompt.
func shownBy(f *core.Frontend) []plugin.ContextMessage {
	if f == nil || len(f.Context) == 0 {
		return nil
	}
	var text strings.Builder
	text.WriteString("What the user's application shows at present:")
	for _, c := range f.Context {
		text.WriteString("\n\n" + c.Description + ":\n" + c.Value)
	}
	return []plugin.ContextMessage{{Key: "frontend", Text: text.String(), Target: plugin.TargetSystem, Persistent: true}}
}
