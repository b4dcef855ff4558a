package agent

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/catalog"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/tool"
)

// ModelBinding is a model under the id that specs use.
type ModelBinding struct {
	Model model.Model
	Name  string // the provider's name of the model; empty: the id
	// Provider is who sells it, for records of what was used; empty: that is not said.
	Provider string
	// Facts are what is known of the model. What is zero is the catalog's, see Parts.
	Facts model.Facts
}

// Parts is what a registry is made of: agents and models as data, and the code that
// they name. An id is given once, be it as code or as data.
type Parts struct {
	Specs      []Spec
	ModelSpecs []ModelSpec
	Pools      []ModelPoolSpec
	Providers  []ProviderSpec

	Models   map[string]ModelBinding                            // by the id that specs use
	Adapters map[string]func(ProviderSpec) (model.Model, error) // by the name that providers use, such as openai.Adapter; called once for each provider that an agent uses
	Tools    []tool.Tool                                        // open to every agent, as far as its spec allows
	Plugins  []plugin.Plugin                                    // each is named by one agent at least, where there are agents
	Stops    []StopPolicy                                       // of every agent, asked behind those of its spec
	// Catalog is what is known of models. A model of which it knows no window, and which
	// has none in its spec or binding, has 8,192 tokens, and that is a warning. nil:
	// nothing is known, and nobody is warned.
	Catalog *catalog.Catalog
	// Default is the id of the agent of requests that name none. Empty: it is the only
	// spec; of several there is none, and such requests are refused.
	Default string
}

// Registry resolves agents; the state keys of a resolved agent's plugins are in a
// [state.Registry] of its own. It never changes and is safe for concurrent use.
type Registry struct {
	resolved map[string]*Resolved
	ids      []string // sorted
	preset   string   // Parts.Default, or the only spec
	exposed  []Exposed
	warnings []Warning
	code     *code
	source   *source
}

// NewRegistry resolves every spec, so that a broken one is an error here and
// not at the first request. The error says which agent and what is missing; so
// it does of a Default that is not among the specs and of a plugin that no spec
// names.
func NewRegistry(parts Parts) (*Registry, error) {
	c, err := newCode(parts)
	if err != nil {
		return nil, err
	}
	from, err := newSource(parts)
	if err != nil {
		return nil, err
	}
	if parts.Default == "" && len(parts.Specs) == 1 {
		parts.Default = parts.Specs[0].ID
	}
	r := &Registry{resolved: make(map[string]*Resolved, len(parts.Specs)), preset: parts.Default, code: c, source: from}
	for _, spec := range parts.Specs {
		if err := r.add(spec); err != nil {
			return nil, err
		}
	}
	r.ids = slices.Sorted(maps.Keys(r.resolved))
	if err := r.checkNames(); err != nil {
		return nil, err
	}
	if err := r.expose(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Registry) add(spec Spec) error {
	if err := spec.Check(); err != nil {
		return err
	}
	if r.Has(spec.ID) {
		return fmt.Errorf("agent %q is given twice", spec.ID)
	}
	resolved, err := r.code.resolve(spec.normal(), r.source, false)
	if err != nil {
		return wrap(spec.ID, err)
	}
	r.resolved[spec.ID] = resolved
	r.warnings = append(r.warnings, resolved.warnings...)
	return nil
}

// wrap says which agent an error of its resolution is about, where it does not say
// so itself.
func wrap(id string, err error) error {
	var field *FieldError
	if errors.As(err, &field) && field.Kind == "agent" && field.ID == id {
		return err
	}
	return fmt.Errorf("resolving agent %q: %w", id, err)
}

// checkNames looks at what names agents, and at plugins that none of them names.
func (r *Registry) checkNames() error {
	if r.preset != "" && !r.Has(r.preset) {
		return notFound("default agent", r.preset, r.ids)
	}
	named := map[string]bool{}
	for _, id := range r.ids {
		spec := r.resolved[id].Spec
		for _, delegate := range spec.Delegates {
			if !r.Has(delegate) {
				return wrap(id, notFound("delegate agent", delegate, r.ids))
			}
		}
		for _, p := range spec.Plugins {
			named[p] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(r.code.plugins)) {
		if len(r.ids) > 0 && !named[id] {
			return core.Errorf(core.CodeInvalid, "plugin %q is named by no agent", id)
		}
	}
	return nil
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

// Default returns the id of the agent of requests that name none, see [Parts]; empty:
// there is none.
func (r *Registry) Default() string { return r.preset }

// Plugins returns the ids of the plugins that the program brings, sorted.
func (r *Registry) Plugins() []string { return slices.Sorted(maps.Keys(r.code.plugins)) }

// Models returns the ids that agents may name as their model, sorted: models and pools.
func (r *Registry) Models() []string {
	ids := slices.Collect(maps.Keys(r.source.code))
	ids = slices.AppendSeq(ids, maps.Keys(r.source.models))
	ids = slices.AppendSeq(ids, maps.Keys(r.source.pools))
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Providers returns the ids of the providers that models name, sorted.
func (r *Registry) Providers() []string { return slices.Sorted(maps.Keys(r.source.providers)) }

// IDs returns the ids of all agents, sorted.
func (r *Registry) IDs() []string { return slices.Clone(r.ids) }

// Warnings returns what in the specs has no effect, in the order of the specs: it is
// for whoever starts the program to log.
func (r *Registry) Warnings() []Warning { return slices.Clone(r.warnings) }

func notFound(what, name string, known []string) error {
	list := "none"
	if len(known) > 0 {
		list = strings.Join(known, ", ")
	}
	return core.Errorf(core.CodeNotFound, "%s %q not found, known are: %s", what, core.Excerpt(name), list)
}
