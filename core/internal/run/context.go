package run

import (
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
)

// beside is the part of a request outside of the conversation and the system
// prompt.
type beside struct {
	before []core.Message // the conversation: the same from step to step, as long as plugins keep it
	behind []core.Message // its newest message: what holds for this step alone
}

// placed puts context messages where they belong. Lasting messages are before the
// conversation, in the system prompt or after it. Messages of this step alone are
// after the newest message, for every target, so that the prefix that providers
// cache does not change with each step.
func (p *prompt) placed(request *model.Request, context []plugin.ContextMessage) (b beside) {
	var text strings.Builder
	for i := range context {
		switch m := &context[i]; {
		case m.Target == plugin.TargetSuffix || !m.Persistent:
			if text.Len() > 0 {
				text.WriteString("\n\n")
			}
			text.WriteString(m.Text)
		case m.Target == plugin.TargetSystem || m.Target == "":
			request.System = strings.TrimPrefix(request.System+"\n\n"+m.Text, "\n\n")
		default:
			b.before = append(b.before, p.contextMessage(m))
		}
	}
	if text.Len() > 0 {
		b.behind = []core.Message{p.contextMessage(&plugin.ContextMessage{Key: "step", Text: text.String()})}
	}
	return b
}

// contextMessage is a context message as the model reads it. Its id names its
// origin, and is never in a log.
func (p *prompt) contextMessage(m *plugin.ContextMessage) core.Message {
	role := m.Role
	if role == "" {
		role = core.RoleSystem
	}
	return core.Message{
		ID: "context." + m.Key, Role: role, RunID: p.holder.id, Content: []core.Block{{Type: core.BlockText, Text: m.Text}},
	}
}

// A run's frontend brings tools, context and state. Its tools are the agent's from
// the moment when the agent is known (registry.Resolved.WithFrontend). Its context
// is part of each request, and its state is merged into the thread's as the run
// starts.

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
