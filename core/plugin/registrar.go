package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// Registrar takes what one plugin adds. What is wrong with it (a phase that
// does not exist, a nil function, a key that another plugin has, a name that begins
// with "reveille.") comes back from [New].
type Registrar struct {
	engine   *Engine
	plugin   string
	active   bool // passes the hook filter
	builtin  bool // it is the runtime itself that registers
	sections map[string]json.RawMessage
	watcher  *Watcher // nil: nobody watches
	errs     []error
}

// hookFunc is a hook of whatever phase, as the engine calls it.
type hookFunc func(ctx context.Context, m *Moment) (state.Command, error)

type (
	hook struct {
		plugin string
		run    hookFunc
	}
	gate struct {
		plugin string
		run    Gate
	}
	refusal struct {
		plugin string
		run    Hook[GateCall]
	}
	transform struct {
		plugin string
		run    Transform
	}
	effectHandler struct {
		plugin string
		run    EffectHandler
	}
	actionHandler struct {
		plugin string
		run    ActionHandler
	}
	toolPattern struct {
		path, text string
		matches    func(name string) bool
	}
	duty struct {
		phase core.Phase
		key   string
	}
)

// Key adds a state key, a [state.Key] of whatever types. It holds even when the
// plugin's hooks are filtered out.
func (r *Registrar) Key(k interface{ Definition() state.Definition }) {
	if k == nil {
		r.refuse("state key is nil")
		return
	}
	d := k.Definition()
	if r.reserved("state key", d.Name()) {
		return
	}
	if owner, exists := r.engine.keys[d.Name()]; exists {
		r.refuse("state key %q is already registered by plugin %q", d.Name(), owner)
		return
	}
	r.engine.keys[d.Name()] = r.plugin
	r.engine.definitions = append(r.engine.definitions, d)
}

// Hook adds a hook to any phase, for code that looks at what all phases have, such as
// a log. Hooks of a phase commit in the order of their registration.
func (r *Registrar) Hook(phase core.Phase, h Hook[Context]) {
	r.on(phase, h == nil, func(ctx context.Context, m *Moment) (state.Command, error) {
		return h(ctx, m.shown(r.plugin))
	})
}

// OnRunStart adds a hook to the phase before a run's first step.
func (r *Registrar) OnRunStart(h Hook[RunStart]) {
	r.on(core.PhaseRunStart, h == nil, func(ctx context.Context, m *Moment) (state.Command, error) {
		return h(ctx, RunStart{m.shown(r.plugin)})
	})
}

// OnStepStart adds a hook to the phase in which a step begins.
func (r *Registrar) OnStepStart(h Hook[StepStart]) {
	r.on(core.PhaseStepStart, h == nil, func(ctx context.Context, m *Moment) (state.Command, error) {
		return h(ctx, StepStart{m.shown(r.plugin)})
	})
}

// OnBeforeInference adds a hook to the phase before the model is asked.
func (r *Registrar) OnBeforeInference(h Hook[BeforeInference]) {
	r.on(core.PhaseBeforeInference, h == nil, func(ctx context.Context, m *Moment) (state.Command, error) {
		return h(ctx, BeforeInference{m.shown(r.plugin)})
	})
}

// OnAfterInference adds a hook to the phase behind the model's turn.
func (r *Registrar) OnAfterInference(h Hook[AfterInference]) {
	r.on(core.PhaseAfterInference, h == nil, func(ctx context.Context, m *Moment) (state.Command, error) {
		return h(ctx, AfterInference{m.shown(r.plugin), *m.Turn})
	})
}

// OnBeforeTool adds a hook to the phase before a tool runs, once for each call.
func (r *Registrar) OnBeforeTool(h Hook[BeforeTool]) {
	r.on(core.PhaseBeforeToolExecute, h == nil, func(ctx context.Context, m *Moment) (state.Command, error) {
		return h(ctx, BeforeTool{m.shown(r.plugin), *m.Turn, *m.Call, m.CallIndex, m.Resume})
	})
}

// OnAfterTool adds a hook to the phase behind a call's stored result, once for each
// call whose tool, gate or decision gave one.
func (r *Registrar) OnAfterTool(h Hook[AfterTool]) {
	r.on(core.PhaseAfterToolExecute, h == nil, func(ctx context.Context, m *Moment) (state.Command, error) {
		return h(ctx, AfterTool{m.shown(r.plugin), *m.Turn, *m.Call, m.CallIndex, *m.Result})
	})
}

// OnStepEnd adds a hook to the phase in which a step ends.
func (r *Registrar) OnStepEnd(h Hook[StepEnd]) {
	r.on(core.PhaseStepEnd, h == nil, func(ctx context.Context, m *Moment) (state.Command, error) {
		return h(ctx, StepEnd{m.shown(r.plugin)})
	})
}

// OnRunEnd adds a hook to the phase in which a run ends.
func (r *Registrar) OnRunEnd(h Hook[RunEnd]) {
	r.on(core.PhaseRunEnd, h == nil, func(ctx context.Context, m *Moment) (state.Command, error) {
		return h(ctx, RunEnd{m.shown(r.plugin), *m.Termination})
	})
}

// on adds a hook that makes of the moment what its phase shows. It does so by itself,
// and not by a function that returns it: hooks run side by side on new goroutines,
// and each copy of what they are shown would make their stacks grow.
func (r *Registrar) on(phase core.Phase, missing bool, run hookFunc) {
	if r.watcher != nil {
		run = r.watcher.hook(r.plugin, r.nth(phase), run)
	}
	switch {
	case missing:
		r.refuse("hook of phase %q is nil", phase)
	case !known(phase):
		r.refuse("hook of phase %q, which does not exist", phase)
	case r.active:
		r.engine.hooks[phase] = append(r.engine.hooks[phase], hook{r.plugin, run})
	}
}

// nth is the number of the hook that the plugin is about to add to a phase.
func (r *Registrar) nth(phase core.Phase) int {
	n := 1
	for _, h := range r.engine.hooks[phase] {
		if h.plugin == r.plugin {
			n++
		}
	}
	return n
}

// Transform adds a change of the model's request.
func (r *Registrar) Transform(t Transform) {
	switch {
	case t == nil:
		r.refuse("transform is nil")
	case r.active:
		if r.watcher != nil {
			t = r.watcher.transform(r.plugin, len(r.engine.transforms)+1, t)
		}
		r.engine.transforms = append(r.engine.transforms, transform{r.plugin, t})
	}
}

// Gate adds a gate.
func (r *Registrar) Gate(g Gate) {
	switch {
	case g == nil:
		r.refuse("gate is nil")
	case r.active:
		if r.watcher != nil {
			g = r.watcher.gate(r.plugin, len(r.engine.gates)+1, g)
		}
		r.engine.gates = append(r.engine.gates, gate{r.plugin, g})
	}
}

// OnRefusal adds what follows when a decision that is to be remembered does not let a
// call go on that the plugin's gate has let wait, under no id of its own: gates are not
// asked about it any more. The hook's command counts with the call's result. A plugin has
// one at most.
func (r *Registrar) OnRefusal(h Hook[GateCall]) {
	switch {
	case h == nil:
		r.refuse("hook of refusals is nil")
	case slices.ContainsFunc(r.engine.refusals, func(h refusal) bool { return h.plugin == r.plugin }):
		r.refuse("there are two hooks of refusals")
	case r.active:
		r.engine.refusals = append(r.engine.refusals, refusal{r.plugin, h})
	}
}

// ToolPattern says that a text at a path within the agent's spec, such as
// sections.permission.rules[0].tool, stands for tools by their names. One that stands for
// none of the agent's is a warning of the agent, and an error of a strict spec.
func (r *Registrar) ToolPattern(path, text string, matches func(name string) bool) {
	if matches == nil {
		r.refuse("tool pattern at %s has no function", path)
		return
	}
	r.engine.patterns = append(r.engine.patterns, toolPattern{path, text, matches})
}

// Tool adds a tool.
func (r *Registrar) Tool(t tool.Tool) {
	if r.watcher != nil && r.watcher.Tool != nil && t != nil {
		t = r.watcher.Tool(t)
	}
	admitted, err := tool.Admit(t)
	if err != nil {
		r.refuse("%w", err)
		return
	}
	name := admitted.Spec().Name
	if owner, exists := r.engine.toolOwners[name]; exists {
		r.refuse("tool %q is already registered by plugin %q", name, owner)
		return
	}
	r.engine.toolOwners[name] = r.plugin
	if r.active {
		r.engine.tools = append(r.engine.tools, admitted)
	}
}

// Action adds the handler of actions scheduled under key for phase. It holds
// even when the plugin's hooks are filtered out. An action that an earlier phase
// has scheduled for a tool phase runs once, with the first call that comes to it.
func (r *Registrar) Action(phase core.Phase, key string, h ActionHandler) {
	if r.reserved("action", key) {
		return
	}
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
		if r.watcher != nil {
			h = r.watcher.action(r.plugin, key, h)
		}
		r.engine.actions[at] = actionHandler{r.plugin, h}
		r.engine.actionPhases[phase] = true
	}
}

// Effect adds the handler of effects under key. It holds even when the
// plugin's hooks are filtered out.
func (r *Registrar) Effect(key string, h EffectHandler) {
	if r.reserved("effect", key) {
		return
	}
	owner, exists := r.engine.effects[key]
	switch {
	case h == nil || key == "":
		r.refuse("effect %q has no key or no handler", key)
	case exists:
		r.refuse("effect %q is already handled by plugin %q", key, owner.plugin)
	default:
		if r.watcher != nil {
			h = r.watcher.effect(r.plugin, key, h)
		}
		r.engine.effects[key] = effectHandler{r.plugin, h}
	}
}

// runtimePrefix begins the names of the runtime's own keys, actions and effects: a
// later version may have more of them.
const runtimePrefix = "reveille."

// reserved refuses a name that is the runtime's.
func (r *Registrar) reserved(what, name string) bool {
	if r.builtin || !strings.HasPrefix(name, runtimePrefix) {
		return false
	}
	r.refuse("%s %q: names that begin with %q are the runtime's", what, name, runtimePrefix)
	return true
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
