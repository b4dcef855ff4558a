package plugin

import (
	"context"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/registered"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// Registrar registers the parts of one plugin. An invalid part (a phase that does not
// exist, a nil function, a key that another plugin has, a name that begins with
// "reveille.") is an error when the host is made, which names the plugin.
type Registrar struct{ to registered.Plugin }

// Registered returns what was registered so far, for the runtime.
func (r *Registrar) Registered() *registered.Plugin { return &r.to }

// Key adds a state key, a [state.Key] of any types. It holds even when the plugin's hooks
// are filtered out.
func (r *Registrar) Key(k interface{ Definition() state.Definition }) {
	r.to.Add(registered.Part{Kind: registered.Key, Value: k})
}

// Hook adds a hook to any phase, for code that looks at what all phases have, such as
// a log. Hooks of a phase commit in the order of their registration.
func (r *Registrar) Hook(phase core.Phase, h Hook[Context]) { r.on(phase, h) }

// OnRunStart adds a hook to the phase before a run's first step.
func (r *Registrar) OnRunStart(h Hook[RunStart]) { r.on(core.PhaseRunStart, h) }

// OnStepStart adds a hook to the phase in which a step starts.
func (r *Registrar) OnStepStart(h Hook[StepStart]) { r.on(core.PhaseStepStart, h) }

// OnBeforeInference adds a hook to the phase before the model is called.
func (r *Registrar) OnBeforeInference(h Hook[BeforeInference]) { r.on(core.PhaseBeforeInference, h) }

// OnAfterInference adds a hook to the phase after the model's response.
func (r *Registrar) OnAfterInference(h Hook[AfterInference]) { r.on(core.PhaseAfterInference, h) }

// OnBeforeTool adds a hook to the phase before a tool runs, once for each call.
func (r *Registrar) OnBeforeTool(h Hook[BeforeTool]) { r.on(core.PhaseBeforeToolExecute, h) }

// OnAfterTool adds a hook to the phase after a call's stored result, once for each
// call whose tool, gate or decision gave one.
func (r *Registrar) OnAfterTool(h Hook[AfterTool]) { r.on(core.PhaseAfterToolExecute, h) }

// OnStepEnd adds a hook to the phase in which a step ends.
func (r *Registrar) OnStepEnd(h Hook[StepEnd]) { r.on(core.PhaseStepEnd, h) }

// OnRunEnd adds a hook to the phase in which a run ends.
func (r *Registrar) OnRunEnd(h Hook[RunEnd]) { r.on(core.PhaseRunEnd, h) }

func (r *Registrar) on(phase core.Phase, hook any) {
	r.to.Add(registered.Part{Kind: registered.Hook, Phase: phase, Value: hook})
}

// Transform adds a change of the model's request, when everything else is in it. Transforms
// run in the order of their registration, each on the request that those before it made.
// They run for every inference, a retry and a continuation included, and must return the
// same request for the same input. The request's slices are shared: a transform replaces
// them and never writes into them. An error ends the run.
func (r *Registrar) Transform(t func(ctx context.Context, c BeforeInference, request *model.Request) error) {
	r.to.Add(registered.Part{Kind: registered.Transform, Value: t})
}

// Gate adds a gate, which decides about a tool call whose arguments are valid, before it
// runs, and again when a decision lets the call continue. The requests of its verdict's
// Command count once, with the call's result. A gate must not change anything outside
// except through effects. An error ends the run.
func (r *Registrar) Gate(g func(ctx context.Context, c GateCall) (Verdict, error)) {
	r.to.Add(registered.Part{Kind: registered.Gate, Value: g})
}

// OnRefusal adds a hook for a call that the plugin's gate has suspended without an explicit
// id, and that a decision to be remembered does not let continue: gates no longer run for
// that call. The hook's command counts with the call's result. A plugin has one at most.
func (r *Registrar) OnRefusal(h Hook[GateCall]) {
	r.to.Add(registered.Part{Kind: registered.Refusal, Value: h})
}

// ToolPattern declares that a text at a path within the agent's spec, such as
// sections.permission.rules[0].tool, matches tools by their names. A text that matches none
// of the agent's tools is a warning of the agent, and an error of a strict spec.
func (r *Registrar) ToolPattern(path, text string, matches func(name string) bool) {
	r.to.Add(registered.Part{Kind: registered.Pattern, Name: path, Text: text, Value: matches})
}

// Tool adds a tool.
func (r *Registrar) Tool(t tool.Tool) { r.to.Add(registered.Part{Kind: registered.Tool, Value: t}) }

// Delegates returns the agents that the agent's spec names as its delegates, in their order.
func (r *Registrar) Delegates() []Delegate { return slices.Clone(r.to.Delegates) }

// DelegateTool adds the tool by which the agent runs one of its delegates. The agent has it also
// if its allowed tools do not name it, since its delegates do. Its excluded tools can name it.
func (r *Registrar) DelegateTool(delegate string, t tool.Tool) {
	r.to.Add(registered.Part{Kind: registered.DelegateTool, Name: delegate, Value: t})
}
