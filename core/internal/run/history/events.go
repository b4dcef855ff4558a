package history

import (
	"encoding/json"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// Events that a live stream and a replay make of the same values. Each is made here,
// once, so that the two say the same, byte for byte.

// readyEvent announces that the arguments of call i of a turn are complete.
func readyEvent(turn *core.Message, i int) core.Event {
	call := &turn.ToolCalls[i]
	return core.Event{
		Type: core.EventToolCallReady, Time: core.Millis(turn.CreatedAt), MessageID: turn.ID,
		CallID: call.ID, Name: call.Name, Arguments: call.Arguments,
	}
}

// annotationsEvent has the citations of a block of a turn.
func annotationsEvent(turn *core.Message, block int) core.Event {
	return core.Event{
		Type: core.EventTextAnnotations, Time: core.Millis(turn.CreatedAt), MessageID: turn.ID, Block: block, Annotations: turn.Content[block].Annotations,
	}
}

// completeEvent announces that the turn is complete, with the time that it took, in
// milliseconds.
func completeEvent(turn *core.Message, took int64) core.Event {
	return core.Event{
		Type: core.EventInferenceComplete, Time: core.Millis(turn.CreatedAt), MessageID: turn.ID,
		Model: turn.Model, Usage: turn.Usage, StopReason: turn.StopReason, Duration: took,
	}
}

// resultEvent announces a stored result. Clients read a JSON value in any case: a
// text becomes a string, an error an object.
func resultEvent(entry *thread.Entry) core.Event {
	m := entry.Message
	r := m.ToolResult
	e := core.Event{
		Type: core.EventToolCallDone, Time: core.Millis(m.CreatedAt), MessageID: m.ID, CallID: r.CallID, Name: r.Name,
		Result: r.Data, Blocks: r.Content, IsError: r.IsError, Outcome: core.CallSucceeded, Status: string(r.Status), Metadata: r.Metadata, Duration: entry.Duration,
	}
	if r.IsError {
		e.Outcome = core.CallFailed
	}
	if (core.Decision{ID: entry.Decision}).Woken() { // of other decisions the record has the id alone
		e.DecidedBy = &core.Decider{Kind: core.DeciderTime}
	}
	said := core.ToolResult{Data: r.Data, Message: r.Message}.Text() // without the content, which Blocks have
	switch {
	case r.IsError:
		e.Result, _ = json.Marshal(map[string]string{"error": said})
	case len(r.Data) == 0 && (said != "" || len(r.Content) == 0):
		e.Result, _ = json.Marshal(said)
	}
	return e
}

// suspendedEvent announces a ticket.
func suspendedEvent(t core.Ticket) core.Event {
	return core.Event{Type: core.EventToolCallSuspended, CallID: t.CallID, Name: t.Tool, Ticket: &t}
}

// resumedEvent announces that the run resumes a call whose ticket was decided.
func resumedEvent(t *core.Ticket) core.Event {
	by := t.Decider(*t.Decision)
	return core.Event{
		Type: core.EventToolCallResumed, CallID: t.CallID, Name: t.Tool, DecisionID: t.Decision.ID, Action: t.Decision.Action, DecidedBy: &by,
	}
}

// errorEvent has the error that a run ends with. A termination's detail is for
// clients already.
func errorEvent(t *core.Termination, at int64) core.Event {
	text := t.Detail
	if text == "" {
		text = "the run ended with an error"
	}
	return core.Event{Type: core.EventError, Time: core.Millis(at), Code: t.Code, Error: text}
}

// finishEvent is the last event of a run that is done, or of a stream whose run waits:
// no record has the time of that.
func finishEvent(run *core.Run) core.Event {
	e := core.Event{
		Type: core.EventRunFinish, Status: string(run.Status), Time: core.Millis(run.FinishedAt), Steps: run.Steps,
		Response: run.Response, Termination: run.Termination,
	}
	if run.Usage != (core.Usage{}) {
		usage := run.Usage // a listener may keep it
		e.Usage = &usage
	}
	if run.Status == core.RunWaiting {
		e.Time, e.Response, e.Termination = 0, "", &core.Termination{Type: core.TerminationSuspended}
	} else if run.StartedAt > 0 && run.FinishedAt > run.StartedAt {
		e.Duration = run.FinishedAt - run.StartedAt
	}
	return e
}
