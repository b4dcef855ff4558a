package thread_test

import (
	"reflect"
	"slices"

	"github.com/reveille-run/reveille/core/internal/thread"
)

// What a head has at one time fits together, whatever led to it.

// checkParts is what holds between the parts of a head.
func checkParts(check checker, h thread.Head) {
	r := h.Run
	count := func(set ...bool) (n int) {
		for _, s := range set {
			if s {
				n++
			}
		}
		return n
	}
	switch {
	case h.Open():
		check(count(h.Claim.Fence != 0, h.Ready(), r.Status == thread.Waiting) == 1, "the open run is not exactly one of claimed, ready, waiting")
		check((r.Status == thread.Closing) == (r.Reason != thread.ReasonNone), "closing without a reason or the reverse")
		check(h.Ready() || r.AvailableAt == 0, "a continuation that is not ready")
		check((r.Cursor == thread.CursorTools) == (len(r.Calls) > 0), "cursor %s with %d calls", r.Cursor, len(r.Calls))
		check(r.Cursor != thread.CursorTools || r.Base == h.Seq+1, "results at %d behind sequence %d", r.Base, h.Seq)
		check(r.Cursor == thread.CursorTools || !r.Batch && r.Round == 0 && r.TurnFence == 0, "what belongs to a round outlived it: %+v", r)
		check(r.Round <= h.Version, "the round's record is of version %d", r.Round)
	default:
		check(reflect.DeepEqual(r, thread.Run{}) && h.Claim == thread.Claim{}, "no run, yet %+v under %+v", r, h.Claim)
		check(len(h.Tickets) == 0 && len(h.Inbox) == 0, "no run, yet tickets or an inbox")
	}
	if h.Claim.Fence != 0 {
		check(h.Claim.Fence <= h.Fence && h.Claim.Epoch <= h.Epoch && h.Claim.Worker != "", "claim %+v does not fit", h.Claim)
	}
	steered := 0
	for _, d := range h.Pending {
		steered += count(d.Steered)
		check(d.Steered || len(d.Rest) == 0, "an inbox waits behind dispatch %s", d.ID)
		check(len(d.Rest) < 8, "an inbox of %d waits behind dispatch %s", len(d.Rest), d.ID)
		check(d.AvailableAt == 0, "dispatch %s is queued and may not open before %d", d.ID, d.AvailableAt)
	}
	for _, d := range h.Delayed {
		check(d.AvailableAt > 0 && !d.Child && !d.Steered && len(d.Rest) == 0, "%+v is delayed", d)
	}
	check(len(h.Delayed) <= 8, "%d dispatches are delayed", len(h.Delayed))
	check(steered <= 1 && len(h.Pending) <= 8+steered, "%d dispatches are queued, %d of them steered", len(h.Pending), steered)
	check(len(h.Tickets) <= 8 && len(h.Inbox) <= 8 && len(h.Outbox) <= 32 && len(h.Recent) <= 16 && len(r.Calls) <= 32 && len(r.Children) <= 16, "a table is over its limit")
	announced, waiting, ends := 0, 0, 0
	for _, e := range h.Outbox {
		announced += count(e.Announces())
		waiting += count(e.Kind == thread.OutboxWaiting)
		ends += count(e.Kind == thread.OutboxChildEnded)
	}
	check(announced <= 4 && waiting <= 1, "%d announcements, %d of them of runs that wait", announced, waiting)
	check(ends <= 10, "%d parents are to be told", ends)
	check(r.Status != thread.Closing || len(h.Tickets) == 0, "a closing run has tickets")
	by := r.Reason == thread.ReasonCancelled || r.Reason == thread.ReasonSuperseded
	check(!by || len(h.Inbox) == 0, "input is left of a run that a person ended")
}

// checkTickets is that every suspended call has the one ticket by which it can
// be decided.
func checkTickets(check checker, h thread.Head) {
	open := map[uint8]int{}
	for _, t := range h.Tickets {
		s := h.Run.Calls[t.Call]
		decided := s == thread.CallResuming || s == thread.CallCancelling
		if s == thread.CallRunning { // it keeps the place of its ticket
			check(t.Decision != 0, "ticket %+v of a call that runs is not decided", t)
			continue
		}
		check(decided == (t.Decision != 0) && (decided || s == thread.CallSuspended), "ticket %+v of a call that is %s", t, s)
		open[t.Call]++
	}
	for i, s := range h.Run.Calls {
		check(open[uint8(i)] <= 1, "two tickets of call %d", i)
		check(s != thread.CallSuspended || open[uint8(i)] == 1 || h.Run.Status == thread.Closing, "call %d is suspended without a ticket", i)
	}
	if h.Run.Status == thread.Waiting {
		check(slices.Contains(h.Run.Calls, thread.CallSuspended), "the run waits for nobody")
		decided := slices.Contains(h.Run.Calls, thread.CallResuming) || slices.Contains(h.Run.Calls, thread.CallCancelling)
		check(!decided || h.Run.Batch, "the run waits though it was decided")
		for i, s := range h.Run.Calls {
			check(s != thread.CallCancelling || open[uint8(i)] == 1, "the run waits though call %d was superseded", i)
		}
		spoken := slices.ContainsFunc(h.Inbox, func(e thread.InboxEntry) bool { return e.Kind == thread.InboxPerson })
		asks := slices.ContainsFunc(h.Tickets, func(t thread.Ticket) bool { return t.Kind != thread.TicketChild && !t.Keep && t.Decision == 0 })
		check(!spoken || !asks, "the run waits for people though one spoke")
	}
}

// checkDue is that the sweep finds a thread exactly if there is something to do,
// and not too late.
func checkDue(check checker, h thread.Head, t thread.Transition) {
	var times []int64
	now := t.Now
	if h.Deleted && !h.Erased {
		times = append(times, 0)
	}
	for _, e := range h.Outbox {
		if e.Delivers() {
			times = append(times, e.Next)
		}
	}
	switch {
	case h.Claim.Fence != 0:
		times = append(times, h.Claim.Lease+1)
	case h.Ready():
		times = append(times, h.Run.AvailableAt)
	case h.Open():
		for _, t := range h.Tickets {
			if t.Deadline != 0 && t.Decision == 0 {
				times = append(times, t.Deadline)
			}
			switch at := t.WakeAt; {
			case at == 0 || t.Decision != 0:
			case at > now+900_000: // in time for the hint, which no queue holds back for longer
				times = append(times, at-600_000)
			default:
				times = append(times, at)
			}
		}
	default:
		for _, d := range h.Unopened() {
			times = append(times, d.AvailableAt)
		}
	}
	if len(times) == 0 || h.DueAt == 0 {
		check(len(times) == 0 && h.DueAt == 0, "due at %d, things to do: %v", h.DueAt, times)
		return
	}
	first := max(slices.Min(times), t.Now+t.Due.Grace)
	check(h.DueAt < first+max(t.Due.Round, 1), "due at %d, %d is too late", h.DueAt, first)
	check(h.DueAt >= first || t.Due.Round > 0, "due at %d, before %d", h.DueAt, first)
	check(h.DueAt > t.Now || t.Due.Grace == 0, "due at %d, which is past", h.DueAt)
}
