package engine

import (
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/plugin"
)

// Moment is a point of a run, as the argument of the [Engine]. A value that the phase does
// not have is absent. If Call is set, the engine binds Snapshot to it, so that keys of
// [state.ScopeCall] are that call's.
type Moment struct {
	plugin.Context
	Turn        *core.Message     // the model's turn, from AfterInference on
	Call        *core.ToolCall    // gates, BeforeToolExecute, AfterToolExecute, effects of a call
	CallIndex   int               // of Call in Turn, from 0
	Resume      *core.Resume      // gates and BeforeToolExecute of a call that continues after a decision
	Granted     []string          // gates of such a call: the ids of all its suspensions that were decided to resume
	Answers     []core.Resume     // gates of such a call: what the earlier ones of these decisions said of how long they hold
	Approval    string            // gates and refusals: the question to a person before the tool runs, from its spec
	Result      *core.ToolResult  // AfterToolExecute
	Termination *core.Termination // RunEnd
	// Taken: actions that waited for the phase, with ids up to this one, are run by another
	// call of the round, on the same snapshot; 0: this call runs them.
	Taken uint64
}

// bind makes the moment as the engine's plugins see it: with its agent, and its
// snapshot bound to the agent's keys and to the call, if there is one.
func (e *Engine) bind(m *Moment) {
	m.Agent = &e.agent
	m.Snapshot = m.Snapshot.For(e.registry)
	if m.Call != nil {
		m.Snapshot = m.Snapshot.ForCall(m.CallIndex)
		m.About = m.CallIndex + 1
	}
}

// shown is what any hook or gate of a plugin sees of the moment.
func (m *Moment) shown(by string) plugin.Context {
	c := m.Context
	c.Plugin = by
	return c
}

// gateCall is what a plugin's gate sees of the moment.
func (m *Moment) gateCall(by string) plugin.GateCall {
	return plugin.GateCall{
		Context: m.shown(by), Turn: *m.Turn, Call: *m.Call, CallIndex: m.CallIndex, Resume: m.Resume, Answer: m.answer(by),
	}
}

// answer is the decision about the suspension of a plugin's gate.
func (m *Moment) answer(by string) *core.Decision {
	if m.Resume == nil && len(m.Granted) == 0 {
		return nil
	}
	id := suspensionID(m.Run, m.Step, m.CallIndex, by)
	if m.Resume != nil && m.Resume.Suspension == id {
		return &m.Resume.Decision
	}
	if i := slices.IndexFunc(m.Answers, func(r core.Resume) bool { return r.Suspension == id }); i >= 0 {
		return &m.Answers[i].Decision
	}
	if slices.Contains(m.Granted, id) {
		return &core.Decision{Action: core.DecisionResume}
	}
	return nil
}

// handler is what the handler of a plugin's action or effect sees of the moment.
func (m *Moment) handler(by, key string) plugin.HandlerContext {
	c := plugin.HandlerContext{Context: m.shown(by), Call: m.Call, CallIndex: m.CallIndex}
	c.Handles = key
	return c
}

// suspensionID names the suspension of a gate that gives it no id.
func suspensionID(run core.ID, step, call int, plugin string) string {
	return fmt.Sprintf("%s.%d.%d.%s", run, step, call, plugin)
}
