package thread

import (
	"encoding/binary"
	"fmt"

	"github.com/reveille-run/reveille/core"
)

// The encoded head starts with its schema number; integers are unsigned
// varints, strings and tables carry their length. A decoder reads exactly what
// an encoder of the same schema wrote and refuses trailing bytes.

// AppendBinary appends the encoded head to b.
func (h *Head) AppendBinary(b []byte) []byte {
	w := writer{b}
	w.byte(SchemaNumber)
	w.uint(h.Version)
	w.id(h.CommitID)
	w.uint(h.Incarnation)
	w.text(h.Owner)
	w.flags(h.Deleted, h.Erased, h.Run.Ready, h.Run.Parent != nil, h.Notify != nil, h.Open(), h.Claim.Fence != 0)
	w.uint(h.Epoch)
	w.uint(h.Fence)
	w.uint(h.Seq)
	w.uint(h.Summary)
	w.time(h.DueAt)
	if h.Open() {
		w.run(&h.Run)
	}
	if h.Claim.Fence != 0 {
		w.uint(h.Claim.Fence)
		w.uint(h.Claim.Epoch)
		w.id(h.Claim.Dispatch)
		w.text(h.Claim.Worker)
		w.time(h.Claim.Lease)
		w.byte(h.Claim.Attempts)
	}
	w.uint(uint64(len(h.Pending)))
	for _, d := range h.Pending {
		w.id(d.ID)
		w.id(d.Run)
		w.byte(d.Priority)
		w.time(d.AvailableAt)
		w.uint(d.Dedupe)
		w.flags(d.Parent != nil)
		if d.Parent != nil {
			w.parent(d.Parent)
		}
	}
	w.uint(uint64(len(h.Tickets)))
	for _, t := range h.Tickets {
		w.byte(t.Call)
		w.byte(byte(t.Kind))
		w.uint(t.ID)
		w.uint(t.Decision)
		w.time(t.Deadline)
	}
	w.uint(uint64(len(h.Inbox)))
	for _, e := range h.Inbox {
		w.id(e.ID)
		w.uint(uint64(e.Revision))
		w.byte(byte(e.Kind))
	}
	if h.Notify != nil {
		w.id(h.Notify.Child)
		w.parent(&h.Notify.Parent)
		w.time(h.Notify.Retry)
	}
	w.uint(uint64(len(h.Recent)))
	for _, k := range h.Recent {
		w.b = binary.BigEndian.AppendUint64(w.b, k)
	}
	return w.b
}

// Size is the length of the encoded head in bytes.
func (h *Head) Size() int {
	var buffer [1024]byte
	return len(h.AppendBinary(buffer[:0]))
}

// Decode reads an encoded head. A newer schema is ErrSchema; anything that no
// encoder wrote is an Error with code core.CodeCorrupt.
func Decode(b []byte) (Head, error) {
	if len(b) == 0 {
		return Head{}, core.Errorf(core.CodeCorrupt, "thread head is empty")
	}
	if b[0] > SchemaNumber {
		return Head{}, fmt.Errorf("schema %d, newest known %d: %w", b[0], SchemaNumber, ErrSchema)
	}
	r := reader{b: b}
	var h Head
	h.Schema = r.byte()
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
		h.Claim = Held{Fence: r.uint(), Epoch: r.uint(), Dispatch: r.id(), Worker: r.text(), Lease: r.time(), Attempts: r.byte()}
	}
	for range r.count(MaxPending) {
		d := Dispatch{ID: r.id(), Run: r.id(), Priority: r.byte(), AvailableAt: r.time(), Dedupe: r.uint()}
		if r.byte() != 0 {
			d.Parent = r.parent()
		}
		h.Pending = append(h.Pending, d)
	}
	for range r.count(MaxTickets) {
		h.Tickets = append(h.Tickets, Ticket{Call: r.byte(), Kind: TicketKind(r.byte()), ID: r.uint(), Decision: r.uint(), Deadline: r.time()})
	}
	for range r.count(MaxInbox) {
		h.Inbox = append(h.Inbox, InboxEntry{ID: r.id(), Revision: uint32(r.uint()), Kind: InboxKind(r.byte())})
	}
	if has(4) {
		h.Notify = &Notify{Child: r.id(), Parent: *r.parent(), Retry: r.time()}
	}
	for range r.count(ringSize) {
		h.Recent = append(h.Recent, r.fixed())
	}
	if r.bad || len(r.b) > 0 {
		return Head{}, core.Errorf(core.CodeCorrupt, "thread head of %d bytes is malformed", len(b))
	}
	return h, nil
}

type writer struct{ b []byte }

func (w *writer) byte(v byte)   { w.b = append(w.b, v) }
func (w *writer) uint(v uint64) { w.b = binary.AppendUvarint(w.b, v) }
func (w *writer) id(v core.ID)  { w.b = append(w.b, v[:]...) }
func (w *writer) time(v int64)  { w.uint(uint64(max(v, 0))) }

func (w *writer) text(v string) {
	w.uint(uint64(len(v)))
	w.b = append(w.b, v...)
}

func (w *writer) flags(bits ...bool) {
	var v byte
	for i, set := range bits {
		if set {
			v |= 1 << i
		}
	}
	w.byte(v)
}

func (w *writer) parent(p *Parent) {
	w.text(p.Thread)
	w.id(p.Run)
	w.byte(p.Call)
}

func (w *writer) run(r *Run) {
	w.id(r.ID)
	w.id(r.Dispatch)
	w.byte(byte(r.Status))
	w.byte(byte(r.Reason))
	w.byte(byte(r.Cursor))
	w.uint(uint64(r.Step))
	w.uint(r.Base)
	w.time(r.AvailableAt)
	w.byte(r.Attempts)
	w.uint(uint64(len(r.Calls)))
	for _, s := range r.Calls {
		w.byte(byte(s))
	}
	if r.Parent != nil {
		w.parent(r.Parent)
	}
}

type reader struct {
	b   []byte
	bad bool
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

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || r.bad {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) time() int64 { return int64(r.uint()) }

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

func (r *reader) parent() *Parent {
	return &Parent{Thread: r.text(), Run: r.id(), Call: r.byte()}
}

func (r *reader) run(ready, parent bool) Run {
	v := Run{
		ID: r.id(), Dispatch: r.id(), Status: Status(r.byte()), Reason: Reason(r.byte()), Cursor: Cursor(r.byte()),
		Step: uint32(r.uint()), Base: r.uint(), Ready: ready, AvailableAt: r.time(), Attempts: r.byte(),
	}
	for range r.count(MaxCalls) {
		v.Calls = append(v.Calls, CallStatus(r.byte()))
	}
	if parent {
		v.Parent = r.parent()
	}
	return v
}
