package sim

import (
	"encoding/json"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// checkEdited looks at a decision with arguments when a head has it for the first time: record
// and head have the schema that keeps older programs away.
func (as *asks) checkEdited(b *thread.Head, k *asked, payload []byte) {
	schema, err := as.th.w.checks.Schema(payload)
	if err != nil || schema < thread.SchemaEdited || b.Schema < schema {
		as.th.fail("decision on %s has arguments, schema %d (%v), in a head of schema %d", k.ticket.Suspension.ID, schema, err, b.Schema)
	}
	if k.ticket.Kind != core.TicketPerson || k.ticket.Mode == core.ResumeAsResult {
		as.th.fail("decision on %s has arguments, and the call is of kind %s and continues by %s", k.ticket.Suspension.ID, k.ticket.Kind, k.ticket.Mode)
	}
}

// editedFor are the arguments that the decisions on a call have put in place of the model's,
// the last ones count; nil: none has. A decision that brings the result brings none.
func (as *asks) editedFor(at place) (arguments json.RawMessage) {
	for _, k := range as.calls[at] {
		switch d := k.decision; {
		case d == nil || !k.resumes():
		case k.ticket.Mode == core.ResumeAsResult:
			return nil
		case len(d.Arguments) > 0:
			arguments = d.Arguments
		case k.ticket.Mode == core.ResumeAsArguments:
			arguments = d.Payload
		}
	}
	return arguments
}
