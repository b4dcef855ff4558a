package registry

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/internal/field"
	"github.com/reveille-run/reveille/core/internal/finalanswer"
	"github.com/reveille-run/reveille/core/internal/schema"
	"github.com/reveille-run/reveille/core/internal/stop"
	"github.com/reveille-run/reveille/core/internal/toolcall"
	"github.com/reveille-run/reveille/core/internal/toolrun"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/tool"
)

// Resolved is an agent with everything that its spec names. It is shared by all
// runs and must not be changed.
type Resolved struct {
	Spec agent.Spec
	// Model and ModelName, the provider's name of it, are the agent's one model. For an
	// agent with a pool they are the first member's: a run calls that of ModelOf.
	Model      model.Model
	ModelName  string
	Tools      map[string]tool.Tool
	ModelTools []model.ToolDefinition // the same tools as the model sees them, sorted by name
	Engine     *engine.Engine
	// Gone are tools that the spec names and this program lacks, sorted: of an agent that
	// another one resolved. It continues without them.
	Gone []string
	// Reads means that the agent may be offered the tool [toolcall.ReadResult], which is in
	// neither Tools nor ModelTools: a step that shortens results has it.
	Reads bool
	Stops []agent.StopPolicy // the spec's and the registry's, in this order, after RoundLimit of the spec

	data     func() ([]byte, string) // Content and Hash
	bound    *BoundModel
	pool     *Pool     // nil: the agent has one model
	warnings []Warning // of its spec
}

// code is what specs name and the program brings.
type code struct {
	tools   map[string]tool.Tool
	plugins map[string]plugin.Plugin
	stops   []agent.StopPolicy

	delegates map[string]plugin.Delegate // every agent of the program, as a delegate of another
}

func newCode(parts agent.Parts) (*code, error) {
	c := &code{
		tools:   make(map[string]tool.Tool, len(parts.Tools)),
		plugins: make(map[string]plugin.Plugin, len(parts.Plugins)),
		stops:   parts.Stops,

		delegates: make(map[string]plugin.Delegate, len(parts.Specs)),
	}
	for _, s := range parts.Specs {
		c.delegates[s.ID] = plugin.Delegate{ID: s.ID, Description: s.Description, Typed: s.ResponseFormat != nil}
	}
	if err := stop.CheckAll("Parts.Stops", parts.Stops); err != nil {
		return nil, err
	}
	for i, t := range parts.Tools {
		admitted, err := toolrun.Admit(t)
		if err != nil {
			return nil, fmt.Errorf("Parts.Tools[%d]: %w", i, err)
		}
		name := admitted.Spec().Name
		if _, exists := c.tools[name]; exists {
			return nil, fmt.Errorf("tool %q is given twice", name)
		}
		c.tools[name] = admitted
	}
	for i, p := range parts.Plugins {
		id, err := engine.IDOf(p)
		if err != nil {
			return nil, fmt.Errorf("Parts.Plugins[%d]: %w", i, err)
		}
		if _, exists := c.plugins[id]; exists {
			return nil, fmt.Errorf("plugin %q is given twice", id)
		}
		c.plugins[id] = p
	}
	return c, nil
}

// resolve goes from the agent to its model or pool, on to the providers, and to its
// plugins and tools. Where stored is true, the spec was resolved before, by a program
// that may have had other tools.
func (c *code) resolve(spec agent.Spec, from *source, stored bool) (*Resolved, error) {
	r := &Resolved{Spec: spec}
	if err := from.resolve(spec.Model, r); err != nil {
		return nil, field.At("model", err)
	}
	if err := r.checkRoom(); err != nil && !stored {
		return nil, err
	}
	if err := r.warnUnheard(stored); err != nil {
		return nil, err
	}
	r.warnRetired()
	if err := c.addEngine(r, stored); err != nil {
		return nil, err
	}
	var err error
	if r.Stops, err = spec.StopPolicies(); err != nil {
		return nil, err
	}
	r.Stops = append(r.Stops, c.stops...)
	if err := r.equip(c.tools, stored); err != nil {
		return nil, err
	}
	if err := r.fit(stored); err != nil {
		return nil, err
	}
	if err := r.claimSections(stored); err != nil {
		return nil, err
	}
	if len(spec.Delegates) > 0 && len(r.Engine.DelegateTools()) == 0 {
		w := Warning{Agent: spec.ID, Field: "delegates", Message: "has no effect: no active plugin runs delegates, register the plugin \"delegate\""}
		if err := r.warn(stored, w); err != nil {
			return nil, err
		}
	}
	// Made when a run asks for it: it would be a twentieth of a function's start.
	r.data = sync.OnceValues(func() ([]byte, string) {
		text := contentOf(r, from).text()
		return text, hashOf(text)
	})
	return r, nil
}

// equip gives the agent the registry's tools and its plugins', as far as the spec
// allows them.
func (r *Resolved) equip(registered map[string]tool.Tool, stored bool) error {
	r.Tools = maps.Clone(registered)
	for _, t := range r.Engine.Tools() {
		name := t.Spec().Name
		if _, exists := r.Tools[name]; exists {
			return fmt.Errorf("tool %q of a plugin has the name of a tool of the registry", name)
		}
		r.Tools[name] = t
	}
	if _, exists := r.Tools[toolcall.ReadResult]; exists {
		return fmt.Errorf("tool %q has the name of a tool of the runtime", toolcall.ReadResult)
	}
	if r.Tools == nil {
		r.Tools = map[string]tool.Tool{}
	}
	r.Tools[toolcall.ReadResult] = nil // a name that specs may allow and exclude like another
	warnings, err := choose(&r.Spec, r.Tools, r.Engine.DelegateTools(), stored)
	if err != nil {
		return err
	}
	_, r.Reads = r.Tools[toolcall.ReadResult]
	delete(r.Tools, toolcall.ReadResult)
	if err := r.warn(stored, warnings...); err != nil {
		return err
	}
	r.Gone = gone(&r.Spec, r.Engine.Tools(), registered)
	if c := r.Spec.ToolChoice; c.Mode == model.ToolNamed && r.Tools[c.Name] == nil && !stored {
		return field.At("tool_choice", fmt.Errorf("tool_choice: %w", notFound("tool", c.Name, slices.Sorted(maps.Keys(r.Tools)))))
	}
	if r.Spec.ResponseFormat != nil && r.Tools[finalanswer.Tool] != nil && !stored {
		return field.At("response_format", core.Errorf(core.CodeInvalid, "tool %q has the name of the one that takes the answer of response_format", finalanswer.Tool))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Tools)) {
		s := r.Tools[name].Spec()
		if s.Parameters == nil {
			s.Parameters = json.RawMessage(schema.NoParameters)
		}
		r.ModelTools = append(r.ModelTools, model.ToolDefinition{Name: s.Name, Description: s.Description, Parameters: s.Parameters})
	}
	return r.Engine.Equip(r.ModelTools, func(path, text string) error {
		return r.warn(stored, Warning{Agent: r.Spec.ID, Field: path, Message: fmt.Sprintf("%q matches no tool", core.Excerpt(text))})
	})
}

// claimSections warns of sections that no plugin of the agent has read.
func (r *Resolved) claimSections(stored bool) error {
	read := r.Engine.Sections()
	for _, name := range r.Spec.SectionNames() {
		if slices.Contains(read, name) {
			continue
		}
		list := "none"
		if len(read) > 0 {
			list = strings.Join(read, ", ")
		}
		w := Warning{Agent: r.Spec.ID, Field: "sections", Message: fmt.Sprintf("has %q, which no plugin of the agent reads; read are: %s", core.Excerpt(name), list)}
		if err := r.warn(stored, w); err != nil {
			return err
		}
	}
	return nil
}

// warn notes what in the spec has no effect. In a strict spec it is an error, unless
// the spec was resolved before.
func (r *Resolved) warn(stored bool, warnings ...Warning) error {
	if r.Spec.Strict && !stored && len(warnings) > 0 {
		return field.Said("agent", r.Spec.ID, warnings[0].Field, warnings[0].Field+" "+warnings[0].Message)
	}
	r.warnings = append(r.warnings, warnings...)
	return nil
}
