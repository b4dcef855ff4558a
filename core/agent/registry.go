package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/stop"
	"github.com/reveille-run/reveille/core/tool"
)

// ModelBinding is a model under the id that specs use.
type ModelBinding struct {
	Model model.Model
	Name  string // the provider's name of the model; empty: the id
}

// Parts is what a registry is made of.
type Parts struct {
	Specs   []Spec
	Models  map[string]ModelBinding // by the id that specs use
	Tools   []tool.Tool             // open to every agent, as far as its spec allows
	Plugins []plugin.Plugin
	Stops   []stop.Policy // of every agent, asked behind those of its spec
	// Default is the id of the agent of requests that name none. Empty: there is
	// none, and such requests are refused.
	Default string
}

// Registry resolves agents; the state keys of a resolved agent's plugins are in a
// [state.Registry] of its own. It never changes and is safe for concurrent use.
type Registry struct {
	resolved map[string]*Resolved
	ids      []string // sorted
	preset   string   // Parts.Default
}

// NewRegistry resolves every spec, so that a broken one is an error here and
// not at the first request. The error says which agent and what is missing; so
// it does of a Default that is not among the specs.
func NewRegistry(parts Parts) (*Registry, error) {
	c, err := newCatalog(parts)
	if err != nil {
		return nil, err
	}
	r := &Registry{resolved: make(map[string]*Resolved, len(parts.Specs)), preset: parts.Default}
	for _, spec := range parts.Specs {
		if err := spec.Check(); err != nil {
			return nil, err
		}
		if r.Has(spec.ID) {
			return nil, fmt.Errorf("agent %q is given twice", spec.ID)
		}
		resolved, err := c.resolve(spec.clone())
		if err != nil {
			return nil, fmt.Errorf("resolving agent %q: %w", spec.ID, err)
		}
		r.resolved[spec.ID] = resolved
	}
	r.ids = slices.Sorted(maps.Keys(r.resolved))
	if r.preset != "" && !r.Has(r.preset) {
		return nil, notFound("default agent", r.preset, r.ids)
	}
	return r, nil
}

// Resolve returns the agent; the same pointer each time. An id that is not
// registered is an error with code not_found that lists those that are.
func (r *Registry) Resolve(id string) (*Resolved, error) {
	if resolved, ok := r.resolved[id]; ok {
		return resolved, nil
	}
	return nil, notFound("agent", id, r.ids)
}

// Has reports whether the agent is registered.
func (r *Registry) Has(id string) bool {
	_, ok := r.resolved[id]
	return ok
}

// Default returns the id of the agent of requests that name none; empty: there is
// none.
func (r *Registry) Default() string { return r.preset }

// IDs returns the ids of all agents, sorted.
func (r *Registry) IDs() []string { return slices.Clone(r.ids) }

func notFound(what, name string, known []string) error {
	list := "none"
	if len(known) > 0 {
		list = strings.Join(known, ", ")
	}
	return core.Errorf(core.CodeNotFound, "%s %q not found, known are: %s", what, core.Excerpt(name), list)
}
