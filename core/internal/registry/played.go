package registry

import (
	"slices"

	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/tool"
)

// Played returns the agent as a replay of a thread's run plays it: m replaces every model
// that the run may call, under its name, and tools the agent's own. The agent itself does
// not change.
func (r *Resolved) Played(m model.Model, tools map[string]tool.Tool) *Resolved {
	played, bound := *r, *r.bound
	bound.Model = m
	played.Model, played.ModelName, played.Tools, played.bound = m, bound.Name, tools, &bound
	if r.pool != nil {
		played.pool = r.pool.played(m)
	}
	return &played
}

func (p *Pool) played(m model.Model) *Pool {
	played := *p
	played.members = slices.Clone(p.members)
	for i := range played.members {
		bound := *played.members[i].bound
		bound.Model, played.members[i].bound = m, &bound
	}
	return &played
}
