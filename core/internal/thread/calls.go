package thread

import "slices"

// CallStatus is the state of one call of the committed turn.
type CallStatus uint8

// The call statuses.
const (
	CallNew        CallStatus = iota
	CallRunning               // an at_most_once tool that may have started
	CallSuspended             // has a ticket
	CallResuming              // decided: go on
	CallCancelling            // decided or superseded: write a cancelled result
	CallDone                  // its result is stored at Base + index, readable
)

// OpenCalls reports whether a call of the turn lacks its result.
func (r *Run) OpenCalls() bool {
	return slices.ContainsFunc(r.Calls, func(s CallStatus) bool { return s != CallDone })
}

// Awaits reports whether a call of the committed turn may still start to wait: it has
// no result, and the run has not continued without it.
func (r *Run) Awaits(call uint8) bool {
	if int(call) >= len(r.Calls) {
		return false
	}
	s := r.Calls[call]
	return s != CallDone && s != CallCancelling
}

// moveCalls takes the step's status for each call, except for a decision that came
// while the step still saw the call as suspended. suspendCalls treats a call that is
// suspended by one of the coming tickets. A call that is done has no ticket any more, and
// is progress. One that runs after its decision keeps the place of its ticket: it may wait
// again, and without a place it would begin anew and ask what was decided.
func (r *Run) moveCalls(calls []CallStatus, standing *Tickets, coming Tickets) error {
	if calls == nil {
		return nil
	}
	if len(calls) != len(r.Calls) {
		return invalid("%d call statuses for %d calls", len(calls), len(r.Calls))
	}
	for i, next := range calls {
		was := r.Calls[i]
		decided := was == CallResuming || was == CallCancelling
		switch {
		case next == was, was == CallDone && next <= CallCancelling:
			// An older view of a call that an earlier write of the same step moved on.
		case next == CallDone:
			r.Calls[i] = next
			standing.drop(i)
			r.progress()
		case next == CallRunning && (was == CallNew || was == CallResuming):
			r.Calls[i] = next
		case next == CallSuspended && (decided || coming.of(i) >= 0):
		default:
			return invalid("call %d is %s, it cannot become %s", i, was, next)
		}
	}
	return nil
}

// suspendCalls adds the coming tickets to the existing ones, and marks their calls. A
// ticket that exists already is not changed, whether it was decided in between or
// not. A call for whose ticket there is no place is new again.
func (r *Run) suspendCalls(standing *Tickets, coming Tickets) error {
	for _, t := range coming {
		switch {
		case int(t.Call) >= len(r.Calls):
			return invalid("suspend: call %d of %d", t.Call, len(r.Calls))
		case r.Calls[t.Call] == CallDone:
			return invalid("suspend: call %d already has its result", t.Call)
		case t.Kind > TicketTimer:
			return invalid("suspend: ticket of call %d has the unknown kind %d", t.Call, t.Kind)
		case t.Kind == TicketTimer && t.WakeAt <= 0, t.Kind != TicketTimer && t.Kind != TicketPerson && t.WakeAt > 0:
			return invalid("suspend: ticket of call %d, of kind %s, wakes at %d", t.Call, t.Kind, t.WakeAt)
		case t.Keep && t.Kind != TicketTimer:
			return invalid("suspend: ticket of call %d, of kind %s, is kept", t.Call, t.Kind)
		}
		if r.Calls[t.Call] == CallCancelling {
			continue
		}
		if i := standing.of(int(t.Call)); i >= 0 {
			if (*standing)[i].ID == t.ID {
				continue
			}
			*standing = without(*standing, i)
		}
		if len(*standing) >= MaxTickets {
			r.Calls[t.Call] = CallNew
			continue
		}
		t.Decision, t.Deadline, t.WakeAt = 0, max(t.Deadline, 0), max(t.WakeAt, 0)
		*standing = append(*standing, t)
		r.Calls[t.Call] = CallSuspended
		r.progress()
	}
	return nil
}

// supersede cancels the calls whose tickets are undecided, since a person sent a
// message instead of deciding. A call that waits for a child run, or for a timer that is kept,
// continues to wait: no person was asked. It reports whether there was one to cancel.
func (r *Run) supersede(standing *Tickets) (any bool) {
	*standing = slices.DeleteFunc(*standing, func(t Ticket) bool {
		if t.Decision != 0 || t.Kind == TicketChild || t.Keep {
			return false
		}
		r.Calls[t.Call] = CallCancelling
		any = true
		return true
	})
	if len(*standing) == 0 {
		*standing = nil
	}
	return any
}

// superseded reports whether a suspended call was cancelled without a decision, and has
// no result yet.
func (r *Run) superseded(standing Tickets) bool {
	for i, s := range r.Calls {
		if s == CallCancelling && standing.of(i) < 0 {
			return true
		}
	}
	return false
}

// goesOn reports whether a round that waits has something to do: no ticket is
// undecided, or one is decided and the round does not wait for others, or a call was
// superseded, which waits for none. A ticket that wakes by now counts as decided.
func (r *Run) goesOn(standing Tickets, now int64) bool {
	undecided, decided := false, false
	for i := range standing {
		over := standing[i].Decision != 0 || standing[i].wakes(now)
		undecided, decided = undecided || !over, decided || over
	}
	return !undecided || decided && !(r.Batch && r.Held(standing, now)) || r.superseded(standing)
}

// Held reports whether the decided calls of a batch wait for a ticket that is undecided. A call
// that has no place for a ticket yet does not wait for child runs: what is decided makes room
// for it.
func (r *Run) Held(standing Tickets, now int64) bool {
	crowded := len(standing) >= MaxTickets && slices.Contains(r.Calls, CallNew)
	return slices.ContainsFunc(standing, func(t Ticket) bool {
		return t.Decision == 0 && !t.wakes(now) && !(crowded && t.Kind == TicketChild)
	})
}
