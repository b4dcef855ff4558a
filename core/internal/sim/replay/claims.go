package replay

import (
	"slices"

	"github.com/reveille-run/reveille/core"
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
// them still worked, and whose calls it continued: the round waits for none of them next.
func (s *recordedStep) within(open []thread.Ticket, next []wait) []thread.Ticket {
	for _, w := range next {
		open = without(open, w.Waits)
	}
	open = slices.DeleteFunc(slices.Clone(open), func(t thread.Ticket) bool {
		call, n := int(t.Call), s.ticket(t)
		if n < 0 || s.wentOn(call, n) != s.asked[call][n].CreatedAt {
			return true
		}
		_, decided := s.decision(call, n)
		return !decided
	})
	// A gate that ended the run over a call ends those behind it. What came before that is to
	// come before it again.
	return slices.DeleteFunc(open, func(t thread.Ticket) bool {
		e := s.result(int(t.Call))
		return e != nil && e.Message.ToolResult.Status == core.ResultBlocked && slices.ContainsFunc(open, func(o thread.Ticket) bool {
			other := s.result(int(o.Call))
			return other != nil && other.Message.CreatedAt < e.Message.CreatedAt
		})
	})
}

// soonest leaves out the tickets of calls that continued in a later claim than others.
func (s *recordedStep) soonest(tickets []thread.Ticket) []thread.Ticket {
	at := func(t thread.Ticket) int64 { return s.wentOn(int(t.Call), s.ticket(t)) }
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
