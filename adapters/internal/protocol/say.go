package protocol

import (
	"encoding/json"

	"github.com/reveille-run/reveille/core"
)

// EndError returns the text for clients about a run that ended with an error: the
// termination's detail, or its code if there is no detail.
func EndError(t *core.Termination) string {
	switch {
	case t.Detail != "":
		return t.Detail
	case t.Code != "":
		return "the run ended with the error " + t.Code
	}
	return "the run ended with an error"
}

// Permission returns the decision on a request for permission (see
// [core.Ticket.AsksPermission]): the call runs unchanged, or is denied. Its payload
// repeats the decision, for clients that read decisions.
func Permission(approved bool) core.Decision {
	if !approved {
		return core.Decision{Action: core.DecisionCancel, Payload: json.RawMessage(`{"approved":false}`)}
	}
	return core.Decision{Action: core.DecisionResume, Payload: json.RawMessage(`{"approved":true}`)}
}
