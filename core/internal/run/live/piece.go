package live

import (
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/position"
)

// spoken is an event of an attempt. Deltas of one block are one piece, until a chunk has
// it or it is large enough for one.
type spoken struct {
	brief brief
	whole *core.Event // without its delta, of an event that has more than a brief one; nil: it has not
	at    spot
	begin int32 // of its delta, in texts, of which little more than chunkKeep bytes are kept
	delta int32 // bytes of it
	size  int32 // about, in bytes of JSON
}

// spot is a position within the attempt; kind 0: the event has none.
type spot struct {
	block, end int32
	kind       position.Kind
}

// position is that of a spot of the attempt.
func (a Attempt) position(s spot) position.Position {
	return position.Position{Run: a.Run, Step: a.Step, Attempt: a.Fence, Block: int(s.block), End: int(s.end), Kind: s.kind}
}

// brief is all that the events of a turn's words have, and a quarter of the size of an event.
type brief struct {
	kind                core.EventType
	time                core.Millis
	message, call, name string
}

// newSpoken keeps an event.
func newSpoken(e *core.Event) spoken {
	b := brief{e.Type, e.Time, e.MessageID, e.CallID, e.Name}
	switch e.Type {
	case core.EventStepStart, core.EventTextDelta, core.EventReasoningDelta, core.EventToolCallStart, core.EventToolCallDelta, core.EventToolCallCancel:
		return spoken{brief: b}
	}
	whole := *e
	return spoken{brief: b, whole: &whole}
}

// event is the event without its delta.
func (s *spoken) event() core.Event {
	if s.whole != nil {
		return *s.whole
	}
	return core.Event{Type: s.brief.kind, Time: s.brief.time, MessageID: s.brief.message, CallID: s.brief.call, Name: s.brief.name}
}

// pieceSize is about the size of an event without its texts, in bytes.
const pieceSize = 160

// put appends an event: its delta is added to that of the last piece which it continues,
// and is cut into several pieces where it is larger than a chunk. The caller holds mu.
func (w *Writer) put(event core.Event, place position.Position) {
	at, delta := spot{int32(place.Block), int32(place.End), place.Kind}, event.Delta
	event.Delta = ""
	for {
		n, weight := weigh(delta, chunkSize)
		part := at
		if rest := len(delta) - n; rest > 0 && at.kind != 0 {
			part.end -= int32(rest)
		}
		w.addPiece(&event, part, delta[:n], weight)
		if delta = delta[n:]; delta == "" {
			return
		}
	}
}

// addPiece appends an event with a delta that fits into a chunk.
func (w *Writer) addPiece(event *core.Event, at spot, delta string, weight int) {
	if w.texts == nil {
		w.texts = make([]byte, 0, 128) // of a short turn
	}
	begin := len(w.texts)
	w.texts = append(w.texts, delta...)
	w.size, w.kept = w.size+weight, w.kept+weight
	if last := len(w.pieces) - 1; last >= w.cut && weight > 0 {
		p := &w.pieces[last]
		if p.brief.kind == event.Type && p.at.block == at.block && p.at.kind == at.kind && int(p.size)+weight <= chunkSize {
			p.at, p.delta, p.size = at, p.delta+int32(len(delta)), p.size+int32(weight)
			return
		}
	}
	if w.pieces == nil {
		w.pieces = make([]spoken, 0, 3) // what most turns have
	}
	size := pieceSize + len(event.EncryptedValue) + len(event.CallID) + len(event.Name)
	s := newSpoken(event)
	s.at, s.begin, s.delta, s.size = at, int32(begin), int32(len(delta)), int32(weight+size)
	w.pieces = append(w.pieces, s)
	w.size, w.kept = w.size+size, w.kept+size
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
