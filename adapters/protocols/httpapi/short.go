package httpapi

import "github.com/reveille-run/reveille/core"

// short is the body of an event that has no more than this, as most have: the deltas, and
// the starts and ends of steps and calls. To encode a body takes time for each field that
// it could have, and these are few.
type short struct {
	Step      int    `json:"step,omitempty"`
	MessageID string `json:"message_id,omitempty"`
	Delta     string `json:"delta,omitempty"`
	CallID    string `json:"id,omitempty"`
	Name      string `json:"name,omitempty"`
}

// isShort reports whether the fields of short are all that the event has besides its
// envelope.
func isShort(e *core.Event) bool {
	texts := len(e.ThreadID) + len(e.AgentID) + len(e.Origin) + len(e.ActivityType) + len(e.Outcome) + len(e.Status) + len(e.DecisionID) +
		len(e.Action) + len(e.Reason) + len(e.Model) + len(e.From) + len(e.StopReason) + len(e.Response) + len(e.Error) + len(e.Code)
	values := len(e.Content) + len(e.EncryptedValue) + len(e.Arguments) + len(e.Result) + len(e.Metadata) + len(e.Patch) + len(e.Snapshot) + len(e.Messages)
	return texts == 0 && values == 0 && !e.Replace && !e.IsError && e.Ticket == nil && e.Usage == nil && e.Termination == nil &&
		e.Failed == 0 && e.Wait == 0 && e.UpTo == 0 && e.TokensBefore == 0 && e.TokensAfter == 0 && e.Duration == 0 && e.Revision == 0 && e.Steps == 0
}
