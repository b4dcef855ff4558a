package thread

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// Ticket is the place in a head of a suspended call that waits for a decision. The
// question and the decision lie in the records that [TicketKey] and [DecisionKey]
// name; a [core.Ticket] is built from them.
type Ticket struct {
	Call     uint8
	Kind     TicketKind
	ID       uint64 // see [TicketKey]; a call that suspends again has another
	Decision uint64 // see [DecisionKey]; 0: open
	Deadline int64  // 0: none
	// WakeAt is when the call continues by itself, unix milliseconds; 0: it waits for a
	// decision. The first claim after it decides the ticket: see [TakeClaim].
	WakeAt int64
	// Keep means that input does not supersede the ticket. Only a timer is kept.
	Keep bool
}

// TicketKind is the decider: [core.TicketKind] as one byte.
type TicketKind uint8

// The ticket kinds.
const (
	TicketPerson TicketKind = iota
	TicketClient            // a tool that the client runs
	TicketChild             // a child run
	TicketTimer             // the clock, at WakeAt; a person may be earlier
)

// Tickets are the open tickets of a head: at most one for a call.
type Tickets []Ticket

// of is the index of a call's ticket; -1: it has none.
func (ts Tickets) of(call int) int {
	return slices.IndexFunc(ts, func(t Ticket) bool { return int(t.Call) == call })
}

// drop takes a call's ticket out, if it has one.
func (ts *Tickets) drop(call int) {
	if i := ts.of(call); i >= 0 {
		*ts = without(*ts, i)
	}
}

// any reports whether an undecided ticket is as f says.
func (ts Tickets) any(f func(t Ticket) bool) bool {
	return slices.ContainsFunc(ts, func(t Ticket) bool { return t.Decision == 0 && f(t) })
}

// asks reports whether a ticket waits for a person or a client.
func (ts Tickets) asks() bool {
	return ts.any(func(t Ticket) bool { return t.Kind == TicketPerson || t.Kind == TicketClient })
}

// sleeps reports whether a ticket waits for anything but a child run, which works meanwhile.
func (ts Tickets) sleeps() bool {
	return ts.any(func(t Ticket) bool { return t.Kind != TicketChild })
}

// AwaitChildren reports whether tickets are undecided, and all of those are of child runs.
func (ts Tickets) AwaitChildren() bool {
	return !ts.sleeps() && ts.any(func(Ticket) bool { return true })
}

// AwaitNobody reports whether tickets are undecided, and all of those are of child runs and of
// timers: the run continues without a person.
func (ts Tickets) AwaitNobody() bool {
	return !ts.asks() && ts.any(func(Ticket) bool { return true })
}

// overdue reports whether an undecided ticket has expired.
func (ts Tickets) overdue(now int64) bool {
	return ts.any(func(t Ticket) bool { return t.Deadline != 0 && t.Deadline <= now })
}

// TicketKey is the head's form of a suspension id; never 0.
func TicketKey(run core.ID, suspension string) uint64 { return key(run, "ticket", suspension) }

// DecisionKey is the head's form of a decision's id, which counts for one ticket
// of one run: a person may decide two tickets with one id. It is never 0.
func DecisionKey(run core.ID, suspension, decision string) uint64 {
	return key(run, "decision", suspension, decision)
}

// CallDecisionKey is an additional form of a remembered decision, if it named the
// call and not the suspension: when its ticket is gone, the call's suspension is not
// known any more.
func CallDecisionKey(run core.ID, call, decision string) uint64 {
	return key(run, "call", call, decision)
}

func key(run core.ID, parts ...string) uint64 {
	h := sha256.New()
	h.Write(run[:])
	for _, p := range parts {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(p)))
		h.Write(size[:])
		h.Write([]byte(p))
	}
	return binary.BigEndian.Uint64(h.Sum(nil)) | 1
}
