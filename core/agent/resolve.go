package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/stop"
	"github.com/reveille-run/reveille/core/tool"
)

// Resolved is an agent with everything that its spec names. It is shared by all
// runs and must not be changed.
type Resolved struct {
	Spec       Spec
	Hash       string // of the spec and its tools' specs: 32 hex digits
	Model      model.Model
	ModelName  string // the provider's name of the model
	Tools      map[string]tool.Tool
	ModelTools []model.ToolDefinition // the same tools as the model sees them, sorted by name
	Engine     *plugin.Engine
	Stops      []stop.Policy // the spec's and the registry's, in this order; max_rounds is [Spec.Rounds]
}

// catalog is the code that specs name.
type catalog struct {
	models  map[string]ModelBinding
	tools   map[string]tool.Tool
	plugins map[string]plugin.Plugin
	stops   []stop.Policy
}

func newCatalog(parts Parts) (*catalog, error) {
	c := &catalog{
		models:  parts.Models,
		tools:   make(map[string]tool.Tool, len(parts.Tools)),
		plugins: make(map[string]plugin.Plugin, len(parts.Plugins)),
		stops:   parts.Stops,
	}
	if err := stop.CheckAll("Parts.Stops", parts.Stops); err != nil {
		return nil, err
	}
	for id, binding := range parts.Models {
		if id == "" || binding.Model == nil {
			return nil, fmt.Errorf("model %q has no id or no Model", id)
		}
	}
	for i, t := range parts.Tools {
		if t == nil {
			return nil, fmt.Errorf("tool %d is nil", i)
		}
		spec := t.Spec()
		if err := spec.Check(); err != nil {
			return nil, err
		}
		if _, exists := c.tools[spec.Name]; exists {
			return nil, fmt.Errorf("tool %q is given twice", spec.Name)
		}
		c.tools[spec.Name] = t
	}
	for i, p := range parts.Plugins {
		if p == nil {
			return nil, fmt.Errorf("plugin %d is nil", i)
		}
		if _, exists := c.plugins[p.ID()]; exists {
			return nil, fmt.Errorf("plugin %q is given twice", p.ID())
		}
		c.plugins[p.ID()] = p
	}
	return c, nil
}

func (c *catalog) resolve(spec Spec) (*Resolved, error) {
	binding, ok := c.models[spec.Model]
	if !ok {
		return nil, notFound("model", spec.Model, slices.Sorted(maps.Keys(c.models)))
	}
	r := &Resolved{Spec: spec, Model: binding.Model, ModelName: binding.Name}
	if r.ModelName == "" {
		r.ModelName = spec.Model
	}
	plugins := make([]plugin.Plugin, 0, len(spec.Plugins))
	for _, id := range spec.Plugins {
		p, ok := c.plugins[id]
		if !ok {
			return nil, notFound("plugin", id, slices.Sorted(maps.Keys(c.plugins)))
		}
		plugins = append(plugins, p)
	}
	var err error
	if r.Engine, err = plugin.New(plugins, plugin.Options{
		Filter: spec.ActiveHookFilter, Agent: plugin.Agent{ID: spec.ID, Description: spec.Description, Model: spec.Model, ModelName: r.ModelName},
	}); err != nil {
		return nil, err
	}
	if r.Stops, err = stop.Policies(spec.Stop); err != nil {
		return nil, err
	}
	r.Stops = append(r.Stops, c.stops...)
	if r.Tools, err = c.toolsOf(spec, r.Engine.Tools()); err != nil {
		return nil, err
	}
	return r, r.describe()
}

// toolsOf returns the registry's tools and the plugins', as far as the spec
// allows them. A name in the spec that is no tool is an error: a misspelt
// exclusion must not leave its tool in reach.
func (c *catalog) toolsOf(spec Spec, added []tool.Tool) (map[string]tool.Tool, error) {
	all := maps.Clone(c.tools)
	for _, t := range added {
		name := t.Spec().Name
		if _, exists := all[name]; exists {
			return nil, fmt.Errorf("tool %q of a plugin has the name of a tool of the registry", name)
		}
		all[name] = t
	}
	for _, list := range [][]string{spec.AllowedTools, spec.ExcludedTools} {
		for _, name := range list {
			if _, ok := all[name]; !ok {
				return nil, notFound("tool", name, slices.Sorted(maps.Keys(all)))
			}
		}
	}
	maps.DeleteFunc(all, func(name string, _ tool.Tool) bool {
		allowed := spec.AllowedTools == nil || slices.Contains(spec.AllowedTools, name)
		return !allowed || slices.Contains(spec.ExcludedTools, name)
	})
	return all, nil
}

// describe fills in what follows from the tools' specs.
func (r *Resolved) describe() error {
	specs := make([]tool.Spec, 0, len(r.Tools))
	for _, name := range slices.Sorted(maps.Keys(r.Tools)) {
		s := r.Tools[name].Spec()
		if s.Parameters == nil {
			s.Parameters = json.RawMessage(tool.NoParameters)
		}
		specs = append(specs, s)
		r.ModelTools = append(r.ModelTools, model.ToolDefinition{Name: s.Name, Description: s.Description, Parameters: s.Parameters})
	}
	content, err := json.Marshal(struct {
		Spec  Spec        `json:"spec"`
		Tools []tool.Spec `json:"tools"`
	}{r.Spec, specs})
	if err != nil {
		return fmt.Errorf("hashing: %w", err)
	}
	sum := sha256.Sum256(content)
	r.Hash = hex.EncodeToString(sum[:16])
	return nil
}
