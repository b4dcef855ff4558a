package permission

import (
	"encoding/json"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
)

// Ruling is what tests look at: which rule decides, and why.
type Ruling = ruling

// Decode reads a section.
var Decode = decode

// Judge is the ruling about a call of an agent.
func Judge(c Config, agent, tool, arguments string, s state.Snapshot) (Ruling, error) {
	return c.preview(plugin.GateCall{
		Context: plugin.Context{Agent: &plugin.Agent{ID: agent}, Snapshot: s},
		Call:    core.ToolCall{Name: tool, Arguments: json.RawMessage(arguments)},
	})
}
