package reveille

import (
	"github.com/reveille-run/reveille/core/plugin"
)

// Types that define plugins.
type (
	// Plugin takes part in runs of the agents whose spec names it. [NewPlugin] makes one.
	Plugin = plugin.Plugin
	// Registrar registers the parts of a plugin: hooks, gates, keys, tools, handlers,
	// transforms.
	Registrar = plugin.Registrar

	// The arguments of hooks, one type for each phase, in the order of the phases of a run. The
	// tool gate precedes BeforeTool.
	RunStart        = plugin.RunStart
	StepStart       = plugin.StepStart
	BeforeInference = plugin.BeforeInference
	AfterInference  = plugin.AfterInference
	BeforeTool      = plugin.BeforeTool
	AfterTool       = plugin.AfterTool
	StepEnd         = plugin.StepEnd
	RunEnd          = plugin.RunEnd

	// GateCall is a call whose arguments are valid, as a gate reads it.
	GateCall = plugin.GateCall
	// Verdict is the decision of a gate about a call: [Allow], [Block], [SetResult], [Suspend].
	Verdict = plugin.Verdict
	// HandlerContext is the first argument of handlers of actions and effects.
	HandlerContext = plugin.HandlerContext
	// ContextMessage is a text that the model reads in addition to the conversation, see
	// [AddContextMessage].
	ContextMessage = plugin.ContextMessage
)

// Parts of a plugin that have a name.
type (
	// Action is work for a phase of the same run: Schedule requests it, Handle performs it.
	Action[P any] = plugin.Action[P]
	// Effect is a change outside of the thread, made at most once, after the step is stored:
	// Emit requests it, Handle performs it.
	Effect[P any] = plugin.Effect[P]
	// Section is a plugin's part of an agent's spec: Read decodes it, Setting makes one.
	Section[C any] = plugin.Section[C]
)

// NewPlugin makes a plugin of a function, which is called for each agent that names the
// plugin. Its error is an error of [New].
func NewPlugin(id string, register func(r *Registrar) error) Plugin {
	return function{id, register}
}

// AddContextMessage is the action that adds a text to a model's request: its Schedule takes a
// [ContextMessage].
var AddContextMessage = plugin.AddContextMessage

// Allow is the verdict that lets a call run, unless another gate decides otherwise.
var Allow = plugin.Allow

// Block is the verdict that ends the run before the call runs.
func Block(reason string) Verdict { return plugin.Block(reason) }

// SetResult is the verdict that gives a call its result; its tool does not run.
func SetResult(r ToolResult) Verdict { return plugin.SetResult(r.ToolResult) }

// Suspend is the verdict that lets a call wait for a decision.
func Suspend(request TicketRequest) Verdict { return plugin.Suspend(request) }

// function implements Plugin with a Register function.
type function struct {
	id       string
	register func(r *Registrar) error
}

// ID implements [Plugin].
func (f function) ID() string { return f.id }

// Register implements [Plugin].
func (f function) Register(r *Registrar) error { return f.register(r) }
