package run

import (
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
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

// takeFrontend sets the members of the frontend's state in the thread's. It is part of the run's first
// commit; a crash before that does it again, on the same state.
func (m *machine) takeFrontend() error {
	if m.base.input == nil || m.base.input.Frontend == nil || m.base.input.Frontend.State == nil {
		return nil
	}
	result, err := m.base.hooks.engine.Submit(m.draft.snapshot, 0, plugin.SharedState.Edit(state.At().Merge(m.base.input.Frontend.State)))
	if err != nil {
		return endAt("frontend", "its state", err)
	}
	m.draft.merge(result)
	return nil
}
