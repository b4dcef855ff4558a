package httpapi

import (
	"encoding/json"

	"github.com/reveille-run/reveille/core"
)

// short is the body of an event that has no more than this, as nearly all have: the deltas,
// and what tells of steps, calls and responses. To encode a body takes time for each field
// that it could have, and these are few.
type short struct {
	Step       int              `json:"step,omitempty"`
	MessageID  string           `json:"message_id,omitempty"`
	Delta      string           `json:"delta,omitempty"`
	CallID     string           `json:"id,omitempty"`
	Name       string           `json:"name,omitempty"`
	Arguments  json.RawMessage  `json:"arguments,omitempty"`
	Result     json.RawMessage  `json:"result,omitempty"`
	Outcome    core.CallOutcome `json:"outcome,omitempty"`
	Status     string           `json:"status,omitempty"`
	Model      string           `json:"model,omitempty"`
	Usage      *core.Usage      `json:"usage,omitempty"`
	StopReason core.StopReason  `json:"stop_reason,omitempty"`
	Duration   int64            `json:"duration_ms,omitempty"`
}

// shortOf returns the short body of an event.
func shortOf(e *core.Event) short {
	return short{
		Step: e.Step, MessageID: e.MessageID, Delta: e.Delta, CallID: e.CallID, Name: e.Name,
		Arguments: e.Arguments, Result: e.Result, Outcome: e.Outcome, Status: e.Status,
		Model: e.Model, Usage: e.Usage, StopReason: e.StopReason, Duration: e.Duration,
	}
}

// isShort reports whether the fields of short are all that the event has besides its
// envelope.
func isShort(e *core.Event) bool {
	texts := len(e.ThreadID) + len(e.AgentID) + len(e.Origin) + len(e.ActivityType) + len(e.DecisionID) + len(e.Action) +
		len(e.Reason) + len(e.From) + len(e.Response) + len(e.Error) + len(e.Code)
	values := len(e.Content) + len(e.EncryptedValue) + len(e.Metadata) + len(e.Patch) + len(e.Snapshot) + len(e.Messages)
	return texts == 0 && values == 0 && !e.Replace && !e.IsError && e.Ticket == nil && e.Termination == nil && e.Failed == 0 && e.Wait == 0 &&
		e.UpTo == 0 && e.TokensBefore == 0 && e.TokensAfter == 0 && e.Revision == 0 && e.Steps == 0
}
