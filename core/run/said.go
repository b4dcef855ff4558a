package run

import (
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
)

// spoken is an event of an attempt. Deltas of one block are one piece, until a chunk has
// it or it is large enough for one.
type spoken struct {
	event core.Event // without its delta
	at    core.Position
	begin int // of its delta, in texts
	delta int // bytes of it
	size  int // about, in bytes of JSON
}

// pieceSize is about what an event has besides its texts, in bytes.
const pieceSize = 160

// put appends an event: its delta to that of the last piece where that goes on, in pieces
// of its own where it is large. The caller holds mu.
func (c *chunks) put(event core.Event, at core.Position) {
	delta := event.Delta
	event.Delta = ""
	for {
		n, weight := weigh(delta, chunkSize)
		part := at
		if rest := len(delta) - n; rest > 0 && at.Kind != 0 {
			part.End -= rest
		}
		c.append(event, part, delta[:n], weight)
		if delta = delta[n:]; delta == "" {
			return
		}
	}
}

// append appends an event with a delta that is no larger than a chunk.
func (c *chunks) append(event core.Event, at core.Position, delta string, weight int) {
	begin := len(c.texts)
	c.texts = append(c.texts, delta...)
	c.size, c.kept = c.size+weight, c.kept+weight
	if last := len(c.pieces) - 1; last >= c.cut && weight > 0 {
		p := &c.pieces[last]
		if p.event.Type == event.Type && p.at.Block == at.Block && p.at.Kind == at.Kind && p.size+weight <= chunkSize {
			p.at, p.delta, p.size = at, p.delta+len(delta), p.size+weight
			return
		}
	}
	if c.pieces == nil {
		c.pieces = make([]spoken, 0, 4) // what most turns have
	}
	size := pieceSize + len(event.EncryptedValue) + len(event.CallID) + len(event.Name)
	c.pieces = append(c.pieces, spoken{event, at, begin, len(delta), weight + size})
	c.size, c.kept = c.size+size, c.kept+size
}

// weigh returns how many bytes of a text JSON has in at most so many, but at least one
// character, and in how many.
func weigh(text string, most int) (n, weight int) {
	for n < len(text) {
		width, weighs := 1, 1
		switch b := text[n]; {
		case b == '"', b == '\\', b == '\n', b == '\r', b == '\t':
			weighs = 2
		case b < ' ':
			weighs = 6
		case b >= utf8.RuneSelf:
			var r rune
			r, width = utf8.DecodeRuneInString(text[n:])
			if weighs = width; r == '\u2028' || r == '\u2029' || r == utf8.RuneError {
				weighs = 6
			}
		}
		if weight+weighs > most && n > 0 {
			break
		}
		n, weight = n+width, weight+weighs
	}
	return n, weight
}

// Hearing is how far a reader of the process that makes an attempt has heard it.
type Hearing struct {
	Attempt       Attempt
	pieces, texts int // that it has; the last piece may have grown since
}

// Hear returns what was said of an attempt behind what h has, and moves h on. The events
// have the positions that they have in the live stream. here is false when no step of
// this process makes the attempt: what is said of it is read from its chunks.
func (s *Stepper) Hear(key core.ThreadKey, h *Hearing) (events []core.Event, here bool) {
	p := s.under.holder(key, h.Attempt.Fence)
	if p == nil {
		return nil, false
	}
	c := &p.chunks
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.attempt != h.Attempt { // it has not begun, or is over
		return nil, true
	}
	for i := max(h.pieces-1, 0); i < len(c.pieces); i++ {
		p := &c.pieces[i]
		end := p.begin + p.delta
		if i < h.pieces && end == h.texts {
			continue
		}
		e := p.event
		e.RunID, e.Step, e.Delta = c.attempt.Run, c.attempt.Step, string(c.texts[h.texts:end])
		if p.at.Kind != 0 {
			e.Position = p.at.String()
		}
		events, h.texts = append(events, e), end
	}
	h.pieces = max(h.pieces, len(c.pieces)) // nothing is kept of what is over
	return events, true
}
