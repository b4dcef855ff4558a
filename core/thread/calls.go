package thread

import (
	"slices"

	"github.com/reveille-run/reveille/core"
)

// Suspend is the transition that makes known how far the open round is, while calls of it still run:
// results that are stored, at_most_once tools that are about to start, tickets
// that a person can decide at once. Which of the tickets got a place is in the
// new head: see [CommitStep].
type Suspend struct {
	Fence   uint64
	Calls   []CallStatus // as the step leaves them; nil: unchanged
	Tickets []Ticket
	Schema  uint16  // highest schema of an adopted result; 0: none was
	Through *uint32 // as in Nack
}

func (c Suspend) apply(h *Head, t Transition) (Result, error) {
	if err := h.working(c.Fence); err != nil {
		return Result{}, err
	}
	if err := h.settle(c.Calls, c.Tickets); err != nil {
		return Result{}, err
	}
	h.keepThrough(c.Through)
	if err := h.adopt(t, c.Schema); err != nil {
		return Result{}, err
	}
	return Result{}, h.suspend(c.Tickets)
}

// consume removes the inbox entries that the step read and returns where. Each
// must stand in a record that the commit makes visible, up to seq: else it would be
// gone from the head and not yet in the log.
func (h *Head) consume(refs []InboxRef, seq uint64) (read []Audit, err error) {
	for _, r := range refs {
		if r.Seq <= h.Seq || r.Seq > seq {
			return nil, invalid("commit: input %s is read at sequence %d, the commit makes %d to %d visible", r.ID, r.Seq, h.Seq+1, seq)
		}
		i := slices.IndexFunc(h.Inbox, func(e InboxEntry) bool { return e.ID == r.ID && e.Revision == r.Revision })
		if i < 0 {
			return nil, ErrStale
		}
		h.Inbox = without(h.Inbox, i)
		read = append(read, Audit{ID: r.ID, Run: h.Run.ID, Read: r.Seq, Status: core.DispatchAcked})
	}
	return read, nil
}

// settle takes the step's word for each call, but for a decision that came
// while the step still saw the call as suspended. Suspensions that are new with
// this commit are left to suspend. A call that is done now is progress.
func (h *Head) settle(calls []CallStatus, tickets []Ticket) error {
	if calls == nil {
		return nil
	}
	if len(calls) != len(h.Run.Calls) {
		return invalid("%d call statuses for %d calls", len(calls), len(h.Run.Calls))
	}
	for i, next := range calls {
		was := h.Run.Calls[i]
		decided := was == CallResuming || was == CallCancelling
		comes := func(t Ticket) bool { return int(t.Call) == i }
		switch {
		case next == was, was == CallDone && next != CallDone && next <= CallCancelling:
			// An older view of a call that an earlier write of the same step moved on.
		case next == CallDone:
			h.Run.Calls[i] = next
			h.Tickets = slices.DeleteFunc(h.Tickets, comes)
			h.progress()
		case next == CallRunning && (was == CallNew || was == CallResuming):
			h.Run.Calls[i] = next
			h.Tickets = slices.DeleteFunc(h.Tickets, comes)
		case next == CallSuspended && (decided || slices.ContainsFunc(tickets, comes)):
		default:
			return invalid("call %d is %s, it cannot become %s", i, was, next)
		}
	}
	if len(h.Tickets) == 0 {
		h.Tickets = nil
	}
	return nil
}

// suspend adds tickets and marks their calls. A ticket that stands already is
// left alone, whether it was decided meanwhile or not.
func (h *Head) suspend(tickets []Ticket) error {
	for _, t := range tickets {
		switch {
		case int(t.Call) >= len(h.Run.Calls):
			return invalid("suspend: call %d of %d", t.Call, len(h.Run.Calls))
		case h.Run.Calls[t.Call] == CallDone:
			return invalid("suspend: call %d already has its result", t.Call)
		case t.Kind > TicketChild:
			return invalid("suspend: ticket of call %d has the unknown kind %d", t.Call, t.Kind)
		}
		if h.Run.Calls[t.Call] == CallCancelling {
			continue
		}
		if i := slices.IndexFunc(h.Tickets, func(old Ticket) bool { return old.Call == t.Call }); i >= 0 {
			if h.Tickets[i].ID == t.ID {
				continue
			}
			h.Tickets = without(h.Tickets, i)
		}
		if len(h.Tickets) >= MaxTickets {
			h.Run.Calls[t.Call] = CallNew
			continue
		}
		t.Decision, t.Deadline, t.WakeAt = 0, max(t.Deadline, 0), max(t.WakeAt, 0)
		h.Tickets = append(h.Tickets, t)
		h.Run.Calls[t.Call] = CallSuspended
		h.progress()
	}
	return nil
}

// supersede cancels the suspended calls, since a person said something instead
// of deciding. A call that waits for a child run goes on waiting: nobody was asked. It
// reports whether there was one to cancel.
func (h *Head) supersede() (any bool) {
	h.Tickets = slices.DeleteFunc(h.Tickets, func(t Ticket) bool {
		if t.Decision != 0 || t.Kind == TicketChild {
			return false
		}
		h.Run.Calls[t.Call] = CallCancelling
		any = true
		return true
	})
	if len(h.Tickets) == 0 {
		h.Tickets = nil
	}
	return any
}

// superseded reports whether a suspended call was cancelled without a decision, and has
// no result yet.
func (h *Head) superseded() bool {
	for i, s := range h.Run.Calls {
		if s == CallCancelling && !slices.ContainsFunc(h.Tickets, func(t Ticket) bool { return int(t.Call) == i }) {
			return true
		}
	}
	return false
}

// asks reports whether a ticket waits for somebody outside: a person or a client.
func (h *Head) asks() bool {
	return slices.ContainsFunc(h.Tickets, func(t Ticket) bool { return t.Decision == 0 && t.Kind != TicketChild })
}

// noteWaits keeps Run.WaitsSince: the time of the first ticket that asks, until none is
// left.
func (h *Head) noteWaits(now int64) {
	switch asks := h.asks(); {
	case !asks:
		h.Run.WaitsSince = 0
	case h.Run.WaitsSince == 0:
		h.Run.WaitsSince = max(now, 1)
	}
}

// goesOn reports whether a round that waits has something to do: no ticket is
// undecided, or one is decided and the round does not wait for all of them, or a call was
// superseded, which waits for none.
func (h *Head) goesOn() bool {
	undecided, decided := false, false
	for _, t := range h.Tickets {
		undecided, decided = undecided || t.Decision == 0, decided || t.Decision != 0
	}
	return !undecided || decided && !h.Run.Batch || h.superseded()
}

// spoken reports whether a person's input waits for the run's next step.
func (h *Head) spoken() bool {
	return slices.ContainsFunc(h.Inbox, func(e InboxEntry) bool { return e.Kind == InboxPerson })
}

// outcome says what the asked outcome comes to. It never lets a run wait that
// nobody could wake: a wait has an undecided ticket.
func (h *Head) outcome(c CommitStep) (Outcome, error) {
	switch c.Outcome {
	case Yield:
		return Yield, nil
	case Wait:
		switch {
		case h.spoken() && h.supersede():
			return Yield, nil
		case slices.Contains(h.Run.Calls, CallRunning):
			return 0, invalid("commit step: wait while a call still runs")
		case h.Run.OpenCalls() && h.goesOn(), len(h.Inbox) > 0 && !h.Run.OpenCalls():
			return Yield, nil
		case slices.Contains(h.Run.Calls, CallSuspended):
			return Wait, nil // what is in the inbox waits along: no step could read it before the calls have results
		}
		return 0, invalid("commit step: nothing to wait for")
	case Done:
		if c.Natural && h.Run.OpenCalls() {
			return 0, invalid("commit step: a natural end with open calls")
		}
		if c.Natural && len(h.Inbox) > 0 {
			return Yield, nil
		}
		return Done, nil
	}
	return 0, invalid("commit step: unknown outcome %d", c.Outcome)
}
