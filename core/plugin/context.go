package plugin

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/wire"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/state"
)

// Agent is what a hook may know of the agent that runs.
type Agent struct {
	ID          string
	Description string
	Model       string // id of the model in the agent's spec
	ModelName   string // the provider's name of it
	// Tools are those that the agent has, as a model may be told of them, sorted by
	// name. They are not known yet while plugins register.
	Tools []model.ToolDefinition

	sections map[string]any // as Section.Read has decoded them
}

// Tool returns one of the agent's tools.
func (a *Agent) Tool(name string) (t model.ToolDefinition, ok bool) {
	i, ok := slices.BinarySearchFunc(a.Tools, name, func(t model.ToolDefinition, name string) int { return strings.Compare(t.Name, name) })
	if ok {
		t = a.Tools[i]
	}
	return t, ok
}

// Context is what every hook, gate and handler sees, at whatever phase: each phase
// has a type of its own that adds what only that phase has. It is a value that
// must not be changed; its pointers and slices are shared.
type Context struct {
	Phase    core.Phase // empty for gates and effects
	Thread   core.ThreadKey
	User     string // on whose behalf the run is; empty: any user of the tenant
	Run      core.ID
	Agent    *Agent
	Step     int            // from 1; 0 before the first
	Snapshot state.Snapshot // for effects: after the commit
	Messages []core.Message // the thread's, as far as the model is shown them, oldest first
	Usage    core.Usage     // of the run so far

	// Now is the time of the run's record: the same when the hook runs again on the
	// same record, after a takeover or in a replay.
	Now time.Time
	// Request is what the caller sent along with the run's input, as JSON; nil:
	// nothing.
	Request json.RawMessage
	// Profiles keeps values outside of the thread, for the run's tenant; nil where
	// the host has none.
	Profiles state.Profiles

	plugin string // whose hook sees it
	key    string // of the action or effect that is handled
	call   int    // 1 + index of the call that it is about; 0: none
}

// NewID returns an id that is derived from the run, the step, the phase, the call,
// the plugin and a name that the hook chooses: a hook that runs again gets the same
// id. What one plugin does at one phase of one call, or of a step, needs a name for
// each id; gates and effects count as one phase.
func (c Context) NewID(name string) core.ID {
	h := sha256.New()
	_, _ = h.Write(c.Run[:])
	var numbers [16]byte
	binary.BigEndian.PutUint64(numbers[:8], uint64(c.Step))
	binary.BigEndian.PutUint64(numbers[8:], uint64(c.call))
	_, _ = h.Write(numbers[:])
	for _, part := range []string{string(c.Phase), c.plugin, c.key, name} {
		_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		_, _ = h.Write([]byte(part))
	}
	return wire.DerivedID(h.Sum(nil))
}

// RunStart is what a hook sees once, before a run's first step.
type RunStart struct{ Context }

// StepStart is what a hook sees when a step begins.
type StepStart struct{ Context }

// BeforeInference is what a hook sees before the model is asked: what it changes of
// the built-in keys changes the request.
type BeforeInference struct{ Context }

// AfterInference is what a hook sees of a turn that the model has said and that is not
// stored yet.
type AfterInference struct {
	Context
	Turn core.Message
}

// GateCall is what a gate sees: a call whose arguments are valid.
type GateCall struct {
	Context
	Turn      core.Message // with the call
	Call      core.ToolCall
	CallIndex int          // of Call in Turn, from 0
	Resume    *core.Resume // of a call that goes on after a decision
	// Answer is the decision about the suspension of this very plugin's gate, if that gave
	// it no id of its own; nil: there was none yet. Where the call was suspended for
	// something else since, only Action, Remember and RememberAs are known.
	Answer *core.Decision
}

// suspensionID names the suspension of a gate that gives it no id.
func suspensionID(run core.ID, step, call int, plugin string) string {
	return fmt.Sprintf("%s.%d.%d.%s", run, step, call, plugin)
}

// BeforeTool is what a hook sees of a call that the gates have let through.
type BeforeTool struct {
	Context
	Turn      core.Message // with the call
	Call      core.ToolCall
	CallIndex int          // of Call in Turn, from 0
	Resume    *core.Resume // of a call that goes on after a decision
}

// AfterTool is what a hook sees of a call and its stored result.
type AfterTool struct {
	Context
	Turn      core.Message // with the call
	Call      core.ToolCall
	CallIndex int // of Call in Turn, from 0
	Result    core.ToolResult
}

// StepEnd is what a hook sees when a step's round has closed, with all results
// among the messages.
type StepEnd struct{ Context }

// RunEnd is what a hook sees once, when a run ends, however it does.
type RunEnd struct {
	Context
	Termination core.Termination
}

// HandlerContext is what the handler of an action or effect sees.
type HandlerContext struct {
	Context
	Call      *core.ToolCall // of an action at a tool phase, or of an effect that a call asked for; else nil
	CallIndex int            // of Call in its turn, from 0
}

// Moment is a point of a run as the [Engine] is told of it. What the phase does
// not have is absent. Where Call is set, the engine binds Snapshot to it, so that
// keys of [state.ScopeCall] are that call's.
type Moment struct {
	Context
	Turn        *core.Message     // the model's turn, from AfterInference on
	Call        *core.ToolCall    // gates, BeforeToolExecute, AfterToolExecute, effects of a call
	CallIndex   int               // of Call in Turn, from 0
	Resume      *core.Resume      // gates and BeforeToolExecute of a call that goes on after a decision
	Granted     []string          // gates of such a call: the ids of all its suspensions that were decided to resume
	Answers     []core.Resume     // gates of such a call: what the earlier ones of these decisions said of how long they hold
	Approval    string            // gates and refusals: what a person is asked before the tool runs, as its spec says
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
		m.Context.call = m.CallIndex + 1
	}
}

// shown is what any hook or gate of a plugin sees of the moment.
func (m *Moment) shown(plugin string) Context {
	c := m.Context
	c.plugin = plugin
	return c
}

// gateCall is what a plugin's gate sees of the moment.
func (m *Moment) gateCall(plugin string) GateCall {
	return GateCall{m.shown(plugin), *m.Turn, *m.Call, m.CallIndex, m.Resume, m.answer(plugin)}
}

// answer is the decision about the suspension of a plugin's gate.
func (m *Moment) answer(plugin string) *core.Decision {
	if m.Resume == nil && len(m.Granted) == 0 {
		return nil
	}
	id := suspensionID(m.Run, m.Step, m.CallIndex, plugin)
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
func (m *Moment) handler(plugin, key string) HandlerContext {
	c := HandlerContext{Context: m.shown(plugin), Call: m.Call, CallIndex: m.CallIndex}
	c.key = key
	return c
}
