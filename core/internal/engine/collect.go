package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/registered"
	"github.com/reveille-run/reveille/core/internal/toolrun"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// collector adds what one plugin has registered to its engine.
type collector struct {
	engine  *Engine
	plugin  string
	active  bool     // passes the hook filter
	builtin bool     // it is the runtime itself that registers
	watcher *Watcher // nil: nothing watches
	errs    []error
}

// The functions of plugins, as the engine calls them.
type (
	hookFunc      func(ctx context.Context, m *Moment) (state.Command, error)
	gateFunc      = func(ctx context.Context, c plugin.GateCall) (plugin.Verdict, error)
	transformFunc = func(ctx context.Context, c plugin.BeforeInference, request *model.Request) error
	actionFunc    = func(ctx context.Context, c plugin.HandlerContext, payload json.RawMessage) (state.Command, error)
	effectFunc    = func(ctx context.Context, c plugin.HandlerContext, payload json.RawMessage) error
)

type (
	hook struct {
		plugin string
		run    hookFunc
	}
	gate struct {
		plugin string
		run    gateFunc
	}
	refusal struct {
		plugin string
		run    plugin.Hook[plugin.GateCall]
	}
	transform struct {
		plugin string
		run    transformFunc
	}
	effectHandler struct {
		plugin string
		run    effectFunc
	}
	actionHandler struct {
		plugin string
		run    actionFunc
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

// collect adds the parts in order. Its error names what is wrong with them.
func (t *collector) collect(parts []registered.Part) error {
	for _, p := range parts {
		switch p.Kind {
		case registered.Key:
			t.key(p.Value)
		case registered.Hook:
			t.hook(p.Phase, p.Value)
		case registered.Gate:
			t.gate(p.Value.(gateFunc))
		case registered.Refusal:
			t.refusal(p.Value.(plugin.Hook[plugin.GateCall]))
		case registered.Transform:
			t.transform(p.Value.(transformFunc))
		case registered.Pattern:
			t.pattern(p.Name, p.Text, p.Value.(func(name string) bool))
		case registered.Tool:
			t.tool(p.Value)
		case registered.DelegateTool:
			if name := t.tool(p.Value); name != "" {
				t.engine.delegateTools = append(t.engine.delegateTools, name)
			}
		case registered.Action:
			t.action(duty{p.Phase, p.Name}, p.Value.(actionFunc))
		case registered.Effect:
			t.effect(p.Name, p.Value.(effectFunc))
		case registered.Refused:
			t.errs = append(t.errs, p.Value.(error))
		}
	}
	return errors.Join(t.errs...)
}

func (t *collector) key(value any) {
	k, ok := value.(interface{ Definition() state.Definition })
	if !ok {
		t.refuse("state key is nil")
		return
	}
	d := k.Definition()
	if t.reserved("state key", d.Name()) {
		return
	}
	if owner, exists := t.engine.keys[d.Name()]; exists {
		t.refuse("state key %q is already registered by plugin %q", d.Name(), owner)
		return
	}
	t.engine.keys[d.Name()] = t.plugin
	t.engine.definitions = append(t.engine.definitions, d)
}

func (t *collector) hook(phase core.Phase, value any) {
	run, missing := called(t.plugin, value)
	if t.watcher != nil {
		run = t.watcher.hook(t.plugin, t.nth(phase), run)
	}
	switch {
	case missing:
		t.refuse("hook of phase %q is nil", phase)
	case !known(phase):
		t.refuse("hook of phase %q, which does not exist", phase)
	case t.active:
		t.engine.hooks[phase] = append(t.engine.hooks[phase], hook{t.plugin, run})
	}
}

// called returns a hook that makes of the moment what its phase shows. Each does so by
// itself, and not by a function that returns it: hooks run side by side on new goroutines,
// and each copy of what they are shown would make their stacks grow.
func called(id string, value any) (run hookFunc, missing bool) {
	switch h := value.(type) {
	case plugin.Hook[plugin.Context]:
		return func(ctx context.Context, m *Moment) (state.Command, error) { return h(ctx, m.shown(id)) }, h == nil
	case plugin.Hook[plugin.RunStart]:
		return func(ctx context.Context, m *Moment) (state.Command, error) {
			return h(ctx, plugin.RunStart{Context: m.shown(id)})
		}, h == nil
	case plugin.Hook[plugin.StepStart]:
		return func(ctx context.Context, m *Moment) (state.Command, error) {
			return h(ctx, plugin.StepStart{Context: m.shown(id)})
		}, h == nil
	case plugin.Hook[plugin.BeforeInference]:
		return func(ctx context.Context, m *Moment) (state.Command, error) {
			return h(ctx, plugin.BeforeInference{Context: m.shown(id)})
		}, h == nil
	case plugin.Hook[plugin.AfterInference]:
		return func(ctx context.Context, m *Moment) (state.Command, error) {
			return h(ctx, plugin.AfterInference{Context: m.shown(id), Turn: *m.Turn})
		}, h == nil
	case plugin.Hook[plugin.BeforeTool]:
		return func(ctx context.Context, m *Moment) (state.Command, error) {
			return h(ctx, plugin.BeforeTool{Context: m.shown(id), Turn: *m.Turn, Call: *m.Call, CallIndex: m.CallIndex, Resume: m.Resume})
		}, h == nil
	case plugin.Hook[plugin.AfterTool]:
		return func(ctx context.Context, m *Moment) (state.Command, error) {
			return h(ctx, plugin.AfterTool{Context: m.shown(id), Turn: *m.Turn, Call: *m.Call, CallIndex: m.CallIndex, Result: *m.Result})
		}, h == nil
	case plugin.Hook[plugin.StepEnd]:
		return func(ctx context.Context, m *Moment) (state.Command, error) {
			return h(ctx, plugin.StepEnd{Context: m.shown(id)})
		}, h == nil
	case plugin.Hook[plugin.RunEnd]:
		return func(ctx context.Context, m *Moment) (state.Command, error) {
			return h(ctx, plugin.RunEnd{Context: m.shown(id), Termination: *m.Termination})
		}, h == nil
	}
	return nil, true
}

// nth is the number of the hook that the plugin is about to add to a phase.
func (t *collector) nth(phase core.Phase) int {
	n := 1
	for _, h := range t.engine.hooks[phase] {
		if h.plugin == t.plugin {
			n++
		}
	}
	return n
}

func (t *collector) transform(run transformFunc) {
	switch {
	case run == nil:
		t.refuse("transform is nil")
	case t.active:
		if t.watcher != nil {
			run = t.watcher.transform(t.plugin, len(t.engine.transforms)+1, run)
		}
		t.engine.transforms = append(t.engine.transforms, transform{t.plugin, run})
	}
}

func (t *collector) gate(run gateFunc) {
	switch {
	case run == nil:
		t.refuse("gate is nil")
	case t.active:
		if t.watcher != nil {
			run = t.watcher.gate(t.plugin, len(t.engine.gates)+1, run)
		}
		t.engine.gates = append(t.engine.gates, gate{t.plugin, run})
	}
}

func (t *collector) refusal(run plugin.Hook[plugin.GateCall]) {
	switch {
	case run == nil:
		t.refuse("hook of refusals is nil")
	case slices.ContainsFunc(t.engine.refusals, func(h refusal) bool { return h.plugin == t.plugin }):
		t.refuse("there are two hooks of refusals")
	case t.active:
		t.engine.refusals = append(t.engine.refusals, refusal{t.plugin, run})
	}
}

func (t *collector) pattern(path, text string, matches func(name string) bool) {
	if matches == nil {
		t.refuse("tool pattern at %s has no function", path)
		return
	}
	t.engine.patterns = append(t.engine.patterns, toolPattern{path, text, matches})
}

// tool adds a tool, and returns its name if the agent has it.
func (t *collector) tool(value any) (name string) {
	given, _ := value.(tool.Tool)
	if t.watcher != nil && t.watcher.Tool != nil && given != nil {
		given = t.watcher.Tool(given)
	}
	admitted, err := toolrun.Admit(given)
	if err != nil {
		t.refuse("%w", err)
		return ""
	}
	name = admitted.Spec().Name
	if owner, exists := t.engine.toolOwners[name]; exists {
		t.refuse("tool %q is already registered by plugin %q", name, owner)
		return ""
	}
	t.engine.toolOwners[name] = t.plugin
	if !t.active {
		return ""
	}
	t.engine.tools = append(t.engine.tools, admitted)
	return name
}

func (t *collector) action(at duty, run actionFunc) {
	if t.reserved("action", at.key) {
		return
	}
	owner, exists := t.engine.actions[at]
	switch {
	case run == nil || at.key == "":
		t.refuse("action %q of phase %q has no key or no handler", at.key, at.phase)
	case !known(at.phase):
		t.refuse("action %q of phase %q, which does not exist", at.key, at.phase)
	case exists:
		t.refuse("action %q of phase %q is already handled by plugin %q", at.key, at.phase, owner.plugin)
	default:
		if t.watcher != nil {
			run = t.watcher.action(t.plugin, at.key, run)
		}
		t.engine.actions[at] = actionHandler{t.plugin, run}
		t.engine.actionPhases[at.phase] = true
	}
}

func (t *collector) effect(key string, run effectFunc) {
	if t.reserved("effect", key) {
		return
	}
	owner, exists := t.engine.effects[key]
	switch {
	case run == nil || key == "":
		t.refuse("effect %q has no key or no handler", key)
	case exists:
		t.refuse("effect %q is already handled by plugin %q", key, owner.plugin)
	default:
		if t.watcher != nil {
			run = t.watcher.effect(t.plugin, key, run)
		}
		t.engine.effects[key] = effectHandler{t.plugin, run}
	}
}

// reserved refuses a name that is the runtime's.
func (t *collector) reserved(what, name string) bool {
	if t.builtin || !strings.HasPrefix(name, registered.Prefix) {
		return false
	}
	t.refuse("%s %q: names that begin with %q are the runtime's", what, name, registered.Prefix)
	return true
}

func (t *collector) refuse(format string, args ...any) {
	t.errs = append(t.errs, fmt.Errorf(format, args...))
}

func known(phase core.Phase) bool {
	switch phase {
	case core.PhaseRunStart, core.PhaseStepStart, core.PhaseBeforeInference, core.PhaseAfterInference,
		core.PhaseBeforeToolExecute, core.PhaseAfterToolExecute, core.PhaseStepEnd, core.PhaseRunEnd:
		return true
	}
	return false
}
