package thread

import (
	"encoding/binary"
	"math"
)

// Through says which calls of the open round a claim that is over, or under which the run
// was ended, may have let through to their tools: bit i is call i. Without a result the
// outcome of such a call is unknown.
//
// No write makes a usual call known before its tool starts. So a claim that is lost leaves
// the bit of each call that it could have started, and one that ends with a write of its
// own says which they are.
type Through struct {
	May uint32
	// Ran are those of May that had begun before the newest decision, or that a claim has
	// said it had started: a gate that ends the run now comes after them. Of the others a
	// gate that is asked again says whether they were let through.
	Ran uint32
}

// Through returns the open round's.
func (h *Head) Through() Through {
	i := h.extension(tagThrough)
	if i < 0 {
		return Through{}
	}
	r := reader{b: h.Extensions[i].Value}
	may, ran := r.uint(), r.uint()
	if r.bad || may > math.MaxUint32 || ran > math.MaxUint32 {
		return Through{}
	}
	return Through{uint32(may), uint32(ran)}
}

// keepThrough puts a holder's word of the calls that were let through in the place of what
// the head says. A nil word leaves that, but for calls that have their result now.
func (h *Head) keepThrough(word *uint32) {
	t := h.Through()
	if word != nil {
		t = Through{*word, *word}
	}
	h.putThrough(t)
}

func (h *Head) putThrough(t Through) {
	open := uint32(0)
	for i, s := range h.Run.Calls {
		if s != CallDone && h.Run.Cursor == CursorTools {
			open |= 1 << i
		}
	}
	t.May, t.Ran = t.May&open, t.Ran&open
	i := h.extension(tagThrough)
	if t.May == 0 {
		if i >= 0 {
			h.dropExtension(i)
		}
		return
	}
	value := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(t.May)), uint64(t.Ran))
	h.setExtension(tagThrough, value)
}

// startable are the calls that the standing claim may have started, and that no write
// would tell of.
func (h *Head) startable() (calls uint32) {
	for i, s := range h.Run.Calls {
		if s == CallNew || s == CallResuming {
			calls |= 1 << i
		}
	}
	return calls
}

// loseRound notes what a claim may have started that cannot say so any more.
func (h *Head) loseRound() {
	t := h.Through()
	t.May |= h.startable()
	h.putThrough(t)
}
