package window

import (
	"cmp"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// History is a stretch of a thread: its messages, oldest first, and the place of each.
type History struct {
	Messages []core.Message
	Places   []Place
}

// Place is the place of a message in the log, and, for a turn, the window in its record;
// nil: no window.
type Place struct {
	Sequence uint64
	Window   *core.Window
}

// Find returns the index of the first place from a sequence on, and whether it is that
// sequence's.
func Find(places []Place, seq uint64) (int, bool) {
	return slices.BinarySearchFunc(places, seq, func(p Place, seq uint64) int { return cmp.Compare(p.Sequence, seq) })
}

// From returns the history from a sequence on.
func (h History) From(seq uint64) History {
	i, _ := Find(h.Places, seq)
	return History{h.Messages[i:], h.Places[i:]}
}

func (h History) sequence(i int) uint64 { return h.Places[i].Sequence }

// next is the sequence after the newest message's.
func (h History) next() uint64 { return h.sequence(len(h.Places)-1) + 1 }

// LeftOut precedes the first message of the window if that is not a person's: providers
// refuse a conversation that a model starts.
const LeftOut = "(What was said before is left out.)"

// View returns the messages of [Show]. If nothing is added or shortened, they are the
// history's own.
func View(h History, w core.Window, summary, opening *core.Message, reads bool) []core.Message {
	s := Show(h, w, summary, opening, reads)
	if messages, ok := s.Whole(); ok {
		return messages
	}
	return s.Copy()
}

// Shortens reports whether a large result of the history is shown as a reference under
// a window.
func Shortens(h History, w core.Window) bool {
	return shortens(h.From(max(w.First, w.Summary+1)), w.Short)
}

// Shortened counts the large results of the history that are shown as references under a
// window.
func Shortened(h History, w core.Window) (n int) {
	shown := h.From(max(w.First, w.Summary+1))
	for i := range shown.Messages {
		if shown.sequence(i) < w.Short && large(&shown.Messages[i]) {
			n++
		}
	}
	return n
}

// shortens reports whether a result before the sequence is large.
func shortens(h History, short uint64) bool {
	for i := range h.Messages {
		if h.sequence(i) >= short {
			return false
		}
		if large(&h.Messages[i]) {
			return true
		}
	}
	return false
}
