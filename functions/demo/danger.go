package demo

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/tool"
)

// Danger returns the tool danger, which stands for what nobody may do without
// being asked: see [Confirm]. It counts how often it ran with each text in this
// process, so that a second execution shows.
func Danger() (tool.Tool, error) {
	type arguments struct {
		Text string `json:"text" jsonschema:"what to do"`
	}
	type reply struct {
		Text       string `json:"text"`
		Executions int    `json:"executions"`
	}
	var mu sync.Mutex
	executions := map[string]int{}
	return tool.Typed(tool.Spec{Name: "danger", Description: "Does something that a person must approve first."},
		func(_ context.Context, _ tool.Call, a arguments) (tool.Result, error) {
			mu.Lock()
			defer mu.Unlock()
			executions[a.Text]++
			return tool.JSON(reply{a.Text, executions[a.Text]})
		})
}

// Confirm is the plugin that lets calls of some tools wait until a person has
// approved them.
type Confirm struct {
	Tools []string // names
}

// ID implements plugin.Plugin.
func (Confirm) ID() string { return "confirm" }

// Register implements plugin.Plugin.
func (p Confirm) Register(r *plugin.Registrar) error {
	asked := map[string]bool{}
	for _, name := range p.Tools {
		asked[name] = true
	}
	r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
		if !asked[c.Call.Name] {
			return plugin.Allow, nil
		}
		parameters, err := core.EncodeJSON(permission{c.Call.Name, c.Call.Arguments})
		if err != nil {
			return plugin.Verdict{}, err
		}
		return plugin.Suspend(core.TicketRequest{
			Suspension: core.Suspension{
				Action: "tool:PermissionConfirm", Message: "May the agent use the tool " + c.Call.Name + "?", Parameters: parameters,
			},
			Mode: core.ResumeReplay, Kind: core.TicketPerson,
		}), nil
	})
	return nil
}

// permission is what a person is asked to approve.
type permission struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// AskUser returns the tool ask_user, which the client runs: the run waits until
// the client has sent the person's answer.
func AskUser() (tool.Tool, error) {
	return tool.Client(tool.Spec{
		Name: "ask_user", Description: "Asks the user a question and waits for the answer.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"question":{"type":"string","description":"what to ask"}},"required":["question"],"additionalProperties":false}`),
	})
}
