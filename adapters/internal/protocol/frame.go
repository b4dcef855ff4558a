package protocol

import (
	"bytes"
	"strings"
)

// Frame is one server-sent event. Empty fields are omitted, except Data.
type Frame struct {
	ID    string // becomes the Last-Event-ID of a reconnecting client
	Event string
	Data  []byte // several lines become several data fields
}

// DataFrames returns frames of payloads that have only data. It reuses room, an earlier
// result: for encoders whose frames are valid until their next call.
func DataFrames(room []Frame, payloads [][]byte) []Frame {
	room = room[:0]
	for _, p := range payloads {
		room = append(room, Frame{Data: p})
	}
	return room
}

// appendTo appends the wire form, in place: a stream has thousands of frames, and
// this way none is built elsewhere first.
func (f Frame) appendTo(b []byte) []byte {
	if f.ID != "" {
		b = appendLine(b, "id: ", f.ID)
	}
	if f.Event != "" {
		b = appendLine(b, "event: ", f.Event)
	}
	b = appendLines(b, "data: ", f.Data)
	return append(b, '\n')
}

// appendLine drops the characters that would end an id or event field early: a line end
// would let the text of a model or a tool start another field or event.
func appendLine(b []byte, field, value string) []byte {
	b = append(b, field...)
	if !strings.ContainsAny(value, "\r\n\x00") {
		b = append(b, value...)
		return append(b, '\n')
	}
	for i := range len(value) {
		if c := value[i]; c != '\r' && c != '\n' && c != 0 {
			b = append(b, c)
		}
	}
	return append(b, '\n')
}

// appendLines splits at every line end that the format knows: LF, CR LF and CR.
func appendLines(b []byte, field string, text []byte) []byte {
	several := bytes.IndexByte(text, '\n') >= 0 || bytes.IndexByte(text, '\r') >= 0 // JSON has one line
	for {
		b = append(b, field...)
		i := -1
		if several {
			i = bytes.IndexAny(text, "\r\n")
		}
		if i < 0 {
			b = append(b, text...)
			return append(b, '\n')
		}
		b = append(b, text[:i]...)
		b = append(b, '\n')
		if text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n' {
			i++
		}
		text = text[i+1:]
	}
}
