package thread

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
)

// TicketRecord is the payload of C#<run>#<turn>#<call>#<ticket>: what a
// suspended call waits with. It counts while the head has the ticket.
type TicketRecord struct {
	core.Ticket
	// Suspended are the ids under which the call was suspended before, oldest
	// first: a tool that repeats one would wait for a decision that it has.
	Suspended []string `json:"suspended,omitempty"`
	// Answers are the durations that decisions on these have set, without payload: a
	// gate runs again after the tool's suspension, and must know the answer to its earlier one.
	Answers []core.Resume `json:"answers,omitempty"`
	// Hooks is what the call's gates and BeforeToolExecute asked for until then. It
	// counts with a result that comes without asking them again.
	Hooks *state.Command `json:"hooks,omitempty"`
	// Edited is set when a decision on an earlier suspension of the call put the
	// arguments of the ticket in place of the model's: the call continues with them.
	Edited bool `json:"edited,omitempty"`
	// ByTool is set when the call's tool asked, and no gate.
	ByTool bool `json:"by_tool,omitempty"`
	// After is the id of the decision that the call had continued after; empty: it
	// was not suspended before.
	After string `json:"after,omitempty"`
}

// DecisionRecord is the payload of D#<run>#<turn>#<call>#<decision>. It counts
// when the head's ticket, or the call's result, names it.
type DecisionRecord struct {
	core.Decision
	Suspension string `json:"suspension"` // id of what it decides; of a decision of the clock: see Ticket
	// Ticket is the key of what the clock decides, see [TicketKey]: the head, from which it decides,
	// has no id; 0: of any other decision.
	Ticket uint64 `json:"ticket,omitempty"`
}

// Key is the head's form of the decision's id.
func (d *DecisionRecord) Key(run core.ID) uint64 {
	if d.Ticket != 0 {
		return WakeKey(run, d.Ticket)
	}
	return DecisionKey(run, d.Suspension, d.ID)
}

// About is the key of the ticket that the decision is about.
func (d *DecisionRecord) About(run core.ID) uint64 {
	if d.Ticket != 0 {
		return d.Ticket
	}
	return TicketKey(run, d.Suspension)
}

// RoundRecord is the payload of C#<run>#round#<version>: the state of a tool round
// that waits. It counts while the head names its version.
type RoundRecord struct {
	Turn     uint64      `json:"turn"`            // sequence of the turn
	Patch    state.Patch `json:"patch,omitempty"` // from the state after the turn
	Revision uint64      `json:"revision,omitempty"`
	Merged   []int       `json:"merged,omitempty"` // calls whose results and hooks are in Patch, in the order in which they came
	Waits    []uint64    `json:"waits,omitempty"`  // keys of the tickets that were undecided then
	Totals   Totals      `json:"totals,omitzero"`
	Fence    uint64      `json:"fence,omitempty"` // of the claim that stored it
	// After is the version of the record that the round had continued from; 0: it
	// waits for the first time. The valid records of a round are those that its last
	// record leads back to: others are left from writes that were refused.
	After uint64 `json:"after,omitempty"`
}
