package thread

import (
	"encoding/binary"
	"math"
	"slices"
)

// Tags of the extensions that this program writes. A number is never used again.
const (
	tagWaits   = 1 // unix milliseconds since when the run waits for a person or a client, as a varint
	tagStretch = 2 // the run's [Stretch], as varints: number, since, over, the figures of [Spent] in their order, behind and wasted
	tagLacks   = 3 // unix milliseconds since when the run is left to another build, as a varint
	tagClaim   = 4 // fence of the claim that stands, as a varint, and the id of the commit that took it: see [Head.TakenBy]
	tagThrough = 8 // the open round's [Through], as varints: may and ran
)

// WaitsSince is since when the open run has had a ticket that a person or a client
// decides, in unix milliseconds, whether or not other calls of the round still run; 0:
// it has none. Backends keep an index of it, so that a tenant's tickets are found.
// It is 0, too, until its next write, for a head that an older program wrote.
func (h *Head) WaitsSince() int64 {
	if !h.waitsForDecision() {
		return 0
	}
	return h.since(tagWaits)
}

// since is the time that an extension of the open run holds, 0 without one.
func (h *Head) since(tag uint64) int64 {
	if i := h.extension(tag); i >= 0 {
		since, n := binary.Uvarint(h.Extensions[i].Value)
		if n == len(h.Extensions[i].Value) && since <= math.MaxInt64 {
			return int64(since)
		}
	}
	return 0
}

// keepSince puts a time into an extension of the open run.
func (h *Head) keepSince(tag uint64, now int64) {
	since := binary.AppendUvarint(nil, uint64(max(now, 1)))
	h.setExtension(tag, since)
}

// setExtension gives the open run's extension with the tag a value. Heads share the list,
// since most writes change nothing of it.
func (h *Head) setExtension(tag uint64, value []byte) {
	e := Extension{Run: h.Run.ID, Tag: tag, Value: value}
	i := h.extension(tag)
	if i < 0 {
		h.Extensions = append(slices.Clip(h.Extensions), e)
		return
	}
	h.Extensions = slices.Clone(h.Extensions)
	h.Extensions[i] = e
}

// dropExtension removes an extension by its index.
func (h *Head) dropExtension(i int) {
	if len(h.Extensions) == 1 {
		h.Extensions = nil
		return
	}
	h.Extensions = without(slices.Clone(h.Extensions), i)
}

func (h *Head) waitsForDecision() bool {
	return h.Open() && slices.ContainsFunc(h.Tickets, func(t Ticket) bool { return t.Kind != TicketChild && t.Decision == 0 })
}

// extension is the index of the open run's extension with the tag, -1 when it has none.
func (h *Head) extension(tag uint64) int {
	return slices.IndexFunc(h.Extensions, func(e Extension) bool { return e.Tag == tag && e.Run == h.Run.ID })
}

// noteWaits keeps the time with the first of the tickets, until none is left: it
// stays the same while tickets come and go, so that an index on it is touched
// rarely.
func (h *Head) noteWaits(now int64) {
	switch i, person := h.extension(tagWaits), h.waitsForDecision(); {
	case person && i < 0:
		h.keepSince(tagWaits, now)
	case !person && i >= 0:
		h.dropExtension(i)
	}
}
