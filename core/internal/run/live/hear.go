package live

import "github.com/reveille-run/reveille/core"

// Hearing is how far a reader of the process that makes an attempt has heard it. A reader
// starts with nothing but the Attempt.
type Hearing struct {
	Attempt       Attempt
	pieces, texts int // that it has; the last piece may have grown since
}

// Hear returns the words of an attempt after those that h has, and moves h on. The
// events have the positions that they have in the live stream. For an attempt that
// is not the writer's, or not yet or no longer, it returns nothing.
func (w *Writer) Hear(h *Hearing) (events []core.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.attempt != h.Attempt { // it has not started, or is over
		return nil
	}
	for i := max(h.pieces-1, 0); i < len(w.pieces); i++ {
		p := &w.pieces[i]
		end := int(p.begin + p.delta)
		if i < h.pieces && end == h.texts {
			continue
		}
		e := p.event()
		e.RunID, e.Step, e.Delta = w.attempt.Run, w.attempt.Step, string(w.texts[h.texts:end])
		if p.at.kind != 0 {
			e.Position = w.attempt.position(p.at).String()
		}
		events, h.texts = append(events, e), end
	}
	h.pieces = max(h.pieces, len(w.pieces)) // nothing is kept of what is over
	return events
}
