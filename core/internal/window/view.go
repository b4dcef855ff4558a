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

// View returns the part of a history that a model sees under a window: the summary, which
// replaces everything up to w.Summary; the opening, which w.Opening names; the messages
// from w.First on, large results before w.Short as references. Summary and opening are nil
// if they do not exist. reads means that the model can read the rest of a shortened result.
// If nothing is added or shortened, nothing is copied.
func View(h History, w core.Window, summary, opening *core.Message, reads bool) []core.Message {
	shown := h.From(max(w.First, w.Summary+1))
	note := summary == nil && opening == nil && len(shown.Messages) > 0 && shown.Messages[0].Role != core.RoleUser
	if summary == nil && opening == nil && !note && !shortens(shown, w.Short) {
		return shown.Messages
	}
	view := make([]core.Message, 0, len(shown.Messages)+2)
	for _, m := range []*core.Message{summary, opening} {
		if m != nil {
			view = append(view, *m)
		}
	}
	if note {
		view = append(view, core.UserMessage(LeftOut).WithID("context.left_out"))
	}
	for i := range shown.Messages {
		m := &shown.Messages[i]
		if shown.sequence(i) < w.Short && large(m) {
			view = append(view, reference(m, shown.sequence(i), reads))
			continue
		}
		view = append(view, *m)
	}
	return view
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
