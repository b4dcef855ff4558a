package thread_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/wire"
)

// longest is as long as a name from outside may be.
var longest = strings.Repeat("n", wire.MaxName)

// change picks a change, mostly one that fits the head.
func (w *world) change() thread.Change {
	h := &w.head
	switch w.rand.IntN(30) {
	case 0, 1, 2:
		return w.enqueue()
	case 3:
		return thread.EnqueueAndClaim{Enqueue: w.enqueue(), Worker: longest[:64], Lease: w.lease()}
	case 4, 5, 6, 7, 8:
		return thread.TakeClaim{Worker: longest[:64], Lease: w.lease(), Alone: w.rand.IntN(2) == 0}
	case 9, 10:
		return thread.Input{ID: w.fresh(), Kind: thread.InboxKind(w.rand.IntN(2)), Owner: longest, Dedupe: w.key(), Child: w.child()}
	case 11, 12, 13:
		return w.decide()
	case 14:
		return w.rare()
	}
	if w.rand.IntN(24) == 0 {
		return thread.Send{ID: w.fresh(), Run: [...]core.ID{h.Run.ID, {}}[w.rand.IntN(2)], Owner: longest}
	}
	if len(h.Outbox) > 0 && w.rand.IntN(8) == 0 {
		e := h.Outbox[w.rand.IntN(len(h.Outbox))]
		return thread.Delivered{
			ID: e.ID, Kind: e.Kind, Next: [...]int64{0, 0, w.now + 5_000}[w.rand.IntN(3)], Failed: w.rand.IntN(2) == 0,
			Was: [...]int64{0, 0, e.Next, 1}[w.rand.IntN(4)], Missed: h.SaysMissed(e),
		}
	}
	return w.holders()
}

// rare picks what happens to a thread now and then.
func (w *world) rare() thread.Change {
	switch w.rand.IntN(7) {
	case 0:
		return thread.Reclaim{}
	case 1:
		if w.rand.IntN(2) == 0 {
			return thread.DropChild{Run: w.head.Run.ID, Child: w.child()}
		}
		return thread.Touch{}
	case 2:
		id, revision := w.unread()
		return thread.Edit{ID: id, Revision: revision + uint32(w.rand.IntN(3))}
	case 3:
		id, _ := w.unread()
		return thread.Retract{ID: id}
	case 4:
		if all := w.head.Unopened(); len(all) > 0 && w.rand.IntN(2) == 0 {
			return thread.Cancel{Run: all[w.rand.IntN(len(all))].Run}
		}
		return thread.Cancel{}
	case 5:
		c := thread.Interrupt{Owner: longest, Dedupe: w.key(), Epoch: w.head.Epoch}
		if w.rand.IntN(2) == 0 {
			e := w.enqueue()
			c.Enqueue = &e
		}
		return c
	}
	if w.rand.IntN(6) == 0 {
		return thread.Delete{Owner: longest, Erased: w.rand.IntN(2) == 0}
	}
	return thread.Delivered{}
}

// holders picks what only the holder of a claim does.
func (w *world) holders() thread.Change {
	h := &w.head
	if h.Run.Status == thread.Closing && w.rand.IntN(2) == 0 {
		c := thread.CommitClose{Fence: w.fence(), From: w.from(), Sum: uint32(h.Version), Seq: h.Seq + uint64(len(h.Run.Calls)) + uint64(w.rand.IntN(2))}
		if w.rand.IntN(8) == 0 {
			c.Cut = uint64(w.rand.IntN(int(h.Seq) + 1))
		}
		return c
	}
	switch w.rand.IntN(15) {
	case 0, 1, 2, 3:
		return w.turn()
	case 4, 5:
		c := thread.Suspend{Fence: w.fence(), Tickets: w.tickets(h.Run.Calls)}
		if w.rand.IntN(2) == 0 {
			c.Calls = w.calls(c.Tickets)
		}
		return c
	case 6:
		c := thread.Nack{Fence: w.fence(), Kind: thread.NackKind(w.rand.IntN(4)), AvailableAt: w.later(), ModelFailed: uint8(w.rand.IntN(3)), RunEnd: w.rand.IntN(3) == 0}
		if w.rand.IntN(2) == 0 {
			c.Calls = w.calls(nil)
		}
		return c
	case 7:
		return thread.Refence{Fence: w.fence()}
	case 8:
		if w.rand.IntN(2) == 0 {
			return thread.AddChild{Fence: w.fence(), Child: w.child()}
		}
		return thread.ExtendLease{Fence: w.fence(), Lease: w.lease(), Closing: w.rand.IntN(2) == 0}
	}
	return w.step()
}

// child is a child run: one that is listed, or a new one.
func (w *world) child() core.ID {
	if list := w.head.Run.Children; len(list) > 0 && w.rand.IntN(3) == 0 {
		return list[w.rand.IntN(len(list))]
	}
	return w.fresh()
}

func (w *world) enqueue() thread.Enqueue {
	e := thread.Enqueue{
		Dispatch: w.fresh(), Run: w.fresh(), Priority: uint8(w.rand.IntN(3)), AvailableAt: w.later(),
		Dedupe: w.key(), Owner: longest, RejectBusy: w.rand.IntN(8) == 0,
	}
	e.Child = e.AvailableAt <= w.now && w.rand.IntN(3) == 0
	if all := w.head.Unopened(); len(all) > 0 && w.rand.IntN(6) == 0 {
		d := all[w.rand.IntN(len(all))]
		e.Dispatch, e.Run, e.Child = d.ID, d.Run, false
	}
	return e
}

func (w *world) turn() thread.Change {
	c := thread.CommitTurn{Fence: w.fence(), From: w.from(), Sum: uint32(w.head.Version), Batch: w.rand.IntN(2) == 0, Consumed: w.read()}
	c.Seq, c.TurnFence = w.head.Seq+1+uint64(len(c.Consumed)), c.Fence
	c.Calls = 1 + w.rand.IntN([...]int{3, 12, 32}[w.rand.IntN(3)])
	switch w.rand.IntN(8) {
	case 0, 1:
		c.Summary = w.head.Seq
	case 2:
		if w.head.Seq > 0 {
			c.Cut = 1 + uint64(w.rand.IntN(int(w.head.Seq)))
			c.Summary = min(w.head.Summary, c.Cut) / 2
		}
	}
	return c
}

// step settles some calls, suspends some, and asks for any outcome.
func (w *world) step() thread.Change {
	h := &w.head
	c := thread.CommitStep{
		Fence: w.fence(), From: w.from(), Outcome: thread.Outcome(2 + w.rand.IntN(4)), Natural: w.rand.IntN(2) == 0, Listens: w.rand.IntN(2) == 0,
		Seq: h.Seq, Sum: uint32(h.Version), Lease: w.lease(), Keep: w.rand.IntN(4) == 0, Round: w.rand.IntN(2) == 0, Consumed: w.read(),
	}
	if h.Run.Cursor != thread.CursorTools {
		c.Seq += uint64(w.rand.IntN(4)) - uint64(w.rand.IntN(2))
		return c
	}
	c.Tickets = w.tickets(h.Run.Calls)
	c.Calls = w.calls(c.Tickets)
	if w.rand.IntN(12) == 0 {
		c.Seq += uint64(w.rand.IntN(4))
	} else if !slices.ContainsFunc(c.Calls, func(s thread.CallStatus) bool { return s != thread.CallDone }) {
		c.Seq += uint64(len(c.Calls) + w.rand.IntN(2))
	}
	return c
}

// calls is how a step leaves them that knows of the tickets.
func (w *world) calls(tickets []thread.Ticket) []thread.CallStatus {
	calls := slices.Clone(w.head.Run.Calls)
	keen := w.rand.IntN(3)
	for i, s := range calls {
		switch {
		case slices.ContainsFunc(tickets, func(t thread.Ticket) bool { return int(t.Call) == i }):
			calls[i] = thread.CallSuspended
		case s == thread.CallSuspended && w.rand.IntN(4) != 0:
		case w.rand.IntN(3) < keen, s == thread.CallRunning:
			calls[i] = thread.CallDone
		case s == thread.CallNew && w.rand.IntN(6) == 0:
			calls[i] = thread.CallRunning
		case s == thread.CallResuming && w.rand.IntN(2) == 0:
			calls[i] = thread.CallSuspended // a worker that does not know of the decision
		}
	}
	return calls
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
		if t.Kind == thread.TicketPerson && w.rand.IntN(2) == 0 {
			t.WakeAt = w.now + int64(w.rand.IntN(2_000_000)) + 1
		}
		if t.WakeAt != 0 && w.rand.IntN(2) == 0 {
			t.Kind, t.Keep = thread.TicketTimer, w.rand.IntN(2) == 0
		}
		tickets = append(tickets, t)
	}
	return tickets
}

func (w *world) decide() thread.Change {
	h := &w.head
	c := thread.Decide{Run: h.Run.ID, Decision: w.key(), Resume: w.rand.IntN(2) == 0}
	if len(h.Tickets) > 0 {
		ticket := h.Tickets[w.rand.IntN(len(h.Tickets))]
		if c.Call = ticket.Call; ticket.Kind == thread.TicketChild != (w.rand.IntN(4) == 0) {
			c.Child = w.child()
		}
	}
	if len(w.decided) > 0 && w.rand.IntN(4) == 0 {
		c.Decision = w.decided[len(w.decided)-1]
	}
	return c
}

// unread picks input that no step has read, wherever it waits.
func (w *world) unread() (core.ID, uint32) {
	all := slices.Clone(w.head.Inbox)
	for _, d := range w.head.Unopened() {
		all = append(append(all, thread.InboxEntry{ID: d.ID, Revision: d.Revision}), d.Rest...)
	}
	if len(all) == 0 {
		return w.fresh(), 0
	}
	e := all[w.rand.IntN(len(all))]
	return e.ID, e.Revision
}

// fence is the claim's, or now and then an older one.
func (w *world) fence() uint64 {
	if w.rand.IntN(12) == 0 {
		return uint64(w.rand.IntN(int(w.head.Fence) + 1))
	}
	return w.head.Claim.Fence
}

// from is where the log ends, or where it ended before a commit whose response was lost.
func (w *world) from() uint64 {
	if w.head.Seq > 0 && w.rand.IntN(12) == 0 {
		return w.head.Seq - 1
	}
	return w.head.Seq
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
