package thread

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/reveille-run/reveille/core"
)

// The encoded head starts with its layout number; integers are unsigned
// varints, strings and tables carry their length. A decoder takes exactly what
// an encoder of the same layout writes: one form for each head. It ends in the
// extensions, after their length in bytes, so that a newer program can add fields of
// a run without a new layout.

// AppendBinary appends the encoded head to b. With a nil b it allocates once for
// a head of usual size.
func (h *Head) AppendBinary(b []byte) []byte {
	if b == nil {
		b = make([]byte, 0, usualSize)
	}
	w := writer{b}
	w.byte(Layout)
	w.uint(uint64(h.Schema))
	w.uint(h.Version)
	w.id(h.CommitID)
	w.id(h.HolderCommitID)
	w.uint(h.Incarnation)
	w.text(h.Owner)
	open, held := h.Open(), h.Claim.Fence != 0
	w.flags(h.Deleted, h.Erased, open, held, h.Missed != 0, h.Supersedes != 0, h.TailSum != 0, held && h.Claim.Queued > 0)
	w.uint(h.Epoch)
	w.uint(h.Fence)
	w.uint(h.Seq)
	w.uint(h.Summary)
	if h.Supersedes != 0 {
		w.uint(h.Supersedes)
	}
	if h.TailSum != 0 {
		w.b = binary.BigEndian.AppendUint32(w.b, h.TailSum)
	}
	w.uint(h.Closing)
	w.time(h.ClosingAt)
	w.time(h.DueAt)
	w.time(h.SecondAt)
	if open {
		w.run(&h.Run)
	}
	if held {
		w.claim(&h.Claim)
	}
	w.tables(h)
	w.outbox(h.Outbox)
	if h.Missed != 0 {
		w.uint(uint64(h.Missed))
	}
	w.uint(uint64(len(h.Recent)))
	for _, k := range h.Recent {
		w.b = binary.BigEndian.AppendUint64(w.b, k)
	}
	w.extensions(h.Extensions)
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
		child    = 16
		entry    = 32
		owed     = 26
	)
	entries := len(h.Inbox)
	n := fixed + dispatch*len(h.Delayed) + len(h.Owner) + len(h.Claim.Worker) + len(h.Run.Calls)
	for i := range h.Pending {
		n += dispatch
		entries += len(h.Pending[i].Rest)
	}
	n += child*len(h.Run.Children) + ticket*len(h.Tickets) + entry*entries + 10*len(h.Recent)
	n += owed * len(h.Outbox)
	return n + h.extensionSize()
}

// extensionSize bounds what the extensions take.
func (h *Head) extensionSize() int {
	n := 0
	for _, e := range h.Extensions {
		n += 40 + len(e.Value)
	}
	return n
}

// Decode reads an encoded head. A newer layout is ErrSchema; anything that no
// encoder wrote is an Error with code core.CodeCorrupt.
func Decode(b []byte) (Head, error) {
	if len(b) == 0 {
		return Head{}, core.Errorf(core.CodeCorrupt, "thread head is empty")
	}
	if b[0] > Layout {
		return Head{}, fmt.Errorf("layout %d, newest known %d: %w", b[0], Layout, ErrSchema)
	}
	r := reader{b: b}
	h := r.head()
	if r.bad || len(r.b) > 0 {
		return Head{}, core.Errorf(core.CodeCorrupt, "thread head of %d bytes is malformed", len(b))
	}
	return h, nil
}

// UnmarshalBinary is [Decode] for packages that may not import this one.
func (h *Head) UnmarshalBinary(b []byte) (err error) {
	*h, err = Decode(b)
	return err
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

func (w *writer) tables(h *Head) {
	w.uint(uint64(len(h.Pending)))
	for i := range h.Pending {
		w.queued(&h.Pending[i])
	}
	w.uint(uint64(len(h.Delayed)))
	for i := range h.Delayed {
		w.dispatch(&h.Delayed[i])
		w.time(h.Delayed[i].AvailableAt)
	}
	w.uint(uint64(len(h.Tickets)))
	for _, t := range h.Tickets {
		w.ticket(t)
	}
	w.inbox(h.Inbox)
}

// ticketWakes is the bit of a ticket's kind that marks a time to wake as the last field. Programs
// that know no timers take a timer for a client's ticket, or for a child's if it is kept, which no
// input supersedes: those have no time to wake.
const ticketWakes = 1 << 7

func (w *writer) ticket(t Ticket) {
	kind := byte(t.Kind)
	switch {
	case t.Kind == TicketTimer && t.Keep:
		kind = byte(TicketChild) | ticketWakes
	case t.Kind == TicketTimer:
		kind = byte(TicketClient) | ticketWakes
	case t.WakeAt > 0:
		kind |= ticketWakes
	}
	w.byte(t.Call)
	w.byte(kind)
	w.uint(t.ID)
	w.uint(t.Decision)
	w.time(t.Deadline)
	if kind&ticketWakes != 0 {
		w.time(t.WakeAt)
	}
}

// dispatch writes what one of the queue and a delayed one have.
func (w *writer) dispatch(d *Dispatch) {
	w.id(d.ID)
	w.id(d.Run)
	w.uint(uint64(d.Revision))
	w.byte(d.Priority)
}

// queued writes a dispatch of the queue.
func (w *writer) queued(d *Dispatch) {
	w.dispatch(d)
	w.flags(d.Child, d.Steered)
	if d.Steered {
		w.inbox(d.Rest)
	}
}

func (w *writer) inbox(entries []InboxEntry) {
	w.uint(uint64(len(entries)))
	for _, e := range entries {
		w.id(e.ID)
		w.uint(uint64(e.Revision))
		w.byte(byte(e.Kind))
	}
}

// uintSize is how many bytes uint writes.
func uintSize(v uint64) int { return max(1, (bits.Len64(v)+6)/7) }

func (w *writer) extensions(all []Extension) {
	size := 0
	for _, e := range all {
		size += len(e.Run) + uintSize(e.Tag) + uintSize(uint64(len(e.Value))) + len(e.Value)
	}
	w.uint(uint64(size))
	for _, e := range all {
		w.id(e.Run)
		w.uint(e.Tag)
		w.uint(uint64(len(e.Value)))
		w.b = append(w.b, e.Value...)
	}
}

// outbox writes 26 bytes for each entry.
func (w *writer) outbox(entries []OutboxEntry) {
	w.uint(uint64(len(entries)))
	for _, e := range entries {
		w.id(e.ID)
		w.byte(byte(e.Kind))
		w.byte(e.Tries)
		w.b = binary.BigEndian.AppendUint64(w.b, uint64(max(e.Next, 0)))
	}
}

func (w *writer) run(r *Run) {
	w.id(r.ID)
	w.id(r.Dispatch)
	w.uint(uint64(r.Revision))
	w.byte(byte(r.Status))
	w.byte(byte(r.Reason))
	w.byte(byte(r.Cursor))
	w.uint(uint64(r.Step))
	w.uint(r.Base)
	w.uint(r.TurnFence)
	w.uint(r.Round)
	w.time(r.AvailableAt)
	w.b = append(w.b, r.Attempts, r.Lost, r.ModelFailed, r.ModelLost)
	w.uint(uint64(len(r.Calls)))
	for _, s := range r.Calls {
		w.byte(byte(s))
	}
	// All eight are taken: what comes next is an extension, or another layout.
	w.flags(r.Child, r.Batch, r.Through.May != 0, r.WaitsSince != 0, r.LacksSince != 0, r.RunEnd != 0, r.Stretch.Since != 0, len(r.Children) > 0)
	if r.Through.May != 0 {
		w.uint(uint64(r.Through.May))
		w.uint(uint64(r.Through.Ran))
	}
	if r.WaitsSince != 0 {
		w.time(r.WaitsSince)
	}
	if r.LacksSince != 0 {
		w.time(r.LacksSince)
	}
	if r.RunEnd != 0 {
		w.uint(r.RunEnd)
	}
	if r.Stretch.Since != 0 {
		w.stretch(&r.Stretch)
	}
	if len(r.Children) > 0 {
		w.uint(uint64(len(r.Children)))
		for _, child := range r.Children {
			w.id(child)
		}
	}
}

func (w *writer) stretch(s *Stretch) {
	w.uint(s.Number)
	w.time(s.Since)
	w.flags(s.Over)
	for _, figure := range figures(&s.Spent) {
		w.time(*figure)
	}
	w.uint(s.Behind)
	w.uint(s.Wasted)
}

func (w *writer) claim(c *Claim) {
	w.uint(c.Fence)
	w.uint(c.Epoch)
	w.text(c.Worker)
	w.time(c.Lease)
	w.id(c.CommitID)
	if c.Queued > 0 { // which a flag of the head says
		w.time(c.Queued)
	}
}
