package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
)

// The state of the agents' plugins. Every hook and some tools add their name to the run's
// trail and one to the thread's count, and send it as mail: so each command shows in the
// state whether it was applied, and how often.
var (
	trailKey = state.List[string]("trail", state.ScopeRun)
	countKey = state.Key[int, int]{Name: "count", Scope: state.ScopeThread, Commutative: true,
		Apply: func(v, add int) int { return v + add }}
	lastKey = state.Key[string, string]{Name: "last", Scope: state.ScopeRun,
		Apply: func(_, set string) string { return set }}
	// seatKey is for one call of each step: the change of another does not apply.
	seatKey = state.Key[int, int]{Name: "seat", Scope: state.ScopeRun, Apply: func(had, step int) int {
		if had == step {
			panic("the seat is taken")
		}
		return step
	}}
	callsKey = state.Key[string, string]{Name: "call", Scope: state.ScopeCall,
		Apply: func(_, set string) string { return set }}
	mail = plugin.Effect[string]{Name: "mail"}
)

// An agent has the gate alone, also keys, or keys and hooks.
const (
	agentBare   = "bare"
	agentShort  = "short"  // ends early; a call is done as soon as its result is stored
	agentHooked = "hooked" // hooks in every phase but RunEnd; a failed inference is a step of its runs
	agentEnding = "ending" // in every phase
)

// modelOf is the provider's name of an agent's model; its price is known.
var modelOf = map[string]string{agentBare: "gpt-4o-mini", agentShort: "gpt-4.1-nano", agentHooked: "gpt-4o", agentEnding: "scripted"}

// models are the agents', each under the agent's id.
func (sc scripted) models() map[string]agent.ModelBinding {
	bound := map[string]agent.ModelBinding{}
	for _, id := range agents {
		bound[id] = agent.ModelBinding{Model: scriptedModel(sc), Name: modelOf[id]}
	}
	return bound
}

// shortRounds is how many steps of a short agent may call tools.
const shortRounds = 2

var agents = []string{agentBare, agentShort, agentHooked, agentEnding}

// keeps reports whether an agent has the keys and the effect.
func keeps(agent string) bool { return agent != agentBare }

// parts is what the runtimes of a world are built of.
func (sc scripted) parts() agent.Parts {
	return sc.partsWith(sc.w)
}

// partsWith is parts with hooks that look at a world while they run; nil: at none, as
// in a replay, which comes when the world is over.
func (sc scripted) partsWith(seen *World) agent.Parts {
	rounds := shortRounds
	parts := agent.Parts{
		Models:  sc.models(),
		Tools:   sc.tools(),
		Plugins: []plugin.Plugin{ledger(sc), trail{sc.w, seen}, farewell{sc.w, seen}, guard{sc.w, seen}},
		Specs: []agent.Spec{
			{ID: agentBare, Model: agentBare, Plugins: []string{"guard"}},
			{ID: agentShort, Model: agentShort, ExecutionMode: agent.ParallelBatchApproval, MaxRounds: &rounds, Events: agent.EventsLive, Plugins: []string{"ledger", "guard"}},
			{
				ID: agentHooked, Model: agentHooked, ExecutionMode: agent.ParallelStreaming, Plugins: []string{"ledger", "trail", "guard"},
				Retry: agent.Retry{MaxRetries: new(0)}, Stop: []agent.StopSpec{{Type: agent.StopConsecutiveErrors, Max: errorLimit}},
			},
			{ID: agentEnding, Model: agentEnding, Plugins: []string{"ledger", "trail", "farewell", "guard"}},
		},
	}
	parts.Catalog = sc.knownModels()
	sc.w.config.impatient(parts.Specs)
	sc.addPools(&parts)
	for i := range parts.Specs {
		parts.Specs[i].Context = sc.context()
	}
	return parts
}

// ledger is the plugin of the keys and of the effect.
type ledger struct{ w *World }

// ID implements plugin.Plugin.
func (ledger) ID() string { return "ledger" }

// Register implements plugin.Plugin.
func (p ledger) Register(r *plugin.Registrar) error {
	r.Key(trailKey)
	r.Key(countKey)
	r.Key(lastKey)
	r.Key(callsKey)
	r.Key(seatKey)
	r.Key(bulkKey)
	mail.Handle(r, p.w.scripted.deliverMail)
	return nil
}

// trail is the plugin of every phase but RunEnd.
type trail struct{ of, w *World } // w: that it looks at

// ID implements plugin.Plugin.
func (trail) ID() string { return "trail" }

// Register implements plugin.Plugin.
func (p trail) Register(r *plugin.Registrar) error {
	for _, phase := range []core.Phase{core.PhaseRunStart, core.PhaseBeforeInference, core.PhaseAfterInference} {
		r.Hook(phase, p.pass)
	}
	r.OnStepStart(p.stepStart)
	r.OnBeforeTool(p.beforeTool)
	r.OnAfterTool(p.afterTool)
	r.OnStepEnd(p.stepEnd)
	r.OnStepEnd(p.second) // collides with the first on an exclusive key
	return nil
}

func (trail) pass(_ context.Context, c plugin.Context) (state.Command, error) {
	return trailCommand(hookName(c.Phase, c.Step, nil)), nil
}

func (p trail) stepStart(ctx context.Context, c plugin.StepStart) (state.Command, error) {
	if c.Step > 1 && p.w != nil {
		p.w.partition(c.Thread).state.logged.checkSeen(p.w.current().host, c.Snapshot)
	}
	return p.pass(ctx, c.Context)
}

func (trail) beforeTool(_ context.Context, c plugin.BeforeTool) (state.Command, error) {
	name := hookName(c.Phase, c.Step, &c.Call)
	command := state.Combine(trailCommand(name), callsKey.Update(name))
	if trait(name, 30, 2) == 0 {
		command.Append(lastKey.Update(name)) // collides with siblings', and runs again
	}
	return command, nil
}

func (p trail) afterTool(_ context.Context, c plugin.AfterTool) (state.Command, error) {
	if p.w != nil {
		p.w.partition(c.Thread).state.calls.checkCallValue(c)
	}
	return trailCommand(hookName(c.Phase, c.Step, &c.Call)), nil
}

func (p trail) stepEnd(_ context.Context, c plugin.StepEnd) (state.Command, error) {
	name := hookName(c.Phase, c.Step, nil)
	return state.Combine(trailCommand(name), lastKey.Update(name), p.of.scripted.grows(fmt.Sprintf("%s.%d", c.Run, c.Step), 63, 15)), nil
}

func (trail) second(_ context.Context, c plugin.StepEnd) (state.Command, error) {
	name := hookName(c.Phase, c.Step, nil) + ".2"
	return state.Combine(trailCommand(name), lastKey.Update(name)), nil
}

// hookName names one run of a hook.
func hookName(phase core.Phase, step int, call *core.ToolCall) string {
	if call != nil {
		return string(phase) + "." + callKey(string(call.Arguments))
	}
	return fmt.Sprintf("%s.%d", phase, step)
}

// trailCommand is what every hook, and some tools, ask for.
func trailCommand(name string) state.Command {
	return state.Combine(trailKey.Update(name), countKey.Update(1), mail.Emit(name))
}

// farewell is the plugin with a RunEnd hook.
type farewell struct{ of, w *World }

// ID implements plugin.Plugin.
func (farewell) ID() string { return "farewell" }

// Register implements plugin.Plugin.
func (p farewell) Register(r *plugin.Registrar) error {
	r.OnRunEnd(p.hook)
	return nil
}

func (p farewell) hook(ctx context.Context, c plugin.RunEnd) (state.Command, error) {
	w := p.w
	command := state.Combine(trailCommand(hookName(c.Phase, 0, nil)), p.of.scripted.grows(c.Run.String(), 64, 2))
	if w == nil {
		return command, nil
	}
	h, th := w.current().host, w.partition(c.Thread).state
	w.scripted.poison(h, th, th.inputs.textOf(th.p.head.Run.Dispatch), 'e')
	if err := h.work(ctx, SiteTool, 100*time.Millisecond); err != nil {
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) { // it had the time of a lease
			th.runs.hung[c.Run] = true
		}
		return state.Command{}, err
	}
	if c.Termination.Type == "" {
		th.fail("RunEnd of run %s receives no termination", c.Run)
		return state.Command{}, nil
	}
	th.runs.seen[c.Run] = append(th.runs.seen[c.Run], c.Termination)
	return command, nil
}

// deliverMail is the effect.
func (sc scripted) deliverMail(ctx context.Context, c plugin.HandlerContext, name string) error {
	h, th := sc.w.current().host, sc.w.partition(c.Thread).state
	if err := h.work(ctx, SiteEffect, 20*time.Millisecond); err != nil {
		return err
	}
	th.calls.effect(c.Run, name)
	return nil
}

// effect counts mail.
func (ca *calls) effect(run core.ID, name string) {
	ca.th.w.Stats.Steps.Effects++
	key := run.String() + " " + name
	if ca.effects[key]++; ca.effects[key] > 1 {
		ca.th.fail("the effect %s of run %s happens %d times", name, run, ca.effects[key])
	}
}

// checkCallValue: what BeforeToolExecute noted for its call is there after it.
func (ca *calls) checkCallValue(c plugin.AfterTool) {
	value, err := callsKey.Read(c.Snapshot)
	if want := hookName(core.PhaseBeforeToolExecute, c.Step, &c.Call); err != nil || value != want && value != "" {
		ca.th.fail("AfterToolExecute of %s reads %q of its call (%v)", want, value, err)
	}
}
