// Package registered holds what a plugin registers, from its plugin.Registrar to the engine
// of its agent. The functions are values of the types that package plugin gives them, since
// that imports this package; the engine tells them apart.
package registered

import (
	"encoding/json"
	"fmt"

	"github.com/reveille-run/reveille/core"
)

// Prefix begins the names of the runtime's own keys, actions and effects: a later version
// may have more of them.
const Prefix = "reveille."

// The state keys of remembered answers to the questions of tools.
const (
	RunApprovals    = Prefix + "run_approvals"
	ThreadApprovals = Prefix + "thread_approvals"
)

// Plugin is what one plugin registers for one agent.
type Plugin struct {
	Sections map[string]json.RawMessage // of the agent's spec
	Values   map[string]any             // sections as the agent's plugins have read them, by name
	Parts    []Part                     // in the order of their registration

	Delegates []Delegate // of the agent's spec
}

// Delegate is an agent that another one may run.
type Delegate struct {
	ID          string
	Description string // the spec's
	Typed       bool   // its answer is JSON, by the spec's response_format
}

// Part is one thing that a plugin registers.
type Part struct {
	Kind  Kind
	Phase core.Phase // of a hook or an action
	Name  string     // of an action or effect; of a pattern its path in the spec; of a DelegateTool the delegate's id
	Text  string     // of a pattern
	Value any        // of the type that the Kind says
}

// Kind is the kind of a part.
type Kind uint8

// The kinds, each with the type of its Value.
const (
	Key          Kind = iota // interface{ Definition() state.Definition }
	Hook                     // plugin.Hook of what its phase shows, or of plugin.Context
	Gate                     // func(context.Context, plugin.GateCall) (plugin.Verdict, error)
	Refusal                  // plugin.Hook[plugin.GateCall]
	Transform                // func(context.Context, plugin.BeforeInference, *model.Request) error
	Pattern                  // func(name string) bool
	Tool                     // tool.Tool
	DelegateTool             // tool.Tool
	Action                   // func(context.Context, plugin.HandlerContext, json.RawMessage) (state.Command, error)
	Effect                   // func(context.Context, plugin.HandlerContext, json.RawMessage) error
	Refused                  // error: what was registered is wrong
)

// Add notes a part.
func (p *Plugin) Add(part Part) { p.Parts = append(p.Parts, part) }

// Refuse notes what is wrong with a registration.
func (p *Plugin) Refuse(format string, args ...any) {
	p.Add(Part{Kind: Refused, Value: fmt.Errorf(format, args...)})
}
