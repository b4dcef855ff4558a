package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/registered"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// Engine runs what the plugins of one agent registered. It never changes and
// is safe for concurrent use.
type Engine struct {
	registry *state.Registry
	hooks    map[core.Phase][]hook
	gates    []gate
	refusals []refusal
	patterns []toolPattern
	agent    plugin.Agent

	transforms []transform
	tools      []tool.Tool

	delegateTools []string // names of those that run delegates

	actions map[duty]actionHandler
	effects map[string]effectHandler

	actionPhases map[core.Phase]bool // phases that have an action handler

	keys        map[string]string // state key -> the plugin that owns it
	toolOwners  map[string]string
	definitions []state.Definition
}

// Options says for which agent an engine is.
type Options struct {
	// Filter, when it is not empty, names the plugins whose hooks, gates, transforms
	// and tools are active; keys and handlers hold for all, so that state and
	// scheduled work outlive a change of the filter.
	Filter   []string
	Agent    plugin.Agent               // the agent as hooks see it
	Sections map[string]json.RawMessage // of its spec: see [Section]

	Delegates []plugin.Delegate // of its spec
}

func empty(a plugin.Agent) *Engine {
	a.Sections = map[string]any{}
	return &Engine{
		agent:        a,
		hooks:        map[core.Phase][]hook{},
		actions:      map[duty]actionHandler{},
		effects:      map[string]effectHandler{},
		actionPhases: map[core.Phase]bool{},
		toolOwners:   map[string]string{},
		keys:         map[string]string{},
	}
}

// IDOf returns a plugin's id. A nil plugin, an invalid id, and a panic of ID are errors.
func IDOf(p plugin.Plugin) (id string, err error) {
	if p == nil {
		return "", errors.New("plugin is nil")
	}
	err = env.Protect(func() error {
		id = p.ID()
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("id of a plugin of type %T: %w", p, err)
	}
	return id, core.CheckName("plugin id", id)
}

// AsImplied returns the plugin as one that agents may have without naming it; ok is false if it
// is not.
func AsImplied(p plugin.Plugin) (implied plugin.Implied, ok bool) {
	if w, watched := p.(*watched); watched {
		p = w.Plugin
	}
	implied, ok = p.(plugin.Implied)
	return implied, ok
}

// New registers the plugins in order. Two plugins with one id or one key, a filter that
// names none of the plugins, and everything that Register refuses are errors that name the
// plugin.
func New(plugins []plugin.Plugin, o Options) (*Engine, error) {
	filter, e := o.Filter, empty(o.Agent)
	if err := e.register(builtin{}, &collector{engine: e, plugin: "runtime", builtin: true}, Options{}); err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(plugins))
	for _, p := range plugins {
		id, err := IDOf(p)
		if err != nil {
			return nil, err
		}
		if slices.Contains(ids, id) {
			return nil, fmt.Errorf("plugin %q is given twice", id)
		}
		if strings.HasPrefix(id, registered.Prefix) {
			return nil, fmt.Errorf("plugin %q: ids that begin with %q are the runtime's", id, registered.Prefix)
		}
		ids = append(ids, id)
		t := &collector{engine: e, plugin: id, active: len(filter) == 0 || slices.Contains(filter, id)}
		if w, ok := p.(*watched); ok {
			t.watcher = &w.watcher
		}
		if err := e.register(p, t, o); err != nil {
			return nil, fmt.Errorf("registering plugin %q: %w", id, err)
		}
	}
	for _, id := range filter {
		if !slices.Contains(ids, id) {
			return nil, fmt.Errorf("active hook filter names plugin %q, which the agent does not have", id)
		}
	}
	registry, err := new(state.Registry).With(e.definitions...)
	if err != nil {
		return nil, err
	}
	e.registry = registry
	return e, nil
}

// register adds what a plugin registers. A plugin that keeps its Registrar changes nothing by
// it later.
func (e *Engine) register(p plugin.Plugin, t *collector, o Options) error {
	r := new(plugin.Registrar)
	given := r.Registered()
	given.Sections, given.Values, given.Delegates = o.Sections, e.agent.Sections, o.Delegates
	err := env.Protect(func() error { return p.Register(r) })
	given.Values = nil
	return errors.Join(err, env.Protect(func() error { return t.collect(given.Parts) }))
}

// Equip passes the agent's tools, sorted by name, to the plugins. Call it before the engine
// is used. Each text in a plugin's section that should match tools, and matches none of
// them, is passed to unmatched with its path in the spec; an error of that ends it.
func (e *Engine) Equip(tools []model.ToolDefinition, unmatched func(path, text string) error) error {
	e.agent.Tools = tools
	for _, p := range e.patterns {
		var some bool
		err := env.Protect(func() error {
			some = slices.ContainsFunc(tools, func(t model.ToolDefinition) bool { return p.matches(t.Name) })
			return nil
		})
		if err == nil && !some {
			err = unmatched(p.path, p.text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Registry returns the state keys of all plugins and of the engine itself.
func (e *Engine) Registry() *state.Registry { return e.registry }

// Owner returns the id of the plugin that has a state key; empty: none has it.
func (e *Engine) Owner(key string) string { return e.keys[key] }

// Tools returns the tools of the active plugins in registration order.
func (e *Engine) Tools() []tool.Tool { return slices.Clone(e.tools) }

// DelegateTools returns the names of those tools that run delegates, in registration order.
func (e *Engine) DelegateTools() []string { return slices.Clone(e.delegateTools) }

// Listens reports whether anything happens at a phase: a hook or the handler of
// an action that may be scheduled for it.
func (e *Engine) Listens(phase core.Phase) bool {
	return len(e.hooks[phase]) > 0 || e.actionPhases[phase]
}

// Gates reports whether a plugin has a gate.
func (e *Engine) Gates() bool { return len(e.gates) > 0 }

// Gate asks every gate about m.Call, one after the other in registration order,
// each on the snapshot that the commands of those before it make. The first is the
// engine's own, which asks m.Approval of a person, if there is one. The highest
// verdict wins, the first of equals; its Command is that of all gates together,
// fit for [Engine.Submit], and for the revision of m's snapshot only if that of any
// gate had a base. The result of a SetResult carries the call's
// id and name, a Suspend has an id. A gate's error or panic is an error
// that names its plugin.
func (e *Engine) Gate(ctx context.Context, m Moment) (plugin.Verdict, error) {
	gates := e.gates
	if m.Approval != "" {
		gates = slices.Concat([]gate{{approvalGate, approvals{m.Approval}.gate}}, gates)
	}
	if len(gates) == 0 {
		return plugin.Allow, nil
	}
	e.bind(&m)
	began, based := m.Snapshot, false
	var best plugin.Verdict
	var together state.Command
	for _, g := range gates {
		v, err := e.ask(ctx, g, &m)
		if err != nil {
			return plugin.Verdict{}, &FailedError{Plugin: g.plugin, Part: "gate", Cause: err}
		}
		based = based || v.Command.Batch.Base != nil
		v.Command.Batch.Base = nil // ask has kept to it
		together.Append(v.Command)
		if rank(v) > rank(best) {
			best = v
		}
	}
	if best.Command = together; based {
		best.Command.Batch = together.Batch.On(began)
	}
	if best.Result != nil {
		result := *best.Result
		result.CallID, result.Name = m.Call.ID, m.Call.Name
		best.Result = &result
	}
	return best, nil
}

// ask asks one gate and takes its command into the snapshot of m.
func (e *Engine) ask(ctx context.Context, g gate, m *Moment) (v plugin.Verdict, err error) {
	err = env.Protect(func() (err error) {
		v, err = g.run(ctx, m.gateCall(g.plugin))
		return err
	})
	if err == nil {
		err = check(v)
	}
	if err == nil {
		v.Command, err = e.postpone(v.Command, "")
	}
	if err == nil && !v.Command.IsZero() {
		m.Snapshot, _, err = e.registry.Commit(m.Snapshot, v.Command.Batch)
	}
	if err != nil || v.Suspend == nil {
		return v, err
	}
	suspend := *v.Suspend
	if suspend.ID == "" {
		suspend.ID = suspensionID(m.Run, m.Step, m.CallIndex, g.plugin)
	}
	v.Suspend = &suspend
	if slices.Contains(m.Granted, suspend.ID) || m.Resume != nil && m.Resume.Suspension == suspend.ID {
		v.Suspend = nil
	}
	return v, core.CheckName("suspension id", suspend.ID)
}

// rank orders the verdicts: a higher one outranks a lower one.
func rank(v plugin.Verdict) int {
	switch {
	case v.Block:
		return 3
	case v.Suspend != nil:
		return 2
	case v.Result != nil:
		return 1
	}
	return 0
}

// check refuses a verdict that is two at once.
func check(v plugin.Verdict) error {
	said := 0
	for _, is := range []bool{v.Block, v.Suspend != nil, v.Result != nil} {
		if is {
			said++
		}
	}
	if said > 1 {
		return errors.New("the verdict has more than one of Block, Result and Suspend")
	}
	return nil
}

// Refused asks what follows from the decision m.Resume, which does not let the call
// m.Call go on: the plugin that had let it wait, or the engine for m.Approval. The command is fit for [Engine.Submit].
// An error or a panic of its hook is an error that names the plugin.
func (e *Engine) Refused(ctx context.Context, m Moment) (c state.Command, err error) {
	e.bind(&m)
	refusals := e.refusals
	if m.Approval != "" {
		refusals = slices.Concat(refusals, []refusal{{approvalGate, approvals{m.Approval}.refused}})
	}
	for _, h := range refusals {
		if m.Resume.Suspension != suspensionID(m.Run, m.Step, m.CallIndex, h.plugin) {
			continue
		}
		err = env.Protect(func() (err error) {
			c, err = h.run(ctx, m.gateCall(h.plugin))
			return err
		})
		if err == nil {
			c, err = e.postpone(c, "")
		}
		if err == nil {
			_, _, err = e.registry.Commit(m.Snapshot, c.Batch)
		}
		if err != nil {
			return state.Command{}, &FailedError{Plugin: h.plugin, Part: "refusal", Cause: err}
		}
	}
	return c, nil
}

// RunEffects runs the effects of a committed command in order, each of them even if an
// earlier one fails, and returns what went wrong: an error for each that failed, which
// names plugin and effect.
func (e *Engine) RunEffects(ctx context.Context, m Moment, effects []state.Effect) (failed []error) {
	e.bind(&m)
	for _, effect := range effects {
		h, ok := e.effects[effect.Key]
		if !ok { // of a plugin that is gone since the effect was requested
			failed = append(failed, fmt.Errorf("%w %q", errUnknownEffect, effect.Key))
			continue
		}
		if err := env.Protect(func() error { return h.run(ctx, m.handler(h.plugin, effect.Key), effect.Payload) }); err != nil {
			failed = append(failed, fmt.Errorf("effect %q of plugin %q: %w", effect.Key, h.plugin, err))
		}
	}
	return failed
}

// Sections returns the names of the sections that the plugins have read, sorted.
func (e *Engine) Sections() []string { return slices.Sorted(maps.Keys(e.agent.Sections)) }
