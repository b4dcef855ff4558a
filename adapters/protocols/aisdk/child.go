package aisdk

import (
	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

// A call of a child run that waits is a dynamic tool part of the message of the run that waits
// for that run. The ids of the call and of its approval begin with the child run's, since two
// runs may have calls with the same id.
//
// Such parts have a step of their own. A client sends answers by itself when each call after the
// last start of a step has an answer or an output, and the call that waits for the child run has
// neither.

// childCall shows a call of a child run: that it waits, and its result.
func (e *encoder) childCall(event core.Event) {
	id := protocol.ChildID(event.Child.RunID, event.CallID)
	switch event.Type {
	case core.EventToolCallSuspended:
		e.childSuspended(event, id)
	case core.EventToolCallDone:
		if e.has(id) {
			e.result(event, id, true)
		}
	}
}

// childSuspended shows a call of a child run that waits for a person or the client.
func (e *encoder) childSuspended(event core.Event, id string) {
	t := event.Ticket
	if !e.asked {
		e.asked = true
		e.closeStep()
		e.openStep()
	}
	if !e.has(id) {
		e.shown = append(e.shown, id)
		e.emit(chunk{Type: "tool-input-start", ToolCallID: id, ToolName: event.Name, Dynamic: true})
		e.emit(chunk{Type: "tool-input-available", ToolCallID: id, ToolName: event.Name, Input: orElse(t.Arguments, "{}"), Dynamic: true})
	} else if !t.AsksPermission() { // the client has given an output, and another is wanted
		e.emit(chunk{Type: "tool-input-available", ToolCallID: id, ToolName: event.Name, Input: orElse(t.Arguments, "{}"), Dynamic: true})
	}
	if t.AsksPermission() {
		e.emit(chunk{Type: "tool-approval-request", ApprovalID: protocol.ChildID(event.Child.RunID, t.Suspension.ID), ToolCallID: id})
	}
}

// childTickets shows what the calls of child runs wait for, as the stream has shown it.
func (c *converter) childTickets(run core.ID, tickets []core.ChildTicket) {
	shown, ok := c.runs[run]
	if !ok || len(tickets) == 0 {
		return
	}
	m := &c.out[shown.message]
	m.Parts = append(m.Parts, uiPart{Type: "step-start"})
	for _, t := range tickets {
		part := uiPart{
			Type: "dynamic-tool", ToolPart: &ToolPart{ToolName: t.Tool}, ToolCallID: protocol.ChildID(t.RunID, t.CallID), State: "input-available", Input: orElse(t.Arguments, "{}"),
		}
		if t.AsksPermission() {
			part.State, part.Approval = "approval-requested", &approval{ID: protocol.ChildID(t.RunID, t.Suspension.ID)}
		}
		m.Parts = append(m.Parts, part)
	}
}
