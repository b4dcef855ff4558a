package agent

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/tool"
)

// Played returns the agent as a replay of a thread's run plays it: m stands for the
// model that the run calls, under its name, and tools for the agent's own. The agent
// itself stays as it is.
func (r *Resolved) Played(key core.ThreadKey, run core.ID, m model.Model, tools map[string]tool.Tool) *Resolved {
	played, bound := *r, *r.ModelOf(key, run)
	bound.Model = m
	played.Model, played.ModelName, played.Tools = m, bound.Name, tools
	played.bound, played.pool = &bound, nil
	return &played
}
