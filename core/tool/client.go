package tool

import (
	"context"
	"encoding/json"

	"github.com/reveille-run/reveille/core"
)

// Client makes a tool that has no code here: the client runs it. A call of it is
// suspended, and the client's output, which comes as a decision, is its result.
// Without Parameters in the spec any JSON object is taken as arguments. [NewClient]
// infers them from a type.
func Client(spec Spec) (Tool, error) {
	spec.Client = true
	if spec.Parameters == nil {
		spec.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return Typed(spec, func(_ context.Context, call Call, _ map[string]any) (Result, error) {
		return clientCall(spec.Name, call), nil
	})
}

// clientCall makes a call wait for its client.
func clientCall(name string, call Call) Result {
	parameters := orEmpty(call.Arguments) // as the model wrote them: a map would round large numbers
	return Suspended(core.TicketRequest{
		Suspension: core.Suspension{Action: "tool:" + name, Parameters: parameters},
		Mode:       core.ResumeAsResult, Kind: core.TicketClient,
	})
}
