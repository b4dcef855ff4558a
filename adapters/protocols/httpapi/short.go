package httpapi

import "github.com/reveille-run/reveille/core"

// addShort adds the members of a short event, besides its envelope: they are written by
// hand. To find them by reflection takes time for each field that an event could have.
func addShort(m *members, e *core.Event) {
	m.int("step", int64(e.Step))
	m.string("thread_id", e.ThreadID)
	m.string("agent_id", e.AgentID)
	m.string("message_id", e.MessageID)
	m.string("delta", e.Delta)
	m.string("id", e.CallID)
	m.string("name", e.Name)
	m.raw("arguments", e.Arguments)
	m.raw("result", e.Result)
	m.string("outcome", string(e.Outcome))
	m.string("status", e.Status)
	m.string("model", e.Model)
	m.usage("usage", e.Usage)
	m.string("stop_reason", string(e.StopReason))
	m.int("duration_ms", e.Duration)
	m.int("steps", int64(e.Steps))
	m.string("response", e.Response)
	m.termination("termination", e.Termination)
}

// isShort reports whether the event has nothing but what addShort adds, besides its
// envelope, as nearly all have: the deltas, and what tells of runs, steps, calls and
// responses.
func isShort(e *core.Event) bool {
	texts := len(e.Origin) + len(e.ActivityType) + len(e.DecisionID) + len(e.Action) + len(e.Reason) + len(e.From) + len(e.Error) + len(e.Code)
	values := len(e.Content) + len(e.EncryptedValue) + len(e.Metadata) + len(e.Patch) + len(e.Snapshot) + len(e.Messages)
	return texts == 0 && values == 0 && !e.Replace && !e.IsError && e.Ticket == nil && e.Failed == 0 && e.Wait == 0 &&
		e.UpTo == 0 && e.TokensBefore == 0 && e.TokensAfter == 0 && e.Revision == 0
}
