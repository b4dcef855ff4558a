package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// Engine runs what the plugins of one agent registered. It never changes and
// is safe for concurrent use.
type Engine struct {
	registry *state.Registry
	hooks    map[core.Phase][]hook
	gates    []gate
	tools    []tool.Tool
	actions  map[duty]actionHandler
	effects  map[string]effectHandler

	actionPhases map[core.Phase]bool // phases that have an action handler

	keys        map[string]string // state key -> the plugin that owns it
	toolOwners  map[string]string
	definitions []state.Definition
}

// New registers the plugins in order. A filter, when it is not empty, names the
// plugins whose hooks, gates and tools are active; keys and handlers hold for
// all, so that state and scheduled work outlive a change of the filter. Two
// plugins with one id or one key, a filter that names none of the plugins, and
// whatever Register refuses are errors that name the plugin.
func New(plugins []Plugin, filter []string) (*Engine, error) {
	e := &Engine{
		hooks:        map[core.Phase][]hook{},
		actions:      map[duty]actionHandler{},
		effects:      map[string]effectHandler{},
		actionPhases: map[core.Phase]bool{},
		toolOwners:   map[string]string{},
		keys:         map[string]string{pendingActions.Name: "runtime", FailedScheduledActions.Name: "runtime"},
		definitions:  []state.Definition{pendingActions.Definition(), FailedScheduledActions.Definition()},
	}
	ids := make([]string, 0, len(plugins))
	for _, p := range plugins {
		id := p.ID()
		if err := core.CheckName("plugin id", id); err != nil {
			return nil, err
		}
		if slices.Contains(ids, id) {
			return nil, fmt.Errorf("plugin %q is given twice", id)
		}
		ids = append(ids, id)
		r := &Registrar{engine: e, plugin: id, active: len(filter) == 0 || slices.Contains(filter, id)}
		err := env.Protect(func() error { return p.Register(r) })
		if err := errors.Join(err, r.err()); err != nil {
			return nil, fmt.Errorf("registering plugin %q: %w", id, err)
		}
	}
	for _, id := range filter {
		if !slices.Contains(ids, id) {
			return nil, fmt.Errorf("active hook filter names plugin %q, which the agent does not have", id)
		}
	}
	registry, err := state.NewRegistry(e.definitions...)
	if err != nil {
		return nil, err
	}
	e.registry = registry
	return e, nil
}

// Registry returns the state keys of all plugins and of the engine itself.
func (e *Engine) Registry() *state.Registry { return e.registry }

// Tools returns the tools of the active plugins in registration order.
func (e *Engine) Tools() []tool.Tool { return slices.Clone(e.tools) }

// Listens reports whether anything happens at a phase: a hook or the handler of
// an action that may be scheduled for it.
func (e *Engine) Listens(phase core.Phase) bool {
	return len(e.hooks[phase]) > 0 || e.actionPhases[phase]
}

// Gate asks every gate about c.Call, one after the other in registration order,
// each on the snapshot that the commands of those before it make. The highest
// verdict wins, the first of equals; its Command is that of all gates together,
// fit for [Engine.Submit]. The result of a VerdictSetResult carries the call's
// id and name, a VerdictSuspend has an id. A gate's error or panic is an error
// that names its plugin.
func (e *Engine) Gate(ctx context.Context, c Context) (Verdict, error) {
	c = c.bind()
	var best Verdict
	var together state.Command
	for _, g := range e.gates {
		v, err := e.ask(ctx, g, &c)
		if err != nil {
			return Verdict{}, fmt.Errorf("gate of plugin %q: %w", g.plugin, err)
		}
		together.Append(v.Command)
		if v.Kind > best.Kind {
			best = v
		}
	}
	best.Command = together
	if best.Kind == VerdictSetResult && c.Call != nil {
		result := *best.Result
		result.CallID, result.Name = c.Call.ID, c.Call.Name
		best.Result = &result
	}
	return best, nil
}

// ask asks one gate and takes its command into the snapshot of c.
func (e *Engine) ask(ctx context.Context, g gate, c *Context) (v Verdict, err error) {
	err = env.Protect(func() (err error) {
		v, err = g.run(ctx, *c)
		return err
	})
	if err == nil {
		err = v.check()
	}
	if err == nil {
		v.Command, err = e.settle(v.Command, "")
	}
	if err == nil && !v.Command.IsZero() {
		c.Snapshot, _, err = e.registry.Commit(c.Snapshot, v.Command.Batch)
	}
	if err != nil || v.Kind != VerdictSuspend {
		return v, err
	}
	suspend := *v.Suspend
	if suspend.ID == "" {
		suspend.ID = fmt.Sprintf("%s.%d.%d.%s", c.Run, c.Step, c.CallIndex, g.plugin)
	}
	v.Suspend = &suspend
	if slices.Contains(c.Granted, suspend.ID) || c.Resume != nil && c.Resume.Suspension == suspend.ID {
		v.Kind, v.Suspend = VerdictAllow, nil
	}
	return v, core.CheckName("suspension id", suspend.ID)
}

func (v Verdict) check() error {
	switch {
	case v.Kind > VerdictBlock:
		return fmt.Errorf("verdict %d does not exist", v.Kind)
	case v.Kind == VerdictSetResult && v.Result == nil:
		return errors.New("the verdict sets no result")
	case v.Kind == VerdictSuspend && v.Suspend == nil:
		return errors.New("the verdict does not say what the call waits for")
	}
	return nil
}

// RunEffects runs the effects of a committed command in order, each of them
// even if an earlier one fails, and joins their errors, which name plugin and
// effect.
func (e *Engine) RunEffects(ctx context.Context, c Context, effects []state.Effect) error {
	c = c.bind()
	var errs []error
	for _, effect := range effects {
		h, ok := e.effects[effect.Key]
		if !ok {
			errs = append(errs, fmt.Errorf("%w %q", ErrUnknownEffect, effect.Key))
			continue
		}
		if err := env.Protect(func() error { return h.run(ctx, c, effect.Payload) }); err != nil {
			errs = append(errs, fmt.Errorf("effect %q of plugin %q: %w", effect.Key, h.plugin, err))
		}
	}
	return errors.Join(errs...)
}
