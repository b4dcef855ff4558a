package thread

import "slices"

// Suspend makes tickets visible while siblings of their calls still run, so
// that a person can answer at once. Which of them got a place is in the new
// head: see [CommitStep].
type Suspend struct {
	Fence   uint64
	Tickets []Ticket
}

func (a Suspend) apply(h *Head, c Command) (Effects, error) {
	if err := h.working(a.Fence); err != nil {
		return Effects{}, err
	}
	return Effects{}, h.suspend(a.Tickets)
}

// consume removes the inbox entries that the step read.
func (h *Head) consume(refs []InboxRef) error {
	for _, r := range refs {
		i := slices.IndexFunc(h.Inbox, func(e InboxEntry) bool { return e.ID == r.ID && e.Revision == r.Revision })
		if i < 0 {
			return ErrStale
		}
		h.Inbox = slices.Delete(h.Inbox, i, i+1)
	}
	return nil
}

// settle takes the step's word for each call, but for a decision that came
// while the step still saw the call as suspended. Suspensions that are new with
// this commit are left to suspend.
func (h *Head) settle(calls []CallStatus, tickets []Ticket) error {
	if calls == nil {
		return nil
	}
	if len(calls) != len(h.Run.Calls) {
		return invalid("commit step: %d call statuses for %d calls", len(calls), len(h.Run.Calls))
	}
	for i, next := range calls {
		was := h.Run.Calls[i]
		decided := was == CallResuming || was == CallCancelling
		comes := func(t Ticket) bool { return int(t.Call) == i }
		switch {
		case next == was:
		case next == CallDone, next == CallRunning && (was == CallNew || was == CallResuming):
			h.Run.Calls[i] = next
			h.Tickets = slices.DeleteFunc(h.Tickets, comes)
		case next == CallSuspended && was != CallDone && (decided || slices.ContainsFunc(tickets, comes)):
		default:
			return invalid("commit step: call %d is %s, it cannot become %s", i, was, next)
		}
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
		if i := slices.IndexFunc(h.Tickets, func(old Ticket) bool { return old.Call == t.Call }); i >= 0 {
			if h.Tickets[i].ID == t.ID {
				continue
			}
			h.Tickets = slices.Delete(h.Tickets, i, i+1)
		}
		if len(h.Tickets) >= MaxTickets {
			h.Run.Calls[t.Call] = CallNew
			continue
		}
		t.Decision, t.Deadline = 0, max(t.Deadline, 0)
		h.Tickets = append(h.Tickets, t)
		h.Run.Calls[t.Call] = CallSuspended
	}
	return nil
}

// supersede cancels the suspended calls, since a person said something instead
// of deciding.
func (h *Head) supersede() {
	for i, s := range h.Run.Calls {
		if s == CallSuspended {
			h.Run.Calls[i] = CallCancelling
		}
	}
	h.Tickets = slices.DeleteFunc(h.Tickets, func(t Ticket) bool { return t.Decision == 0 })
}

// outcome says what the asked outcome comes to. It never lets a run wait that
// nobody could wake: a wait has an undecided ticket.
func (h *Head) outcome(asked Outcome) (Outcome, error) {
	switch asked {
	case Continue, Yield:
		return asked, nil
	case Wait:
		switch {
		case slices.ContainsFunc(h.Inbox, func(e InboxEntry) bool { return e.Kind == InboxPerson }):
			h.supersede()
			return Yield, nil
		case slices.Contains(h.Run.Calls, CallResuming), slices.Contains(h.Run.Calls, CallCancelling):
			return Yield, nil
		case slices.Contains(h.Run.Calls, CallRunning):
			return 0, invalid("commit step: wait while a call still runs")
		case slices.Contains(h.Run.Calls, CallSuspended):
			return Wait, nil // internal input waits along: no step could read it before the calls are answered
		case len(h.Inbox) > 0:
			return Yield, nil
		}
		return 0, invalid("commit step: nothing to wait for")
	case Done:
		if h.Run.OpenCalls() {
			return 0, invalid("commit step: done with open calls")
		}
		if len(h.Inbox) > 0 {
			return Yield, nil
		}
		return Done, nil
	}
	return 0, invalid("commit step: unknown outcome %d", asked)
}
