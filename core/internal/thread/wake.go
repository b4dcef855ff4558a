package thread

import (
	"encoding/json"
	"fmt"

	"github.com/reveille-run/reveille/core"
)

// A ticket may have a time at which its call continues without a decision. No process waits for
// that time: the thread is due then, and the first claim after it decides the ticket, by the clock
// of its process and in its own write, also if the run waits for other tickets. Before that time,
// a person can decide it like any other ticket.

// Times of tickets that wake, in milliseconds.
const (
	// wakeWithin is how far ahead a hint is sent: queues hold one back for so long.
	wakeWithin = 15 * 60_000
	// lookAhead is how long before the time to wake a sweep finds a thread that has no hint on
	// its way, which it sends then: sweeps come late, and hints do not.
	lookAhead = 10 * 60_000
)

// Woken is a ticket that the clock has decided.
type Woken struct {
	Call   uint8
	Ticket uint64 // see [TicketKey]
}

// Decision is the decision's record. Each claim that wakes the ticket makes the same bytes.
func (w Woken) Decision() DecisionRecord {
	return DecisionRecord{
		Decision: core.Decision{ID: fmt.Sprintf("%s%016x", core.WakePrefix, w.Ticket), Action: core.DecisionResume, Payload: json.RawMessage(`{"woken":"time"}`)},
		Ticket:   w.Ticket,
	}
}

// WakeKey is the head's form of the decision of the clock on a ticket, as [DecisionKey] is of
// a person's.
func WakeKey(run core.ID, ticket uint64) uint64 {
	return key(run, "wake", fmt.Sprintf("%016x", ticket))
}

// wakes reports whether the time to wake has come.
func (t *Ticket) wakes(now int64) bool { return t.Decision == 0 && t.WakeAt != 0 && t.WakeAt <= now }

// anyWakes reports whether the time to wake of a ticket has come.
func (ts Tickets) anyWakes(now int64) bool {
	return ts.any(func(t Ticket) bool { return t.wakes(now) })
}

// lookAt is when a sweep must look at the ticket.
func (t *Ticket) lookAt(now int64) int64 {
	if t.WakeAt > now+wakeWithin {
		return t.WakeAt - lookAhead
	}
	return t.WakeAt
}

// wakeTickets decides the tickets of the open run whose time to wake has come. A run that waited
// for them is ready.
func wakeTickets(h *Head, t Transition) (woken []Woken) {
	if h.Run.Status == Closing {
		return nil
	}
	for i := range h.Tickets {
		k := &h.Tickets[i]
		if !k.wakes(t.Now) {
			continue
		}
		k.Decision = WakeKey(h.Run.ID, k.ID)
		h.Recent.add(k.Decision)
		h.Run.Calls[k.Call] = CallResuming
		woken = append(woken, Woken{k.Call, k.ID})
	}
	if len(woken) > 0 {
		h.raise(t)
		if h.Run.Status == Waiting && h.Run.goesOn(h.Tickets, t.Now) {
			h.Run.resume()
		}
	}
	return woken
}

// wakeLater is the hint of a run that waits, for the first time to wake of its tickets; nil:
// none is near, and a sweep sends the hint.
func wakeLater(h *Head, now int64) (hint *Hint) {
	for _, t := range h.Tickets {
		near := t.Decision == 0 && t.WakeAt != 0 && t.WakeAt <= now+wakeWithin
		if near && (hint == nil || t.WakeAt < hint.At) {
			hint = &Hint{Dispatch: h.Run.Dispatch, At: t.WakeAt, WakeAt: t.WakeAt}
		}
	}
	return hint
}

// hinted reports whether the hint of a wait that follows a change is on its way already, so that
// what clients repeat, or do while the run waits, leaves no second one:
//
//   - A request that was accepted before sends none. The wait may be older than it, or have begun
//     since, and either has its hint from the write that began it.
//   - A claim that comes too early sends none, unless it came by the hint of the wait. But one that
//     is written sends one: it has woken another ticket, or the sweep has found the thread.
//   - A write while the run waits sends none if an earlier one has, for the same time: the newest
//     was within the time for which queues hold a hint back.
//
// If the process that was to send the hint has died, the sweep finds the thread.
func hinted(h *Head, c Change, r Result) bool {
	if take, ok := c.(TakeClaim); ok {
		return r.Unchanged && take.WakeAt != r.Hint.WakeAt
	}
	if r.Duplicate {
		return true
	}
	return sentBefore(h, r.Hint)
}

// sentBefore reports whether the write that made a head, or an earlier one, has sent the hint of a
// wait.
func sentBefore(h *Head, wait *Hint) bool {
	if !h.Open() || h.Run.Status != Waiting {
		return false
	}
	sent := wakeLater(h, madeAt(h.CommitID))
	return sent != nil && sent.WakeAt == wait.WakeAt
}

// withWait returns the hint of a write with that of the wait, if the run waits and no write has
// sent it: each write of a run that waits sends it when the time is near, whatever it is for. Where
// it sends another one, that names the time, and who follows it sends the other.
func withWait(h, next *Head, now int64, hint *Hint) *Hint {
	if !next.Open() || next.Run.Status != Waiting {
		return hint
	}
	wait := wakeLater(next, now)
	switch {
	case wait == nil || sentBefore(h, wait):
	case hint == nil:
		return wait
	case hint.WakeAt == 0:
		hint.WakeAt = wait.WakeAt
	}
	return hint
}
