package reveille

import (
	"encoding/json"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// Ticket is a call that waits for a decision, with what is asked.
type Ticket = core.Ticket

// TicketRequest is what a gate or a tool asks when it lets a call wait, see [Suspend] and
// [Suspended].
type TicketRequest = core.TicketRequest

// Decision is an answer to a ticket. [Approve], [Deny] and [Reply] make the usual ones.
type Decision struct {
	// Target is the id of the ticket's suspension, or of its call.
	Target string
	// Refuse says that the call must not run; otherwise the decision resumes it.
	Refuse bool
	// Payload is what a resumed call receives: the output of a client's tool, or the reply
	// to what was asked. nil: an approval without one.
	Payload json.RawMessage
	// Reason is what the model reads of a refusal; empty: that the call was denied.
	Reason string
	// Remember says for how long the same call is decided likewise without a person, if
	// what asks can remember: "run" or "thread". Empty: this call alone.
	Remember core.Remember
	// RememberAs says what counts as the same call: "rule" is every call that the rule asks
	// about which asked here. Empty: the tool with the same arguments.
	RememberAs core.RememberAs
	// ID makes the decision idempotent; empty: the same content is the same decision.
	ID string
}

// Approve lets the ticket's call run.
func Approve(t Ticket) Decision { return Decision{Target: t.Suspension.ID} }

// Deny refuses the ticket's call. The model reads the reason.
func Deny(t Ticket, reason string) Decision {
	return Decision{Target: t.Suspension.ID, Refuse: true, Reason: reason}
}

// Reply resumes the ticket's call with a payload, JSON: the output of a client's tool, or
// what the ticket asks for.
func Reply(t Ticket, payload json.RawMessage) Decision {
	return Decision{Target: t.Suspension.ID, Payload: payload}
}

// deciding is the decision as the host takes it.
func (d Decision) deciding() mailbox.Deciding {
	action := core.DecisionResume
	if d.Refuse {
		action = core.DecisionCancel
	}
	return mailbox.Deciding{Target: d.Target, Decision: core.Decision{
		ID: d.ID, Action: action, Payload: d.Payload, Reason: d.Reason, Remember: d.Remember, RememberAs: d.RememberAs,
	}}
}
