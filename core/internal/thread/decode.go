package thread

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// reader decodes. At the first byte that no encoder writes it turns bad, and
// what it returns from then on means nothing.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) head() (h Head) {
	h.Layout = r.below(Layout + 1)
	r.must(h.Layout != 0)
	h.Schema = uint16(r.upTo(math.MaxUint16))
	h.Version = r.uint()
	h.CommitID = r.id()
	h.HolderCommitID = r.id()
	h.Incarnation = r.uint()
	h.Owner = r.text()
	flags := r.flags(8)
	h.Deleted, h.Erased = flags.has(0), flags.has(1)
	open, held, missed := flags.has(2), flags.has(3), flags.has(4)
	h.Epoch = r.uint()
	h.Fence = r.uint()
	h.Seq = r.uint()
	h.Summary = r.uint()
	if flags.has(5) {
		h.Supersedes = r.positive()
	}
	if flags.has(6) {
		h.TailSum = r.sum()
	}
	h.Closing = r.uint()
	h.ClosingAt = r.time()
	h.DueAt, h.SecondAt = r.time(), r.time()
	if open {
		h.Run = r.run()
	}
	if held {
		h.Claim = r.claim()
	}
	if flags.has(7) {
		h.Claim.Queued = r.moment()
		r.must(held)
	}
	r.tables(&h)
	r.outbox(&h)
	if missed {
		h.Missed = uint16(r.upTo(math.MaxUint16))
		r.must(h.Missed != 0)
	}
	if n := r.count(ringSize); n > 0 {
		h.Recent = make([]uint64, n)
		for i := range h.Recent {
			h.Recent[i] = r.fixed()
		}
	}
	h.Extensions = r.extensions()
	return h
}

func (r *reader) run() Run {
	v := Run{
		ID: r.id(), Dispatch: r.id(), Revision: r.uint32(),
		Status: Status(r.below(byte(Closing) + 1)), Reason: Reason(r.below(byte(ReasonDeadLetter) + 1)), Cursor: Cursor(r.below(byte(CursorTools) + 1)),
		Step: r.uint32(), Base: r.uint(), TurnFence: r.uint(), Round: r.uint(), AvailableAt: r.time(),
		Attempts: r.byte(), Lost: r.byte(), ModelFailed: r.byte(), ModelLost: r.byte(),
	}
	r.must(!v.ID.IsZero())
	if n := r.count(MaxCalls); n > 0 {
		v.Calls = make([]CallStatus, n)
		for i := range v.Calls {
			v.Calls[i] = CallStatus(r.below(byte(CallDone) + 1))
		}
	}
	flags := r.flags(8)
	v.Child, v.Batch = flags.has(0), flags.has(1)
	if flags.has(2) {
		v.Through = Through{May: r.uint32(), Ran: r.uint32()}
		r.must(v.Through.May != 0)
	}
	if flags.has(3) {
		v.WaitsSince = r.moment()
	}
	if flags.has(4) {
		v.LacksSince = r.moment()
	}
	if flags.has(5) {
		v.RunEnd = r.positive()
	}
	if flags.has(6) {
		v.Stretch = r.stretch()
	}
	if flags.has(7) {
		v.Children = r.children()
	}
	return v
}

// children reads a list that is omitted if it is empty.
func (r *reader) children() []core.ID {
	n := r.count(MaxChildren)
	r.must(n > 0)
	children := make([]core.ID, n)
	for i := range children {
		children[i] = r.id()
		r.must(!children[i].IsZero())
	}
	return children
}

func (r *reader) stretch() Stretch {
	v := Stretch{Number: r.uint(), Since: r.time(), Over: r.flags(1).has(0)}
	r.must(v.Since != 0)
	for _, figure := range figures(&v.Spent) {
		*figure = r.time()
	}
	v.Behind, v.Wasted = r.uint(), r.uint()
	return v
}

func (r *reader) claim() Claim {
	return Claim{Fence: r.positive(), Epoch: r.uint(), Worker: r.text(), Lease: r.time(), CommitID: r.id()}
}

func (r *reader) tables(h *Head) {
	if n := r.count(maxQueued); n > 0 {
		h.Pending = make([]Dispatch, n)
		for i := range h.Pending {
			h.Pending[i] = r.queued()
		}
	}
	if n := r.count(MaxDelayed); n > 0 {
		h.Delayed = make([]Dispatch, n)
		for i := range h.Delayed {
			h.Delayed[i] = r.dispatch()
			h.Delayed[i].AvailableAt = r.moment()
		}
	}
	if n := r.count(MaxTickets); n > 0 {
		h.Tickets = make([]Ticket, n)
		for i := range h.Tickets {
			h.Tickets[i] = r.ticket()
		}
	}
	h.Inbox = r.inbox()
}

func (r *reader) ticket() Ticket {
	t, kind := Ticket{Call: r.byte()}, r.byte()
	t.Kind = TicketKind(kind &^ ticketWakes)
	r.must(t.Kind <= TicketChild)
	t.ID, t.Decision, t.Deadline = r.uint(), r.uint(), r.time()
	if kind&ticketWakes != 0 {
		t.WakeAt = r.moment()
		if t.Keep = t.Kind == TicketChild; t.Keep || t.Kind == TicketClient {
			t.Kind = TicketTimer
		}
	}
	return t
}

func (r *reader) dispatch() Dispatch {
	return Dispatch{ID: r.id(), Run: r.id(), Revision: r.uint32(), Priority: r.byte()}
}

func (r *reader) queued() Dispatch {
	d, flags := r.dispatch(), r.flags(2)
	if d.Child, d.Steered = flags.has(0), flags.has(1); d.Steered {
		d.Rest = r.inbox()
	}
	return d
}

func (r *reader) inbox() []InboxEntry {
	n := r.count(MaxInbox)
	if n == 0 {
		return nil
	}
	entries := make([]InboxEntry, n)
	for i := range entries {
		entries[i] = InboxEntry{ID: r.id(), Revision: r.uint32(), Kind: InboxKind(r.below(byte(InboxInternal) + 1))}
	}
	return entries
}

// extensions reads fields whose meaning only a newer program may know.
func (r *reader) extensions() (all []Extension) {
	inner := reader{b: r.take(r.uint())}
	for len(inner.b) > 0 && !inner.bad {
		all = append(all, Extension{Run: inner.id(), Tag: inner.uint(), Value: slices.Clone(inner.take(inner.uint()))})
	}
	r.bad = r.bad || inner.bad
	return all
}

// outbox reads entries of the kinds that this program knows strictly, and others as a newer
// one has left them.
func (r *reader) outbox(h *Head) {
	n := r.count(maxOutbox)
	if n == 0 {
		return
	}
	h.Outbox = make([]OutboxEntry, n)
	for i := range h.Outbox {
		e := OutboxEntry{ID: r.id(), Kind: OutboxKind(r.byte()), Tries: r.byte(), Next: int64(r.fixed())}
		r.must(e.Kind != 0 && e.Next >= 0 && (!e.ID.IsZero() || e.Kind > OutboxDeadLettered))
		h.Outbox[i] = e
	}
	o := h.Outbox
	r.must(o.count(OutboxChildEnded) <= maxEnds && o.count(OutboxCancel) <= maxEnds && o.count(OutboxMessage) <= MaxMessages && o.announced() <= MaxAnnounced)
}

func (r *reader) must(ok bool) {
	if !ok {
		r.bad = true
	}
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) byte() byte {
	if v := r.take(1); v != nil {
		return v[0]
	}
	return 0
}

// below reads a byte that has only so many values.
func (r *reader) below(limit byte) byte {
	v := r.byte()
	r.must(v < limit)
	return v
}

// uint reads a varint in its shortest form.
func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || n > 1 && r.b[n-1] == 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

// positive reads a varint that is omitted if it is 0.
func (r *reader) positive() uint64 {
	v := r.uint()
	r.must(v != 0)
	return v
}

// moment reads a time that is omitted if it is 0.
func (r *reader) moment() int64 {
	v := r.time()
	r.must(v != 0)
	return v
}

// flags are what one byte says of several parts.
type flags byte

func (f flags) has(bit int) bool { return f&(1<<bit) != 0 }

// flags reads a byte of so many flags.
func (r *reader) flags(n int) flags {
	v := r.byte()
	r.must(v>>n == 0)
	return flags(v)
}

// upTo reads a varint that has an upper bound.
func (r *reader) upTo(limit uint64) uint64 {
	v := r.uint()
	r.must(v <= limit)
	return v
}

func (r *reader) uint32() uint32 { return uint32(r.upTo(math.MaxUint32)) }
func (r *reader) time() int64    { return int64(r.upTo(math.MaxInt64)) }

// sum reads a checksum that is omitted if it is 0.
func (r *reader) sum() uint32 {
	v := r.take(4)
	if v == nil {
		return 0
	}
	sum := binary.BigEndian.Uint32(v)
	r.must(sum != 0)
	return sum
}

func (r *reader) fixed() uint64 {
	if v := r.take(8); v != nil {
		return binary.BigEndian.Uint64(v)
	}
	return 0
}

func (r *reader) id() (id core.ID) {
	copy(id[:], r.take(uint64(len(id))))
	return id
}

func (r *reader) text() string { return string(r.take(r.uint())) }

func (r *reader) count(limit int) int {
	n := r.uint()
	if n > uint64(limit) {
		r.bad = true
		return 0
	}
	return int(n)
}
