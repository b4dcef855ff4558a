package thread

import (
	"encoding/binary"
	"math"

	"github.com/reveille-run/reveille/core"
)

// reader decodes. At the first byte that no encoder writes it turns bad, and
// what it answers from then on means nothing.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) head() (h Head) {
	h.Schema = r.below(SchemaNumber + 1)
	r.must(h.Schema != 0)
	h.Version = r.uint()
	h.CommitID = r.id()
	h.Incarnation = r.uint()
	h.Owner = r.text()
	flags := r.byte()
	has := func(bit int) bool { return flags&(1<<bit) != 0 }
	h.Deleted, h.Erased = has(0), has(1)
	h.Epoch = r.uint()
	h.Fence = r.uint()
	h.Seq = r.uint()
	h.Summary = r.uint()
	h.DueAt = r.time()
	if has(5) {
		h.Run = r.run(has(2), has(3))
	}
	if has(6) {
		h.Claim = r.claim(has(7))
	}
	r.must(has(5) || !has(2) && !has(3))
	r.must(has(6) || !has(7))
	r.tables(&h)
	if has(4) {
		notify := r.notify()
		h.Notify = &notify
		for range r.count(maxLater) {
			h.Later = append(h.Later, r.notify())
		}
	}
	if n := r.count(ringSize); n > 0 {
		h.Recent = make([]uint64, n)
		for i := range h.Recent {
			h.Recent[i] = r.fixed()
		}
	}
	return h
}

func (r *reader) run(ready, parent bool) Run {
	v := Run{
		ID: r.id(), Dispatch: r.id(),
		Status: Status(r.below(byte(Closing) + 1)), Reason: Reason(r.below(byte(ReasonDeadLetter) + 1)), Cursor: Cursor(r.below(byte(CursorTools) + 1)),
		Step: r.uint32(), Base: r.uint(), Ready: ready, AvailableAt: r.time(), Attempts: r.byte(),
	}
	r.must(!v.ID.IsZero())
	if n := r.count(MaxCalls); n > 0 {
		v.Calls = make([]CallStatus, n)
		for i := range v.Calls {
			v.Calls[i] = CallStatus(r.below(byte(CallDone) + 1))
		}
	}
	if parent {
		v.Parent = r.parent()
	}
	return v
}

func (r *reader) claim(closing bool) Held {
	v := Held{Fence: r.uint(), Epoch: r.uint(), Dispatch: r.id(), Worker: r.text(), Lease: r.time(), Attempts: r.byte(), Closing: closing}
	r.must(v.Fence != 0)
	return v
}

func (r *reader) tables(h *Head) {
	if n := r.count(MaxPending); n > 0 {
		h.Pending = make([]Dispatch, n)
		for i := range h.Pending {
			d := Dispatch{ID: r.id(), Run: r.id(), Priority: r.byte(), AvailableAt: r.time(), Dedupe: r.uint()}
			if r.below(2) == 1 {
				d.Parent = r.parent()
			}
			h.Pending[i] = d
		}
	}
	if n := r.count(MaxTickets); n > 0 {
		h.Tickets = make([]Ticket, n)
		for i := range h.Tickets {
			h.Tickets[i] = Ticket{Call: r.byte(), Kind: TicketKind(r.below(byte(TicketChild) + 1)), ID: r.uint(), Decision: r.uint(), Deadline: r.time()}
		}
	}
	if n := r.count(MaxInbox); n > 0 {
		h.Inbox = make([]InboxEntry, n)
		for i := range h.Inbox {
			h.Inbox[i] = InboxEntry{ID: r.id(), Revision: r.uint32(), Kind: InboxKind(r.below(byte(InboxInternal) + 1))}
		}
	}
}

func (r *reader) notify() Notify {
	return Notify{Child: r.id(), Parent: *r.parent(), Retry: r.time()}
}

func (r *reader) parent() *Parent {
	return &Parent{Thread: r.text(), Run: r.id(), Call: r.byte()}
}

func (r *reader) must(ok bool) {
	if !ok {
		r.bad = true
	}
}

func (r *reader) take(n uint64) []byte {
	if r.bad || n > uint64(len(r.b)) {
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
	if r.bad || n <= 0 || n > 1 && r.b[n-1] == 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) uint32() uint32 {
	v := r.uint()
	r.must(v <= math.MaxUint32)
	return uint32(v)
}

func (r *reader) time() int64 {
	v := r.uint()
	r.must(v <= math.MaxInt64)
	return int64(v)
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
	if r.bad || n > uint64(limit) {
		r.bad = true
		return 0
	}
	return int(n)
}
