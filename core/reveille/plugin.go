package reveille

import (
	"github.com/reveille-run/reveille/core/plugin"
)

// What plugins are made of.
type (
	// Plugin takes part in runs of the agents whose spec names it. [NewPlugin] makes one.
	Plugin = plugin.Plugin
	// Registrar takes what a plugin adds: hooks, gates, keys, tools, handlers, transforms.
	Registrar = plugin.Registrar

	// What the hooks of a phase see. The phases of a run are in this order; the tool gate
	// comes before BeforeTool.
	RunStart        = plugin.RunStart
	StepStart       = plugin.StepStart
	BeforeInference = plugin.BeforeInference
	AfterInference  = plugin.AfterInference
	BeforeTool      = plugin.BeforeTool
	AfterTool       = plugin.AfterTool
	StepEnd         = plugin.StepEnd
	RunEnd          = plugin.RunEnd

	// GateCall is what a gate sees of a call whose arguments are valid.
	GateCall = plugin.GateCall
	// Verdict is what a gate says about a call: [Allow], [Block], [SetResult], [Suspend].
	Verdict = plugin.Verdict
	// HandlerContext is what handlers of actions and effects see.
	HandlerContext = plugin.HandlerContext
	// ContextMessage is what the model reads beside the conversation, see
	// [AddContextMessage].
	ContextMessage = plugin.ContextMessage
)

// What plugins have by name.
type (
	// Action is work for a phase of the same run: Schedule asks for it, Handle does it.
	Action[P any] = plugin.Action[P]
	// Effect is what happens in the world once the step is stored, at most once: Emit asks
	// for it, Handle does it.
	Effect[P any] = plugin.Effect[P]
	// Section is a plugin's part of an agent's spec: Read decodes it, Setting makes one.
	Section[C any] = plugin.Section[C]
)

// NewPlugin makes a plugin of a function, which is called for each agent that names the
// plugin. Its error is an error of [New].
func NewPlugin(id string, register func(r *Registrar) error) Plugin {
	return function{id, register}
}

// AddContextMessage is the action that adds to what the model reads: its Schedule takes a
// [ContextMessage].
var AddContextMessage = plugin.AddContextMessage

// Allow is the verdict that lets a call run, if no other gate says otherwise.
var Allow = plugin.Allow

// Block is the verdict that ends the run before the call runs.
func Block(reason string) Verdict { return plugin.Block(reason) }

// SetResult is the verdict that gives a call its result; its tool does not run.
func SetResult(r ToolResult) Verdict { return plugin.SetResult(r.ToolResult) }

// Suspend is the verdict that lets a call wait for a decision.
func Suspend(request TicketRequest) Verdict { return plugin.Suspend(request) }

// function is a Plugin whose Register is a function.
type function struct {
	id       string
	register func(r *Registrar) error
}

// ID implements [Plugin].
func (f function) ID() string { return f.id }

// Register implements [Plugin].
func (f function) Register(r *Registrar) error { return f.register(r) }
