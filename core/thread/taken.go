package thread

import (
	"encoding/binary"

	"github.com/reveille-run/reveille/core"
)

// TakenBy reports whether the write of a commit id took the claim that stands. Worker
// cannot say that: it names a process, two of whose deliveries would both take the claim
// for theirs. The head has the id for as long as the claim stands, whoever writes in
// between, so that a caller whose response was lost finds out whether it has the claim.
func (h *Head) TakenBy(commit core.ID) bool {
	i := h.extension(tagClaim)
	if i < 0 || h.Claim.Fence == 0 || commit.IsZero() {
		return false
	}
	fence, id, ok := takenOf(h.Extensions[i].Value)
	return ok && fence == h.Claim.Fence && id == commit
}

// takenOf reads the extension: the fence of the claim, as a varint, and the commit id.
// The fence tells a claim that an older program has taken or refenced since: such a
// program carries the extension along as it is.
func takenOf(value []byte) (fence uint64, id core.ID, ok bool) {
	fence, n := binary.Uvarint(value)
	if n <= 0 || len(value) != n+len(id) {
		return 0, id, false
	}
	copy(id[:], value[n:])
	return fence, id, true
}

// noteTaken keeps the commit id of the write that took the claim with the claim's fence,
// until the claim is gone. was is the fence of the claim before the write.
func (h *Head) noteTaken(was uint64, t Transition, claimed bool) {
	i := h.extension(tagClaim)
	if h.Claim.Fence == 0 {
		if i >= 0 {
			h.dropExtension(i)
		}
		return
	}
	id := t.CommitID
	if !claimed {
		if i < 0 || h.Claim.Fence == was {
			return
		}
		fence, taken, ok := takenOf(h.Extensions[i].Value)
		if !ok || fence != was { // an older program's claim
			return
		}
		id = taken
	}
	// Usually there is no other extension: list and value are one object then, since each
	// claim makes them.
	made := &struct {
		list  [1]Extension
		value [binary.MaxVarintLen64 + len(id)]byte
	}{}
	value := append(binary.AppendUvarint(made.value[:0], h.Claim.Fence), id[:]...)
	if len(h.Extensions) > 0 {
		h.setExtension(tagClaim, value)
		return
	}
	made.list[0] = Extension{Run: h.Run.ID, Tag: tagClaim, Value: value}
	h.Extensions = made.list[:]
}
