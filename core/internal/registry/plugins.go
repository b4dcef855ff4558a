package registry

import (
	"fmt"
	"maps"
	"slices"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/internal/field"
	"github.com/reveille-run/reveille/core/plugin"
)

// addEngine registers the agent's plugins: those that its spec names, and after them those
// that are implied.
func (c *code) addEngine(r *Resolved, stored bool) error {
	s := &r.Spec
	delegates, err := c.delegatesOf(s, stored)
	if err != nil {
		return err
	}
	plugins, filter := make([]plugin.Plugin, 0, len(s.Plugins)), s.ActiveHookFilter
	for i, id := range s.Plugins {
		p, ok := c.plugins[id]
		if !ok {
			return field.At(item("plugins", i), notFound("plugin", id, slices.Sorted(maps.Keys(c.plugins))))
		}
		plugins = append(plugins, p)
	}
	implied, err := c.implied(s, delegates)
	if err != nil {
		return err
	}
	for _, id := range implied {
		plugins = append(plugins, c.plugins[id])
		if len(filter) > 0 { // which can only name the others
			filter = append(slices.Clip(filter), id)
		}
	}
	r.Engine, err = engine.New(plugins, engine.Options{
		Filter: filter, Agent: plugin.Agent{ID: s.ID, Description: s.Description, Model: s.Model, ModelName: r.ModelName},
		Sections: s.Sections, Delegates: delegates,
	})
	return err
}

// delegatesOf are the delegates of a spec. Of a spec that was resolved before, one that the
// program lacks stays: a call of it fails.
func (c *code) delegatesOf(s *agent.Spec, stored bool) (list []plugin.Delegate, err error) {
	for i, id := range s.Delegates {
		d, ok := c.delegates[id]
		if !ok && !stored {
			return nil, field.At(item("delegates", i), notFound("delegate agent", id, slices.Sorted(maps.Keys(c.delegates))))
		}
		d.ID = id
		list = append(list, d)
	}
	return list, nil
}

// implied are the ids of the plugins that an agent has without naming them, sorted.
func (c *code) implied(s *agent.Spec, delegates []plugin.Delegate) (ids []string, err error) {
	for id, p := range c.plugins {
		i, ok := engine.AsImplied(p)
		if !ok || slices.Contains(s.Plugins, id) {
			continue
		}
		has := false
		if err := env.Protect(func() error { has = i.Implied(delegates); return nil }); err != nil {
			return nil, fmt.Errorf("plugin %q: %w", id, err)
		}
		if has {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}
