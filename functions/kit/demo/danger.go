package demo

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/reveille-run/reveille/core/tool"
)

// danger returns the tool danger, which waits for an approval by the rules of the demo. It
// counts its executions for each text in this process, so that a second execution is
// visible. It has no other effect. A call that is repeated after a crash has the same key
// and is counted once.
func danger() tool.Tool {
	type arguments struct {
		Text string `json:"text" jsonschema:"what to do"`
	}
	type reply struct {
		Text       string `json:"text"`
		Executions int    `json:"executions"`
	}
	var mu sync.Mutex
	executions, done := map[string]int{}, map[string]reply{} // by text, and by the key of the call
	return tool.New(tool.Spec{Name: "danger", Description: "Does something that a person must approve first."},
		func(_ context.Context, call tool.Call, a arguments) (reply, error) {
			mu.Lock()
			defer mu.Unlock()
			before, again := done[call.Key()]
			if again {
				return before, nil
			}
			executions[a.Text]++
			done[call.Key()] = reply{a.Text, executions[a.Text]}
			return done[call.Key()], nil
		})
}

// askUser returns the tool ask_user, which the client runs: the run waits until the client
// has sent the user's answer.
func askUser() tool.Tool {
	return tool.NewClient[map[string]any](tool.Spec{
		Name: "ask_user", Description: "Asks the user a question and waits for the answer.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"question":{"type":"string","description":"what to ask"}},"required":["question"],"additionalProperties":false}`),
	})
}
