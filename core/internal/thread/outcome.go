package thread

import "slices"

// Outcome is how a step ended, as the head has it. The result of the write itself is
// a store.Outcome.
type Outcome uint8

// The outcomes. Continue is a Yield that keeps the claim; Close keeps it too.
const (
	Continue Outcome = iota + 1
	Yield            // the continuation is set, the claim released
	Wait             // a ticket is open, nothing is claimed
	Close            // the run is closing: its holder continues with RunEnd and the open calls
	Done             // the run is over
)

// String returns the outcome's name.
func (o Outcome) String() string {
	return name(o, "none", "continue", "yield", "wait", "close", "done")
}

// outcome derives the outcome from the requested one. It never lets a run wait that
// no event could wake: a wait has an undecided ticket.
func (h *Head) outcome(c CommitStep, now int64) (o Outcome, err error) {
	switch c.Outcome {
	case Yield:
		return Yield, nil
	case Wait:
		switch {
		case h.Inbox.spoken() && h.Run.supersede(&h.Tickets):
			return Yield, nil
		case slices.Contains(h.Run.Calls, CallRunning):
			return o, invalid("commit step: wait while a call still runs")
		case h.Run.OpenCalls() && h.Run.goesOn(h.Tickets, now), len(h.Inbox) > 0 && !h.Run.OpenCalls():
			return Yield, nil
		case c.Crowded && len(h.Tickets) < MaxTickets && slices.Contains(h.Run.Calls, CallNew):
			return Yield, nil
		case slices.Contains(h.Run.Calls, CallSuspended):
			return Wait, nil // what is in the inbox waits along: no step could read it before the calls have results
		}
		return o, invalid("commit step: nothing to wait for")
	case Done:
		if c.Natural && h.Run.OpenCalls() {
			return o, invalid("commit step: a natural end with open calls")
		}
		if c.Natural && len(h.Inbox) > 0 {
			return Yield, nil
		}
		return Done, nil
	}
	return o, invalid("commit step: unknown outcome %d", c.Outcome)
}
