// Package wire encodes stored and sent values: JSON as records and events have it, ids that
// follow from hashes.
package wire

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strings"
	"sync"
)

// JSON is json.Marshal without the escaping of <, > and &: what a model
// or a tool said is stored, and read by models, as it was said.
func JSON(v any) ([]byte, error) { return encode(v, nil, false) }

// Object is JSON for a v that encodes as an object, with other members before its own:
// their JSON text, without braces and the comma after them.
func Object(members []byte, v any) ([]byte, error) { return encode(v, members, true) }

func encode(v any, members []byte, object bool) ([]byte, error) {
	e := encoders.Get().(*encoder)
	e.members, e.object = append(e.members[:0], members...), object // a copy: members stay on the caller's stack
	err := e.json.Encode(v)
	text := e.text
	e.text = nil
	encoders.Put(e)
	if err != nil {
		return nil, err
	}
	return text, nil
}

// encoder is a JSON encoder, and what it writes to. They are kept and used again: every
// record and event is encoded. The encoder's own buffer is copied once, to a slice of the
// exact size.
type encoder struct {
	json    *json.Encoder
	object  bool   // the value is one, and gets members before its own
	members []byte // these
	text    []byte // the encoded value
}

var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.json = json.NewEncoder(e)
	e.json.SetEscapeHTML(false)
	return e
}}

// Write takes a value as a whole, as a json.Encoder gives it, with a line feed after it.
func (e *encoder) Write(line []byte) (int, error) {
	value := bytes.TrimSuffix(line, []byte("\n"))
	if !e.object {
		e.text = bytes.Clone(value)
		return len(line), nil
	}
	b := make([]byte, 0, len("{,")+len(e.members)+len(value))
	b = append(append(b, '{'), e.members...)
	if len(value) > len("{}") && len(e.members) > 0 {
		b = append(b, ',')
	}
	e.text = append(b, value[1:]...)
	return len(line), nil
}

// DerivedID returns the id that the first 16 bytes of a hash make, as a UUIDv8: the same
// for the same hash, wherever and whenever it is made. It is a core.ID.
func DerivedID(sum []byte) [16]byte {
	id := [16]byte(sum[:16])
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // version 8, variant of RFC 9562
	return id
}

// AppendUUID appends an id in the canonical lower-case form.
func AppendUUID(b []byte, id [16]byte) []byte {
	n := len(b)
	b = append(b, "00000000-0000-0000-0000-000000000000"...)
	to := b[n:]
	hex.Encode(to[:8], id[:4])
	hex.Encode(to[9:13], id[4:6])
	hex.Encode(to[14:18], id[6:8])
	hex.Encode(to[19:23], id[8:10])
	hex.Encode(to[24:], id[10:])
	return b
}

// Shorten bounds a text of any length to about so many bytes: if a part is omitted, it ends
// in "...", and never inside a character.
func Shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// MaxName is the longest name that a client may choose, in bytes: see core.CheckName.
const MaxName = 128
