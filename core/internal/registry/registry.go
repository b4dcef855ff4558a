// Package registry resolves agents: the names in specs, and the code that they refer to.
//
// A [Registry] holds specs with their code and resolves an id to a [Resolved] agent, which
// never changes while a run uses it. Everything is resolved once when the registry is
// built, so that a spec with an unknown name fails at start.
//
// [Resolved.ModelOf] returns the model that a thread's run calls: for a pool the thread's
// home. Package run decides when a run leaves that for another member, in the order of
// [Pool.Order].
//
// # History
//
// [Resolved.Content] is an agent's data as bytes, without keys, and [Resolved.Hash] its
// name. Package pins stores the content when a run starts, and resolves a hash to the agent
// that it names ([Registry.ResolveContent]): the data of that time with the code of today.
// So a run ends with the agent that it started with. [Resolved.Played] is an agent for a
// replay, whose model and tools repeat the recording.
package registry

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/internal/field"
)

// Registry resolves agents; the state keys of a resolved agent's plugins are in a separate
// [state.Registry]. It never changes and is safe for concurrent use.
type Registry struct {
	resolved map[string]*Resolved
	ids      []string // sorted
	preset   string   // Parts.Default, or the only spec
	exposed  []agent.Exposed
	warnings []Warning
	code     *code
	source   *source
}

// New resolves every spec, so that a broken one is an error here and not at the first
// request. The error names the agent and the missing part. A Default that is not among the
// specs, and a plugin that no spec names, are errors too.
func New(parts agent.Parts) (*Registry, error) {
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

func (r *Registry) add(spec agent.Spec) error {
	if err := spec.Check(); err != nil {
		return err
	}
	if r.Has(spec.ID) {
		return &field.Located{Kind: "agent", ID: spec.ID, Err: fmt.Errorf("agent %q is given twice", spec.ID)}
	}
	spec = spec.Normal()
	spec.Retry = spec.Retry.Resolved()
	resolved, err := r.code.resolve(spec, r.source, false)
	if err != nil {
		return wrap(spec.ID, err)
	}
	r.resolved[spec.ID] = resolved
	r.warnings = append(r.warnings, resolved.warnings...)
	return nil
}

// wrap adds the agent to an error of its resolution, if the error does not name it itself.
func wrap(id string, err error) error {
	var found *field.Error
	if errors.As(err, &found) && found.Kind == "agent" && found.ID == id {
		return err
	}
	return &field.Located{Kind: "agent", ID: id, Err: fmt.Errorf("resolving agent %q: %w", id, err)}
}

// checkNames looks at what names agents, and at plugins that none of them names.
func (r *Registry) checkNames() error {
	if r.preset != "" && !r.Has(r.preset) {
		return &field.Located{Kind: "default", Err: notFound("default agent", r.preset, r.ids)}
	}
	named := map[string]bool{}
	for _, id := range r.ids {
		for _, p := range r.resolved[id].Spec.Plugins {
			named[p] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(r.code.plugins)) {
		if _, implied := engine.AsImplied(r.code.plugins[id]); len(r.ids) > 0 && !named[id] && !implied {
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

// Default returns the id of the agent of requests that name none, see [Parts]; empty: no
// default.
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

// Warnings returns the entries of the specs that have no effect, in the order of the specs:
// the program that starts should log them.
func (r *Registry) Warnings() []Warning { return slices.Clone(r.warnings) }

// item is the path of an item of a list.
func item(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }

func notFound(what, name string, known []string) error {
	list := "none"
	if len(known) > 0 {
		list = strings.Join(known, ", ")
	}
	return core.Errorf(core.CodeNotFound, "%s %q not found, known are: %s", what, core.Excerpt(name), list)
}
