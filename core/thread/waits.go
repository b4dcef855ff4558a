package thread

import (
	"encoding/binary"
	"math"
	"slices"
)

// Tags of the extensions that this program writes. A number is never used again.
const tagWaits = 1 // unix milliseconds since when the run waits for a person, as a varint

// WaitsSince is since when the open run has had a ticket that a person may decide
// on, in unix milliseconds, whether or not other calls of the round still run; 0:
// it has none. Backends keep an index of it, so that a tenant's tickets are found.
// It is 0, too, until its next write, for a head that an older program wrote.
func (h *Head) WaitsSince() int64 {
	if i := h.waits(); i >= 0 && h.waitsForPerson() {
		since, n := binary.Uvarint(h.Extensions[i].Value)
		if n == len(h.Extensions[i].Value) && since <= math.MaxInt64 {
			return int64(since)
		}
	}
	return 0
}

func (h *Head) waitsForPerson() bool {
	return h.Open() && slices.ContainsFunc(h.Tickets, func(t Ticket) bool { return t.Kind == TicketPerson && t.Decision == 0 })
}

// waits is the index of the extension that holds the time, -1 when there is none.
func (h *Head) waits() int {
	return slices.IndexFunc(h.Extensions, func(e Extension) bool { return e.Tag == tagWaits && e.Run == h.Run.ID })
}

// noteWaits keeps the time with the first of the tickets, until none is left: it
// stays the same while tickets come and go, so that an index on it is touched
// rarely.
func (h *Head) noteWaits(now int64) {
	switch i, person := h.waits(), h.waitsForPerson(); {
	case person && i < 0:
		since := binary.AppendUvarint(nil, uint64(max(now, 1)))
		h.Extensions = append(h.Extensions, Extension{Run: h.Run.ID, Tag: tagWaits, Value: since})
	case !person && i >= 0:
		h.Extensions = without(h.Extensions, i)
	}
}
