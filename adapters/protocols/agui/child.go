package agui

import (
	"slices"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

// A call of a child run that waits for a person is an interrupt of the run that waits for that
// run. Its ids begin with the child run's, since two runs may have calls with the same id. A call
// that waits for a client is not shown: the messages have no such call that a result could name.

// childCall notes what the calls of child runs wait for.
func (e *encoder) childCall(in core.Event) {
	e.children = slices.DeleteFunc(e.children, func(t core.ChildTicket) bool {
		return t.RunID == in.Child.RunID && t.CallID == in.CallID
	})
	if in.Type == core.EventToolCallSuspended && in.Ticket.ByPerson() {
		e.children = append(e.children, core.ChildTicket{ChildRun: *in.Child, Ticket: *in.Ticket})
	}
}

// childInterrupt is the interrupt of a call of a child run.
func childInterrupt(t core.ChildTicket) interrupt {
	i := interruptOf(t.Ticket)
	i.ID, i.ToolCallID = protocol.ChildID(t.RunID, t.Suspension.ID), protocol.ChildID(t.RunID, t.CallID)
	i.Metadata = map[string]any{"reveille": aboutChild{
		about{t.Suspension.Action, t.Suspension.Parameters}, t.ChildRun, t.CallID, t.Tool, t.Arguments,
	}}
	return i
}

// asksPerson reports whether the open run waits for a person, itself or in a child run.
func (a *exchange) asksPerson() bool {
	return slices.ContainsFunc(a.tickets, core.Ticket.ByPerson) || len(a.children) > 0
}

// interrupts are the ids of those that are open.
func (a *exchange) interrupts() (ids []string) {
	for _, t := range a.tickets {
		if t.ByPerson() {
			ids = append(ids, t.Suspension.ID)
		}
	}
	for _, t := range a.children {
		ids = append(ids, protocol.ChildID(t.RunID, t.Suspension.ID))
	}
	return ids
}

// asked finds the open interrupt of an id, and the run that has its call. The run and the
// target, the suspension's own id, are also those of an interrupt of a child run that is not
// open.
func (a *exchange) asked(id string) (t core.Ticket, run core.ID, target string, open bool) {
	for _, t := range a.tickets {
		if t.Suspension.ID == id && t.ByPerson() {
			return t, a.info.ActiveRun, id, true
		}
	}
	run, target, ok := protocol.ParseChildID(id)
	if !ok {
		return t, core.ID{}, id, false
	}
	for _, t := range a.children {
		if t.RunID == run && t.Suspension.ID == target {
			return t.Ticket, run, target, true
		}
	}
	return t, run, target, false
}
