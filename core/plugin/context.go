package plugin

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
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
	// Tools are the agent's tools, as a model may see them, sorted by name. They are not
	// known yet while plugins register.
	Tools []model.ToolDefinition
	// Sections has what plugins have read of the spec's sections, by name: see [Section.Of].
	Sections map[string]any
}

// Tool returns one of the agent's tools.
func (a *Agent) Tool(name string) (t model.ToolDefinition, ok bool) {
	i, ok := slices.BinarySearchFunc(a.Tools, name, func(t model.ToolDefinition, name string) int { return strings.Compare(t.Name, name) })
	if ok {
		t = a.Tools[i]
	}
	return t, ok
}

// Context is what every hook, gate and handler sees, at every phase: each phase has a
// separate type that adds the values of that phase. It is a value that must not be changed;
// its pointers and slices are shared.
type Context struct {
	Phase    core.Phase // empty for gates and effects
	Thread   core.ThreadKey
	User     string // on whose behalf the run is; empty: any user of the tenant
	Run      core.ID
	Agent    *Agent
	Step     int            // from 1; 0 before the first
	Snapshot state.Snapshot // for effects: after the commit
	Messages []core.Message // the thread's, within the model's window, oldest first
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

	// Plugin, Handles and About are what NewID distinguishes in addition to run, step and
	// phase. They are the id of the plugin whose function sees this, the action or effect
	// that a handler handles, and 1 + the index of the call that it is about, or 0.
	Plugin  string
	Handles string
	About   int
}

// NewID returns an id that is derived from the run, the step, the phase, the call,
// the plugin and a name that the hook chooses: a hook that runs again gets the same
// id. Within one phase of one call, or of a step, a plugin needs a name for each id; gates
// and effects count as one phase.
func (c Context) NewID(name string) core.ID {
	h := sha256.New()
	_, _ = h.Write(c.Run[:])
	var numbers [16]byte
	binary.BigEndian.PutUint64(numbers[:8], uint64(c.Step))
	binary.BigEndian.PutUint64(numbers[8:], uint64(c.About))
	_, _ = h.Write(numbers[:])
	for _, part := range []string{string(c.Phase), c.Plugin, c.Handles, name} {
		_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		_, _ = h.Write([]byte(part))
	}
	return wire.DerivedID(h.Sum(nil))
}

// RunStart is what a hook sees once, before a run's first step.
type RunStart struct{ Context }

// StepStart is the argument of a hook at the start of a step.
type StepStart struct{ Context }

// BeforeInference is the argument of a hook before the model is called: its changes of the
// built-in keys change the request.
type BeforeInference struct{ Context }

// AfterInference is the argument of a hook after an inference, with the turn, which is not
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
	Resume    *core.Resume // of a call that continues after a decision
	// Answer is the decision about the suspension of this very plugin's gate, if that has
	// no explicit id; nil: no decision yet. If the call was suspended for something else
	// since, only Action, Remember and RememberAs are known.
	Answer *core.Decision
}

// BeforeTool is what a hook sees of a call that the gates have let through.
type BeforeTool struct {
	Context
	Turn      core.Message // with the call
	Call      core.ToolCall
	CallIndex int          // of Call in Turn, from 0
	Resume    *core.Resume // of a call that continues after a decision
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
