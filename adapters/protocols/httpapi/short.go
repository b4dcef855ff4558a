package httpapi

import "github.com/reveille-run/reveille/core"

// addShort adds the members that nearly all events consist of. They are named one by one:
// reflection takes time for each field that an event could have.
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

// isShort reports whether addShort adds all members of an event but those of its envelope.
// That is true for deltas, and for most events of runs, steps, calls and responses.
func isShort(e *core.Event) bool {
	texts := len(e.Origin) + len(e.ActivityType) + len(e.DecisionID) + len(e.Action) + len(e.Reason) + len(e.From) + len(e.Error) + len(e.Code)
	values := len(e.Content) + len(e.EncryptedValue) + len(e.Metadata) + len(e.Patch) + len(e.Snapshot) + len(e.Messages) + len(e.Blocks) + len(e.Annotations) + e.Block
	return texts == 0 && values == 0 && !e.Replace && !e.IsError && e.Ticket == nil && e.Child == nil && e.DecidedBy == nil && e.Failed == 0 && e.Wait == 0 &&
		e.UpTo == 0 && e.TokensBefore == 0 && e.TokensAfter == 0 && e.Revision == 0 && e.Limit == 0
}
