//go:build killpoints

package inject

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/tool"
)

// modes are the agents of the test builds, named as the mode in which each runs
// its tool rounds.
var modes = []agent.ExecutionMode{agent.Sequential, agent.ParallelBatchApproval, agent.ParallelStreaming}

// addAgents gives the build an agent for each execution mode: the first agent of
// parts, whose calls of echo also wait when they are asked to, and the tool deaf
// for all of them.
func addAgents(parts *agent.Parts) error {
	if len(parts.Specs) == 0 {
		return nil // the runtime refuses parts without an agent
	}
	parts.Tools = append(parts.Tools, newDeaf())
	parts.Plugins = append(parts.Plugins, asking{})
	for _, mode := range modes {
		spec := parts.Specs[0]
		spec.ID, spec.ExecutionMode = string(mode), mode
		spec.ExposedTools = nil // one agent exposes a tool
		spec.Plugins = append(append([]string(nil), spec.Plugins...), asking{}.ID())
		parts.Specs = append(parts.Specs, spec)
	}
	return nil
}

// asking lets a call of echo wait for a person whose text begins with "wait".
type asking struct{}

// ID implements plugin.Plugin.
func (asking) ID() string { return "asking" }

// Register implements plugin.Plugin.
func (asking) Register(r *plugin.Registrar) error {
	r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
		var arguments struct{ Text string }
		if c.Call.Name != "echo" || json.Unmarshal(c.Call.Arguments, &arguments) != nil || !strings.HasPrefix(arguments.Text, "wait") {
			return plugin.Allow, nil
		}
		return plugin.Suspend(core.TicketRequest{Action: core.ActionConfirm}), nil
	})
	return nil
}

// deafFor is the time that the tool deaf takes. It ignores its context.
const deafFor = 60 * time.Second

// newDeaf returns the tool deaf, which does not end when its context does.
func newDeaf() tool.Tool {
	return tool.New(tool.Spec{Name: "deaf", Description: "Does nothing for 60 s and ignores its context."},
		func(context.Context, tool.Call, struct{}) (tool.Result, error) {
			time.Sleep(deafFor)
			return tool.NewResult("heard nothing"), nil
		})
}

// newNap returns the tool nap, which waits for some milliseconds without a process. It records
// the execution that comes after the wait alone.
func newNap() tool.Tool {
	type arguments struct {
		Milliseconds int `json:"ms"`
	}
	return tool.New(tool.Spec{Name: "nap", Description: "Waits for some milliseconds."},
		func(_ context.Context, call tool.Call, a arguments) (tool.Result, error) {
			if call.Resume == nil {
				at := call.Now.Add(time.Duration(a.Milliseconds) * time.Millisecond)
				return tool.Suspended(core.TicketRequest{Kind: core.TicketTimer, WakeAt: at}), nil
			}
			return tool.NewResult("woken"), record(call)
		})
}
