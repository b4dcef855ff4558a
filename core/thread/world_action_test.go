package thread_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/thread"
)

// longest is as long as a name from outside may be.
var longest = strings.Repeat("n", core.MaxNameLength)

// action picks a command, mostly one that fits the head.
func (w *world) action() thread.Action {
	h := &w.head
	switch w.rand.IntN(34) {
	case 0, 1, 2:
		return w.enqueue()
	case 3:
		return thread.EnqueueAndClaim{Enqueue: w.enqueue(), Worker: longest[:64], Lease: w.lease()}
	case 4, 5, 6, 7, 8:
		return thread.Claim{Worker: longest[:64], Lease: w.lease()}
	case 9:
		return thread.Reclaim{}
	case 10, 11, 12, 13:
		return w.turn()
	case 14:
		return thread.Suspend{Fence: w.fence(), Tickets: w.tickets(h.Run.Calls)}
	case 15, 16, 17, 18, 19, 20:
		return w.step()
	case 21:
		return thread.CommitClose{Fence: w.fence(), Seq: h.Seq + uint64(len(h.Run.Calls)) + uint64(w.rand.IntN(2))}
	case 22:
		return thread.Nack{Fence: w.fence(), AvailableAt: w.later()}
	case 23, 24:
		return thread.Input{ID: w.fresh(), Kind: thread.InboxKind(w.rand.IntN(2)), Owner: longest, Dedupe: w.key()}
	case 25:
		if len(h.Inbox) > 0 {
			e := h.Inbox[w.rand.IntN(len(h.Inbox))]
			return thread.Edit{ID: e.ID, Revision: e.Revision + uint32(w.rand.IntN(2))}
		}
		return thread.Edit{ID: w.fresh()}
	case 26:
		if len(h.Inbox) > 0 {
			return thread.Retract{ID: h.Inbox[0].ID}
		}
		return thread.Retract{}
	case 27, 28, 29:
		return w.decide()
	case 30:
		return w.cancel()
	case 31:
		return w.interrupt()
	case 32:
		if w.rand.IntN(10) == 0 {
			return thread.Delete{Owner: longest, Erased: w.rand.IntN(2) == 0}
		}
		return thread.ExtendLease{Fence: w.fence(), Lease: w.lease()}
	}
	if h.Notify != nil {
		return thread.Notified{Child: h.Notify.Child}
	}
	return thread.Notified{}
}

func (w *world) enqueue() thread.Enqueue {
	e := thread.Enqueue{
		Dispatch: w.fresh(), Run: w.fresh(), Priority: uint8(w.rand.IntN(3)), AvailableAt: w.later(),
		Dedupe: w.key(), Owner: longest, RejectBusy: w.rand.IntN(8) == 0,
	}
	if w.rand.IntN(3) == 0 {
		e.Parent = &thread.Parent{Thread: longest, Run: core.ID{0xbb}, Call: 31}
	}
	if len(w.head.Pending) > 0 && w.rand.IntN(6) == 0 {
		d := w.head.Pending[0]
		e.Dispatch, e.Run, e.Parent = d.ID, d.Run, nil
	}
	return e
}

func (w *world) turn() thread.Action {
	a := thread.CommitTurn{Fence: w.fence(), Seq: w.head.Seq + 1 + uint64(w.rand.IntN(2)), Consumed: w.read()}
	a.Calls = make([]thread.CallStatus, 1+w.rand.IntN([...]int{3, 12, 32}[w.rand.IntN(3)]))
	for i := range a.Calls {
		a.Calls[i] = thread.CallStatus(w.rand.IntN(5) / 4)
	}
	if w.rand.IntN(4) == 0 {
		a.Summary = w.head.Seq
	}
	return a
}

// step settles some calls, suspends some, and asks for any outcome.
func (w *world) step() thread.Action {
	h := &w.head
	a := thread.CommitStep{Fence: w.fence(), Outcome: thread.Outcome(1 + w.rand.IntN(4)), Seq: h.Seq, Lease: w.lease(), Consumed: w.read()}
	if h.Run.Cursor != thread.CursorTools {
		a.Seq += uint64(w.rand.IntN(4)) - uint64(w.rand.IntN(2))
		return a
	}
	a.Calls = slices.Clone(h.Run.Calls)
	keen := w.rand.IntN(3)
	for i, s := range a.Calls {
		switch {
		case s == thread.CallSuspended && w.rand.IntN(4) != 0:
		case w.rand.IntN(3) < keen, s == thread.CallRunning:
			a.Calls[i] = thread.CallDone
		case s == thread.CallResuming && w.rand.IntN(2) == 0:
			a.Calls[i] = thread.CallSuspended // a worker that does not know of the decision
		}
	}
	if w.rand.IntN(12) == 0 {
		a.Seq += uint64(w.rand.IntN(4))
		return a
	}
	a.Tickets = w.tickets(a.Calls)
	for _, t := range a.Tickets {
		a.Calls[t.Call] = thread.CallSuspended
	}
	if !slices.ContainsFunc(a.Calls, func(s thread.CallStatus) bool { return s != thread.CallDone }) {
		a.Seq += uint64(len(a.Calls) + w.rand.IntN(2))
	}
	return a
}

// tickets suspends some of the calls that can be, and names some that stand.
func (w *world) tickets(calls []thread.CallStatus) (tickets []thread.Ticket) {
	if w.rand.IntN(3) == 0 {
		return nil
	}
	for i, s := range calls {
		if s == thread.CallDone || w.rand.IntN(3) == 0 {
			continue
		}
		t := thread.Ticket{Call: uint8(i), Kind: thread.TicketKind(w.rand.IntN(3)), ID: hash("ticket-0") + uint64(w.rand.IntN(2))}
		if w.rand.IntN(3) == 0 {
			t.Deadline = w.now + int64(w.rand.IntN(1_000_000))
		}
		tickets = append(tickets, t)
	}
	return tickets
}

func (w *world) decide() thread.Action {
	h := &w.head
	a := thread.Decide{Run: h.Run.ID, Decision: w.key(), Resume: w.rand.IntN(2) == 0}
	if len(h.Tickets) > 0 {
		a.Call = h.Tickets[w.rand.IntN(len(h.Tickets))].Call
	}
	if len(w.decided) > 0 && w.rand.IntN(4) == 0 {
		a.Decision = w.decided[len(w.decided)-1]
	}
	return a
}

func (w *world) cancel() thread.Action {
	h := &w.head
	if n := len(h.Pending); n > 0 && w.rand.IntN(2) == 0 {
		return thread.Cancel{Run: h.Pending[w.rand.IntN(n)].Run}
	}
	return thread.Cancel{}
}

func (w *world) interrupt() thread.Action {
	a := thread.Interrupt{Owner: longest}
	if w.rand.IntN(2) == 0 {
		e := w.enqueue()
		a.Enqueue = &e
	}
	return a
}

// fence is the claim's, or now and then an older one.
func (w *world) fence() uint64 {
	if w.rand.IntN(12) == 0 {
		return uint64(w.rand.IntN(int(w.head.Fence) + 1))
	}
	return w.head.Claim.Fence
}

// read is the inbox, as a step that read it just before names it.
func (w *world) read() []thread.InboxRef {
	if w.rand.IntN(3) == 0 {
		return nil
	}
	return w.inbox()
}

func (w *world) lease() int64 { return 1_000 + int64(w.rand.IntN(30_000)) }

func (w *world) later() int64 {
	if w.rand.IntN(3) > 0 {
		return 0
	}
	return w.now + int64(w.rand.IntN(300_000))
}

func (w *world) key() uint64 {
	w.serial++
	return hash(fmt.Sprintf("k%d", w.serial))
}
