package replay

import (
	"context"
	"slices"

	"github.com/reveille-run/reveille/core/internal/thread"
)

// The times of a round name its claims: every ticket that a claim has asked for, and every
// result that it has made, has the time at which that claim began the round. So the records
// tell which decisions came while the claim that had asked for them still worked, and which
// calls continued in one claim after a wait.

// wentOn is the time of the claim in which a call continued after its n-th ticket: it asked
// for the next one, or has its result; 0: it did not continue.
func (s *recordedStep) wentOn(call, n int) int64 {
	if tickets := s.asked[call]; n+1 < len(tickets) {
		return tickets[n+1].CreatedAt
	}
	if e := s.result(call); e != nil {
		return e.At
	}
	return 0
}

// within are those of the open tickets that were decided while the claim that had asked for
// them still worked, and whose calls it continued. The round did not wait for them.
func (d *director) within(s *recordedStep, open []thread.Ticket) []thread.Ticket {
	for _, w := range d.next(s) {
		open = without(open, w.Waits)
	}
	return slices.DeleteFunc(slices.Clone(open), func(t thread.Ticket) bool {
		call, n := int(t.Call), d.ticket(s, t)
		if n < 0 || s.wentOn(call, n) != s.asked[call][n].CreatedAt {
			return true
		}
		_, decided := s.decision(call, n)
		return !decided
	})
}

// soonest leaves out the tickets of calls that continued in a later claim than others.
func (d *director) soonest(s *recordedStep, tickets []thread.Ticket) []thread.Ticket {
	at := func(t thread.Ticket) int64 { return s.wentOn(int(t.Call), d.ticket(s, t)) }
	var first int64
	for _, t := range tickets {
		if began := at(t); first == 0 || began != 0 && began < first {
			first = began
		}
	}
	return slices.DeleteFunc(slices.Clone(tickets), func(t thread.Ticket) bool { return at(t) != first })
}

// pass leaves behind the waits for a ticket that is decided: whatever claims came between
// them have brought nothing.
func (d *director) pass(s *recordedStep, decided thread.Ticket) {
	for i := d.waited[s]; i < len(s.waits); i++ {
		if slices.Contains(s.waits[i].Waits, decided.ID) {
			d.waited[s] = i + 1
		}
	}
}

// withdraw takes back what a person said, which the run does not read, before a wait that it
// would have ended: by then it was withdrawn.
func (d *director) withdraw(ctx context.Context, w wait, open []thread.Ticket) error {
	head, err := d.box.Head(ctx, d.recording.key)
	said := slices.ContainsFunc(head.Inbox, func(e thread.InboxEntry) bool { return e.ID == interjected })
	ends := slices.ContainsFunc(open, func(t thread.Ticket) bool {
		return t.Kind != thread.TicketChild && !t.Keep && slices.Contains(w.Waits, t.ID)
	})
	if err != nil || !said || !ends {
		return err
	}
	_, _, err = d.box.Commit(ctx, d.recording.key, head, thread.Retract{ID: interjected}, nil)
	return err
}
