package window

import (
	"slices"

	"github.com/reveille-run/reveille/core"
)

// History is a stretch of a thread: its messages, oldest first, and the sequence of
// each in the log.
type History struct {
	Messages  []core.Message
	Sequences []uint64
}

// From returns the history from a sequence on.
func (h History) From(seq uint64) History {
	i, _ := slices.BinarySearch(h.Sequences, seq)
	return History{h.Messages[i:], h.Sequences[i:]}
}

// View returns what a model is shown of a history under a window: the summary, which
// stands for everything up to w.Summary; the opening, if no message that follows is it
// (a run must know what it was asked); the messages from w.First on, large results
// before w.Short as references. Summary and opening may be nil. Where nothing is added
// or shortened, nothing is copied.
func View(h History, w core.Window, summary, opening *core.Message) []core.Message {
	shown := h.From(max(w.First, w.Summary+1))
	if opening != nil && slices.ContainsFunc(shown.Messages, func(m core.Message) bool { return m.ID == opening.ID }) {
		opening = nil
	}
	if summary == nil && opening == nil && !shortens(shown, w.Short) {
		return shown.Messages
	}
	view := make([]core.Message, 0, len(shown.Messages)+2)
	for _, m := range []*core.Message{summary, opening} {
		if m != nil {
			view = append(view, *m)
		}
	}
	for i := range shown.Messages {
		if m := &shown.Messages[i]; shown.Sequences[i] < w.Short && large(m) {
			view = append(view, reference(m, shown.Sequences[i]))
			continue
		}
		view = append(view, shown.Messages[i])
	}
	return view
}

// shortens reports whether a result before the sequence is large.
func shortens(h History, short uint64) bool {
	for i := range h.Messages {
		if h.Sequences[i] >= short {
			return false
		}
		if large(&h.Messages[i]) {
			return true
		}
	}
	return false
}
