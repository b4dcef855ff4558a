package agui

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

// toolCall reports a call: START, ARGS and END while the model makes it, RESULT when it
// has one. A call that this response continues has its START in an earlier one.
func (e *encoder) toolCall(in core.Event) {
	if in.Child != nil {
		e.childCall(in)
		return
	}
	switch in.Type {
	case core.EventToolCallStart:
		e.callStart(in)
	case core.EventToolCallDelta:
		if c := e.open(in.CallID); c != nil && !c.ended && in.Delta != "" {
			e.arguments(c, in.Delta)
		}
	case core.EventToolCallReady:
		e.callReady(in)
	case core.EventToolCallCancel:
		e.callCancel(in.CallID)
	case core.EventToolCallSuspended:
		if in.Ticket != nil && in.Ticket.Decision == nil {
			e.forgetTicket(in.CallID)
			e.tickets = append(e.tickets, *in.Ticket)
		}
	case core.EventToolCallResumed:
		e.forgetTicket(in.CallID)
		e.custom("reveille.tool_call_resumed", resumed{in.CallID, in.DecisionID, in.Action, in.DecidedBy})
	case core.EventToolCallDone:
		e.callDone(in)
	}
}

// resumed is the value of a custom event: a call that waited continues after a decision.
type resumed struct {
	CallID     string              `json:"tool_call_id"`
	DecisionID string              `json:"decision_id"`
	Action     core.DecisionAction `json:"action"`
	DecidedBy  *core.Decider       `json:"decided_by,omitempty"`
}

// callStart starts a call, after the text of its turn.
func (e *encoder) callStart(in core.Event) {
	if e.open(in.CallID) != nil { // its start was sent already
		return
	}
	e.startTurn(in)
	e.closeMessages()
	e.calls = append(e.calls, call{id: in.CallID, name: in.Name})
	if e.transcript.call(in.CallID) == nil {
		e.transcript.open.calls = append(e.transcript.open.calls, spokenCall{id: in.CallID, name: in.Name})
	}
	e.emit(event{Type: "TOOL_CALL_START", ToolCallID: in.CallID, ToolCallName: in.Name, ParentMessageID: e.transcript.open.id})
}

// arguments tells a piece of a call's arguments.
func (e *encoder) arguments(c *call, delta string) {
	c.streamed = true
	if said := e.transcript.call(c.id); said != nil {
		said.arguments = append(said.arguments, delta...)
	}
	e.emit(event{Type: "TOOL_CALL_ARGS", ToolCallID: c.id, Delta: delta})
}

// callReady completes a call's arguments: the part that was not streamed is sent
// immediately.
func (e *encoder) callReady(in core.Event) {
	c := e.open(in.CallID)
	if c == nil {
		e.callStart(in)
		c = e.open(in.CallID)
	}
	if !c.streamed && !c.ended {
		arguments := "{}"
		if len(in.Arguments) > 0 {
			arguments = string(in.Arguments)
		}
		e.arguments(c, arguments)
	}
	e.endCall(in.CallID)
}

// endCall reports that a call's arguments are complete, once.
func (e *encoder) endCall(id string) {
	if c := e.open(id); c != nil && !c.ended {
		c.ended = true
		e.emit(event{Type: "TOOL_CALL_END", ToolCallID: id})
	}
}

// closeCalls ends the open calls when they can get no result any more.
func (e *encoder) closeCalls() {
	for i := range e.calls {
		e.endCall(e.calls[i].id)
	}
}

// callCancel withdraws a call whose arguments were truncated: no client must run it.
func (e *encoder) callCancel(id string) {
	if e.open(id) == nil {
		return
	}
	e.closeMessages()
	e.endCall(id)
	e.forget(id)
	e.transcript.drop(id)
	e.showMessages()
}

// dropCalls withdraws the calls with incomplete arguments.
func (e *encoder) dropCalls() {
	for _, c := range slices.Clone(e.calls) {
		if !c.ended {
			e.callCancel(c.id)
		}
	}
}

// forgetTicket forgets what a call waited for.
func (e *encoder) forgetTicket(id string) {
	e.tickets = slices.DeleteFunc(e.tickets, func(t core.Ticket) bool { return t.CallID == id })
}

// callDone tells a call's result. One that the client has given is not told again: it
// would have the call's result twice.
func (e *encoder) callDone(in core.Event) {
	e.forgetTicket(in.CallID)
	e.endCall(in.CallID)
	e.forget(in.CallID)
	e.endOutput(in.CallID)
	if slices.Contains(e.to.Given, in.CallID) {
		return
	}
	text := plain(protocol.Output(in.Result, in.Blocks))
	e.transcript.finish()
	e.transcript.said = append(e.transcript.said, message{ID: in.MessageID, Role: "tool", ToolCallID: in.CallID, Content: &text, Error: errorOf(in)})
	e.emit(event{Type: "TOOL_CALL_RESULT", MessageID: in.MessageID, ToolCallID: in.CallID, Content: text, Role: "tool"})
	e.showFiles(resultFiles{in.MessageID, in.CallID, fileParts(in.Blocks)})
}

// errorOf is the text of a failed call's result, {"error": text}.
func errorOf(in core.Event) string {
	var r struct {
		Error string `json:"error"`
	}
	if !in.IsError || json.Unmarshal(in.Result, &r) != nil {
		return ""
	}
	return r.Error
}

// waiting is the outcome of a run that waits. A question to a person is an interrupt. A
// call that the client runs is not: it is pending, and its result arrives as a message.
func (e *encoder) waiting() *outcome {
	o := &outcome{Type: "success"}
	for _, t := range e.tickets {
		switch {
		case t.ByPerson():
			o.Type = "interrupt"
			o.Interrupts = append(o.Interrupts, interruptOf(t))
		case t.Kind == core.TicketClient: // the client cannot send the end of a child run, or a time
			o.PendingToolCallIDs = append(o.PendingToolCallIDs, t.CallID)
		}
	}
	for _, t := range e.children {
		o.Type = "interrupt"
		o.Interrupts = append(o.Interrupts, childInterrupt(t))
	}
	switch {
	case o.Type == "interrupt":
		o.PendingToolCallIDs = nil // it is success's alone
	case !e.to.Modern:
		return nil
	}
	return o
}

// approvalSchema is what a request for permission wants to know.
const approvalSchema = `{"type":"object","properties":{"approved":{"type":"boolean"},` +
	`"reason":{"type":"string"},"remember":{"type":"string","enum":["once","run","thread"]},` +
	`"rememberAs":{"type":"string","enum":["call","rule"]}},"required":["approved"]}`

func interruptOf(t core.Ticket) interrupt {
	i := interrupt{
		ID: t.Suspension.ID, Reason: "input_required", Message: t.Suspension.Message, ToolCallID: t.CallID,
		Metadata: map[string]any{"reveille": about{t.Suspension.Action, t.Suspension.Parameters}},
	}
	if t.AsksPermission() {
		i.Reason, i.ResponseSchema = "tool_call", json.RawMessage(approvalSchema)
	} else if len(t.Suspension.ResponseSchema) > 0 && t.Suspension.ResponseSchema[0] == '{' {
		i.ResponseSchema = t.Suspension.ResponseSchema
	}
	if t.Deadline != 0 {
		i.ExpiresAt = time.UnixMilli(t.Deadline).UTC().Format("2006-01-02T15:04:05.000Z07:00")
	}
	return i
}

// about is what an interrupt is about, in the runtime's own words.
type about struct {
	Action     string          `json:"action"`
	Parameters json.RawMessage `json:"parameters,omitempty"`
}

// aboutChild is the same for a call of a child run, which the messages do not have.
type aboutChild struct {
	about
	core.ChildRun
	CallID    string          `json:"tool_call_id"`
	Tool      string          `json:"tool_name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}
