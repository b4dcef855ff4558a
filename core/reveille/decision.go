package reveille

import (
	"encoding/json"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// Ticket is a call that waits for a decision, with the question to the approver.
type Ticket = core.Ticket

// TicketRequest is the question of a gate or a tool that suspends a call; see [Suspend] and
// [Suspended].
type TicketRequest = core.TicketRequest

// Decision decides a ticket. [Approve], [Deny] and [Reply] make the usual ones.
type Decision struct {
	// Target is the id of the ticket's suspension, or of its call.
	Target string
	// Refuse prevents the call from running; if false, the decision resumes the call.
	Refuse bool
	// Payload is the value that a resumed call receives: the output of a client's tool, or the
	// reply to the question. nil: an approval without a payload.
	Payload json.RawMessage
	// Arguments is a JSON object with which the call runs instead of the model's arguments.
	// Only a ticket that a person decides, and whose tool then runs, accepts it. nil: the
	// call keeps its arguments.
	Arguments json.RawMessage
	// Reason is the text of a refusal that the model reads; empty: that the call was denied.
	Reason string
	// Remember sets how long the decision also applies to later calls of the same kind: "run"
	// or "thread". Empty: this call alone. The asking tool or rule must support it.
	Remember core.Remember
	// RememberAs defines which calls are of the same kind. "rule" means every call for which
	// the same rule asks. Empty: the same tool with the same arguments.
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

// Reply resumes the ticket's call with a JSON payload: the output of a client's tool, or the
// reply to the ticket's question.
func Reply(t Ticket, payload json.RawMessage) Decision {
	return Decision{Target: t.Suspension.ID, Payload: payload}
}

// deciding converts the decision to the host's type.
func (d Decision) deciding() mailbox.Deciding {
	action := core.DecisionResume
	if d.Refuse {
		action = core.DecisionCancel
	}
	return mailbox.Deciding{Target: d.Target, Decision: core.Decision{
		ID: d.ID, Action: action, Payload: d.Payload, Arguments: d.Arguments, Reason: d.Reason, Remember: d.Remember, RememberAs: d.RememberAs,
	}}
}
