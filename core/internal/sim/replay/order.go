package replay

import (
	"cmp"
	"math"
	"slices"

	"github.com/reveille-run/reveille/core/internal/thread"
)

// inTurn leaves results unfinished whose place in the line follows one that is still to
// come: a finished result keeps its place in the line, and the claim that brings the
// other one holds them back.
func (s *recordedStep) inTurn(c thread.CommitStep, head thread.Head) thread.CommitStep {
	place := func(i int) int {
		if e := s.result(i); e != nil {
			return int(e.Place)
		}
		return 0
	}
	first := 0 // place of the first that is missing
	for i, status := range c.Calls {
		if p := place(i); status != thread.CallDone && p > 0 && (first == 0 || p < first) {
			first = p
		}
	}
	c.Calls = slices.Clone(c.Calls)
	for i, was := range head.Run.Calls {
		if first > 0 && place(i) > first {
			c.Calls[i] = was
		}
	}
	return c
}

// only leaves out the tickets of a wait that are not wanted yet. A call that must not
// run twice cannot ask again: its ticket stays.
func only(c thread.CommitStep, head thread.Head, wanted []thread.Ticket) thread.CommitStep {
	c.Calls, c.Tickets = slices.Clone(c.Calls), slices.Clone(c.Tickets)
	c.Tickets = slices.DeleteFunc(c.Tickets, func(t thread.Ticket) bool {
		same := func(o thread.Ticket) bool { return o.ID == t.ID }
		was := head.Run.Calls[t.Call]
		if was == thread.CallRunning || slices.ContainsFunc(wanted, same) || slices.ContainsFunc(head.Tickets, same) {
			return false
		}
		c.Calls[t.Call] = was
		return true
	})
	return c
}

// inOrder puts those tickets first that the record has: a head has few places, and who
// gets one depends on who was faster.
func (d *director) inOrder(tickets []thread.Ticket) []thread.Ticket {
	s := d.recording.steps[d.number]
	if len(tickets) < 2 || s == nil {
		return tickets
	}
	rank := func(t thread.Ticket) int {
		waits := d.next(s)
		if i := slices.IndexFunc(waits, func(w wait) bool { return slices.Contains(w.Waits, t.ID) }); i >= 0 {
			return 3 * i
		}
		call := int(t.Call)
		n := s.ticket(t)
		if n < 0 {
			return math.MaxInt
		}
		if _, decided := s.decision(call, n); !decided {
			return math.MaxInt
		}
		i := slices.IndexFunc(waits, func(w wait) bool { return slices.Contains(w.Merged, call) })
		if i < 0 {
			i = len(waits)
		}
		return 3*i - 2
	}
	return slices.SortedStableFunc(slices.Values(tickets), func(a, b thread.Ticket) int { return cmp.Compare(rank(a), rank(b)) })
}
