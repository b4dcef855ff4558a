package thread

import (
	"encoding/binary"
	"fmt"

	"github.com/reveille-run/reveille/core"
)

// The encoded head starts with its schema number; integers are unsigned
// varints, strings and tables carry their length. A decoder takes exactly what
// an encoder of the same schema writes: one form for each head.

// AppendBinary appends the encoded head to b. With a nil b it allocates once for
// a head of usual size.
func (h *Head) AppendBinary(b []byte) []byte {
	if b == nil {
		b = make([]byte, 0, usualSize)
	}
	w := writer{b}
	w.byte(SchemaNumber)
	w.uint(h.Version)
	w.id(h.CommitID)
	w.uint(h.Incarnation)
	w.text(h.Owner)
	open, held := h.Open(), h.Claim.Fence != 0
	w.flags(h.Deleted, h.Erased, open && h.Run.Ready, open && h.Run.Parent != nil, h.Notify != nil, open, held, held && h.Claim.Closing)
	w.uint(h.Epoch)
	w.uint(h.Fence)
	w.uint(h.Seq)
	w.uint(h.Summary)
	w.time(h.DueAt)
	if open {
		w.run(&h.Run)
	}
	if held {
		w.uint(h.Claim.Fence)
		w.uint(h.Claim.Epoch)
		w.id(h.Claim.Dispatch)
		w.text(h.Claim.Worker)
		w.time(h.Claim.Lease)
		w.byte(h.Claim.Attempts)
	}
	w.tables(h)
	if h.Notify != nil {
		w.notify(h.Notify)
		w.uint(uint64(len(h.Later)))
		for i := range h.Later {
			w.notify(&h.Later[i])
		}
	}
	w.uint(uint64(len(h.Recent)))
	for _, k := range h.Recent {
		w.b = binary.BigEndian.AppendUint64(w.b, k)
	}
	return w.b
}

// usualSize holds a head with a few entries in its tables.
const usualSize = 512

// Size is the length of the encoded head in bytes.
func (h *Head) Size() int { return len(h.AppendBinary(nil)) }

// bound is never less than Size, and costs no encoding. Each part is counted
// with the longest varints.
func (h *Head) bound() int {
	const (
		fixed    = 512 // everything that has no table, text apart
		dispatch = 64
		ticket   = 40
		entry    = 32
		notify   = 64
	)
	parent := func(p *Parent) int {
		if p == nil {
			return 0
		}
		return notify + len(p.Thread)
	}
	n := fixed + len(h.Owner) + len(h.Claim.Worker) + len(h.Run.Calls) + parent(h.Run.Parent)
	for i := range h.Pending {
		n += dispatch + parent(h.Pending[i].Parent)
	}
	n += ticket*len(h.Tickets) + entry*len(h.Inbox) + 10*len(h.Recent)
	if h.Notify != nil {
		n += notify + parent(&h.Notify.Parent)
	}
	for i := range h.Later {
		n += notify + parent(&h.Later[i].Parent)
	}
	return n
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
	h := r.head()
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

func (w *writer) tables(h *Head) {
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
}

func (w *writer) notify(n *Notify) {
	w.id(n.Child)
	w.parent(&n.Parent)
	w.time(n.Retry)
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
