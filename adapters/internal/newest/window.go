package newest

import (
	"bytes"
	"slices"
)

// message is an element of the list.
type message struct {
	size    int  // bytes, with the comma after it
	missing bool // there was no space for it
}

// window has the newest messages of a list.
type window struct {
	buffer []byte
	from   int // index in buffer of the first message that is not skipped
	most   int // bytes that buffer can have

	messages []message // that are in buffer, from first on
	first    int
	read     int // messages of the list so far
	known    int // how many of them are before the last one that is known
	old      int // bytes of the messages in buffer that are before it
	holes    int // messages before it for which there was no space
}

func (w *window) reset() {
	*w = window{buffer: w.buffer[:0], messages: w.messages[:0], most: w.most}
}

// bytes returns the size of what is kept.
func (w *window) bytes() int { return len(w.buffer) - w.from }

// fresh returns the number of messages from the last known one on.
func (w *window) fresh() int { return w.read - w.known }

// add appends bytes of the message that is being read.
func (w *window) add(piece []byte) {
	if len(w.buffer)+len(piece) <= cap(w.buffer) {
		w.buffer = append(w.buffer, piece...)
		return
	}
	if w.from > 0 && (w.from >= w.bytes() || cap(w.buffer) >= w.most) { // few bytes are moved for each one that is skipped
		w.buffer = w.buffer[:copy(w.buffer, w.buffer[w.from:])]
		w.from = 0
	}
	if len(w.buffer)+len(piece) > cap(w.buffer) { // append would grow it by less, and more often
		w.buffer = slices.Grow(w.buffer, max(len(piece), min(cap(w.buffer), w.most-len(w.buffer))))
	}
	w.buffer = append(w.buffer, piece...)
}

// cut removes bytes of the message that is being read.
func (w *window) cut(size int) { w.buffer = w.buffer[:len(w.buffer)-size] }

// settle makes the messages before the one that is being read known.
func (w *window) settle() {
	for _, m := range w.messages[len(w.messages)-w.fresh():] {
		w.old += m.size
		if m.missing {
			w.holes++
		}
	}
	w.known = w.read
}

// end ends a message.
func (w *window) end(m message) {
	if w.first > 0 && w.first >= len(w.messages)-w.first {
		w.messages = w.messages[:copy(w.messages, w.messages[w.first:])]
		w.first = 0
	}
	w.messages = append(w.messages, m)
	w.read++
}

// skip removes the oldest message, which must be before the last known one.
func (w *window) skip() {
	m := w.messages[w.first]
	w.first++
	w.old -= m.size
	if m.missing {
		w.holes--
	}
	w.from += m.size
}

// missing returns the index in the list of a message that is needed and had no space; -1:
// there is none.
func (w *window) missing() int {
	for i, m := range w.messages[w.first:] {
		if m.missing {
			return w.read - len(w.messages) + w.first + i
		}
	}
	return -1
}

// appendTo appends the list to a text.
func (w *window) appendTo(out []byte) []byte {
	out = append(slices.Grow(out, w.bytes()+chunk), '[')
	out = append(out, w.buffer[w.from:]...)
	return append(bytes.TrimSuffix(out, []byte{','}), ']')
}
