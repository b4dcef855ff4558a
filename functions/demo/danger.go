package demo

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/reveille-run/reveille/core/tool"
)

// Danger returns the tool danger, which stands for what nobody may do without
// being asked: the demo's rules say so. It counts how often it ran with each text in this
// process, so that a second execution shows; outside of it nothing happens.
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
	return tool.Typed(tool.Spec{Name: "danger", Description: "Does something that a person must approve first.", ReadOnly: true},
		func(_ context.Context, _ tool.Call, a arguments) (tool.Result, error) {
			mu.Lock()
			defer mu.Unlock()
			executions[a.Text]++
			return tool.JSON(reply{a.Text, executions[a.Text]})
		})
}

// AskUser returns the tool ask_user, which the client runs: the run waits until
// the client has sent the person's answer.
func AskUser() (tool.Tool, error) {
	return tool.Client(tool.Spec{
		Name: "ask_user", Description: "Asks the user a question and waits for the answer.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"question":{"type":"string","description":"what to ask"}},"required":["question"],"additionalProperties":false}`),
	})
}
