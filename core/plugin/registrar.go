package plugin

import (
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// Registrar takes what one plugin adds. What is wrong with it (a phase that
// does not exist, a nil function, a key that another plugin has) comes back
// from [New].
type Registrar struct {
	engine *Engine
	plugin string
	active bool // passes the hook filter
	errs   []error
}

type (
	hook struct {
		plugin string
		run    Hook
	}
	gate struct {
		plugin string
		run    Gate
	}
	effectHandler struct {
		plugin string
		run    EffectHandler
	}
	actionHandler struct {
		plugin string
		run    ActionHandler
	}
	duty struct {
		phase core.Phase
		key   string
	}
)

// Key adds a state key. It holds even when the plugin's hooks are filtered out.
func (r *Registrar) Key(d state.Definition) {
	if owner, exists := r.engine.keys[d.Name()]; exists {
		r.refuse("state key %q is already registered by plugin %q", d.Name(), owner)
		return
	}
	r.engine.keys[d.Name()] = r.plugin
	r.engine.definitions = append(r.engine.definitions, d)
}

// Hook adds a hook. Hooks of a phase commit in the order of their registration.
func (r *Registrar) Hook(phase core.Phase, h Hook) {
	switch {
	case h == nil:
		r.refuse("hook of phase %q is nil", phase)
	case !known(phase):
		r.refuse("hook of phase %q, which does not exist", phase)
	case r.active:
		r.engine.hooks[phase] = append(r.engine.hooks[phase], hook{r.plugin, h})
	}
}

// Gate adds a gate.
func (r *Registrar) Gate(g Gate) {
	switch {
	case g == nil:
		r.refuse("gate is nil")
	case r.active:
		r.engine.gates = append(r.engine.gates, gate{r.plugin, g})
	}
}

// Tool adds a tool.
func (r *Registrar) Tool(t tool.Tool) {
	if t == nil {
		r.refuse("tool is nil")
		return
	}
	spec := t.Spec()
	if err := spec.Check(); err != nil {
		r.refuse("%w", err)
		return
	}
	if owner, exists := r.engine.toolOwners[spec.Name]; exists {
		r.refuse("tool %q is already registered by plugin %q", spec.Name, owner)
		return
	}
	r.engine.toolOwners[spec.Name] = r.plugin
	if r.active {
		r.engine.tools = append(r.engine.tools, t)
	}
}

// Action adds the handler of actions scheduled under key for phase. It holds
// even when the plugin's hooks are filtered out. The calls of a tool round run
// side by side on one state, so an action that an earlier phase scheduled for a
// tool phase runs once for each of them.
func (r *Registrar) Action(phase core.Phase, key string, h ActionHandler) {
	at := duty{phase, key}
	owner, exists := r.engine.actions[at]
	switch {
	case h == nil || key == "":
		r.refuse("action %q of phase %q has no key or no handler", key, phase)
	case !known(phase):
		r.refuse("action %q of phase %q, which does not exist", key, phase)
	case exists:
		r.refuse("action %q of phase %q is already handled by plugin %q", key, phase, owner.plugin)
	default:
		r.engine.actions[at] = actionHandler{r.plugin, h}
		r.engine.actionPhases[phase] = true
	}
}

// Effect adds the handler of effects under key. It holds even when the
// plugin's hooks are filtered out.
func (r *Registrar) Effect(key string, h EffectHandler) {
	owner, exists := r.engine.effects[key]
	switch {
	case h == nil || key == "":
		r.refuse("effect %q has no key or no handler", key)
	case exists:
		r.refuse("effect %q is already handled by plugin %q", key, owner.plugin)
	default:
		r.engine.effects[key] = effectHandler{r.plugin, h}
	}
}

func (r *Registrar) refuse(format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf(format, args...))
}

func (r *Registrar) err() error { return errors.Join(r.errs...) }

func known(phase core.Phase) bool {
	switch phase {
	case core.PhaseRunStart, core.PhaseStepStart, core.PhaseBeforeInference, core.PhaseAfterInference,
		core.PhaseBeforeToolExecute, core.PhaseAfterToolExecute, core.PhaseStepEnd, core.PhaseRunEnd:
		return true
	}
	return false
}
