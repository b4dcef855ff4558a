package protocol

import (
	"encoding/json"

	"github.com/reveille-run/reveille/core"
)

// EndError returns what a client reads about a run that ended with an error: the
// termination's detail, else its code.
func EndError(t *core.Termination) string {
	switch {
	case t.Detail != "":
		return t.Detail
	case t.Code != "":
		return "the run ended with the error " + t.Code
	}
	return "the run ended with an error"
}

// Permission returns the decision of a person on a request for permission (see
// [core.Ticket.AsksPermission]): the call runs as it is, or is denied. Its payload says the
// same, for clients that read decisions back.
func Permission(approved bool) core.Decision {
	if !approved {
		return core.Decision{Action: core.DecisionCancel, Payload: json.RawMessage(`{"approved":false}`)}
	}
	return core.Decision{Action: core.DecisionResume, Payload: json.RawMessage(`{"approved":true}`)}
}
