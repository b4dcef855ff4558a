package registry

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/field"
	"github.com/reveille-run/reveille/core/model"
)

// directID is the id of the agent that represents an exposed tool: a run of it calls the
// tool once, with its input as the arguments, and calls no model. Everything else is as in
// any run: the call is checked, gated, stored, may wait, and is not repeated. Its response
// is the result of the tool, as a model would read it.
func directID(name string) string { return "tool:" + name }

// Exposed returns what clients are offered, sorted by name: every agent that is not
// hidden, and the tools that agents expose.
func (r *Registry) Exposed() []agent.Exposed { return slices.Clone(r.exposed) }

// expose lists what clients are offered, and adds the agents of exposed tools.
func (r *Registry) expose() error {
	by := map[string]string{} // the agent that exposes a tool
	from := *r.source
	from.code = maps.Clone(r.source.code)
	for _, id := range r.ids {
		a := r.resolved[id]
		if !a.Spec.Hidden {
			r.exposed = append(r.exposed, agent.Exposed{Name: id, Description: a.Spec.Description, Agent: id})
		}
		for i, name := range a.Spec.ExposedTools {
			if other, twice := by[name]; twice {
				return wrap(id, field.At(item("exposed_tools", i), core.Errorf(core.CodeInvalid, "exposed_tools: %q is exposed by agent %q already", name, other)))
			}
			by[name] = id
			e, err := r.direct(a, name, &from)
			if err != nil {
				return wrap(id, field.At(item("exposed_tools", i), fmt.Errorf("exposed_tools: %w", err)))
			}
			r.exposed = append(r.exposed, e)
		}
	}
	r.source = &from // a run that is pinned to a direct agent of another time finds its model here
	slices.SortFunc(r.exposed, func(a, b agent.Exposed) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

// direct adds the agent that represents a tool of another agent.
func (r *Registry) direct(owner *Resolved, name string, from *source) (e agent.Exposed, err error) {
	t, ok := owner.Tools[name]
	if !ok {
		return e, notFound("tool", name, slices.Sorted(maps.Keys(owner.Tools)))
	}
	id := directID(name)
	switch {
	case t.Spec().Client:
		return e, core.Errorf(core.CodeInvalid, "tool %q is run by the client", name)
	case r.Has(name):
		return e, core.Errorf(core.CodeInvalid, "tool %q has the name of an agent", name)
	case r.Has(id):
		return e, core.Errorf(core.CodeInvalid, "tool %q needs the id %q, which an agent has", name, id)
	case has(from.code, id) || has(from.models, id) || has(from.pools, id):
		return e, core.Errorf(core.CodeInvalid, "tool %q needs the id %q, which a model has", name, id)
	}
	from.code[id] = agent.ModelBinding{Model: direct{}, Name: name}
	s := owner.Spec
	others := slices.DeleteFunc(owner.Engine.DelegateTools(), func(other string) bool { return other == name }) // which its delegates allow
	resolved, err := r.code.resolve(agent.Spec{
		ID: id, Description: t.Spec().Description, Model: id, Hidden: true, AllowedTools: []string{name}, ExcludedTools: others,
		Plugins: s.Plugins, ActiveHookFilter: s.ActiveHookFilter, Sections: s.Sections, Delegates: s.Delegates,
	}.Normal(), from, false)
	if err != nil {
		return e, err
	}
	r.resolved[id] = resolved
	return agent.Exposed{Name: name, Description: t.Spec().Description, Agent: id, Parameters: resolved.ModelTools[0].Parameters, ReadOnly: t.Spec().ReadOnly}, nil
}

// direct takes the place of a model in the run of a single tool. The provider's name of the
// model is the tool's. Its turns follow from the conversation alone: to input it replies
// with the call, and to the call's result with its text.
type direct struct{}

// Stream implements model.Model.
func (direct) Stream(_ context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	said := lastSaid(request.Messages)
	turn := []model.Delta{
		{Type: model.DeltaText, Text: said.Text()},
		{Type: model.DeltaStop, Stop: core.StopEndTurn},
	}
	if said.Role == core.RoleUser {
		turn = []model.Delta{
			{Type: model.DeltaToolStart, CallID: "direct", Name: request.Model},
			{Type: model.DeltaToolArgument, Text: said.Text()},
			{Type: model.DeltaStop, Stop: core.StopToolUse},
		}
	}
	return func(yield func(model.Delta, error) bool) {
		for _, delta := range turn {
			if !yield(delta, nil) {
				return
			}
		}
	}
}

// lastSaid is the newest message that does not come from a plugin.
func lastSaid(messages []core.Message) core.Message {
	for _, m := range slices.Backward(messages) {
		if m.Role != core.RoleSystem {
			return m
		}
	}
	return core.Message{}
}
