package thread

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/wire"
)

// The wire types of Protocol Buffers that entries have.
const (
	wireVarint = 0
	wireBytes  = 2
	wireFixed  = 5
	maxNumber  = 1<<29 - 1 // of a field
)

// fieldWriter appends fields to b. The first error stays.
type fieldWriter struct {
	b   []byte
	err error
}

func (w *fieldWriter) tag(number, kind int) {
	w.b = binary.AppendUvarint(w.b, uint64(number)<<3|uint64(kind))
}

// number writes a varint that is not 0.
func (w *fieldWriter) number(number int, v uint64) {
	if v != 0 {
		w.tag(number, wireVarint)
		w.b = binary.AppendUvarint(w.b, v)
	}
}

func (w *fieldWriter) int(number, v int)         { w.number(number, uint64(v)) }
func (w *fieldWriter) int64(number int, v int64) { w.number(number, uint64(v)) }

func (w *fieldWriter) flag(number int, v bool) {
	if v {
		w.number(number, 1)
	}
}

// fixed writes four bytes that are not 0.
func (w *fieldWriter) fixed(number int, v uint32) {
	if v != 0 {
		w.tag(number, wireFixed)
		w.b = binary.LittleEndian.AppendUint32(w.b, v)
	}
}

func (w *fieldWriter) id(number int, id core.ID) {
	if !id.IsZero() {
		w.bytes(number, id[:])
	}
}

// bytes writes bytes that are not empty, whole any.
func (w *fieldWriter) bytes(number int, v []byte) {
	if len(v) > 0 {
		w.whole(number, v)
	}
}

func (w *fieldWriter) whole(number int, v []byte) {
	w.tag(number, wireBytes)
	w.b = binary.AppendUvarint(w.b, uint64(len(v)))
	w.b = append(w.b, v...)
}

func (w *fieldWriter) text(number int, v string) {
	if v != "" {
		w.tag(number, wireBytes)
		w.b = binary.AppendUvarint(w.b, uint64(len(v)))
		w.b = append(w.b, v...)
	}
}

// word writes a word's place in a list, or a word that is not in it.
func (w *fieldWriter) word(number int, list []string, v string) {
	for i, word := range list {
		if word == v {
			w.number(number, uint64(i+1))
			return
		}
	}
	w.text(number, v)
}

// json writes JSON that exists, without white space between its parts.
func (w *fieldWriter) json(number int, v json.RawMessage) {
	if len(v) == 0 {
		return
	}
	at := w.open(number)
	compact := bytes.NewBuffer(w.b)
	if err := json.Compact(compact, v); err != nil && w.err == nil {
		w.err = err
	}
	w.b = compact.Bytes()
	w.end(at)
}

// value writes a value as JSON.
func (w *fieldWriter) value(number int, v any) {
	text, err := wire.JSON(v)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.bytes(number, text)
}

// open starts a level; what is written until [fieldWriter.end] is in it.
func (w *fieldWriter) open(number int) (at int) {
	w.tag(number, wireBytes)
	w.b = append(w.b, 0) // the length, if that is one byte
	return len(w.b)
}

// end ends the level that open has started at a place.
func (w *fieldWriter) end(at int) {
	n := len(w.b) - at
	size := uintSize(uint64(n))
	if size > 1 { // the length is longer than the byte that is kept for it
		w.b = append(w.b, make([]byte, size-1)...)
		copy(w.b[at-1+size:], w.b[at:at+n])
	}
	binary.PutUvarint(w.b[at-1:at-1+size], uint64(n))
}

// fieldReader reads the fields of a level. What it returns after the first error means
// nothing.
type fieldReader struct {
	d     *entryDecoder
	level *level
	b     []byte // what follows the field

	number int
	kind   int
	v      uint64 // of a varint or four bytes
	bytes  []byte // of bytes
}

// next reads a field, and skips those of newer programs; false: there is no other, or an
// error.
func (r *fieldReader) next() bool {
	for len(r.b) > 0 && r.d.err == nil {
		before := r.number
		r.b = r.field(r.b)
		if r.d.err != nil {
			return false
		}
		known := r.level.has(r.number)
		if r.number < before || r.number == before && known && r.level.repeated>>r.number&1 == 0 {
			r.fail("field %d follows field %d", r.number, before)
			return false
		}
		if known {
			return true
		}
	}
	return false
}

// field reads one, and returns what follows it.
func (r *fieldReader) field(b []byte) []byte {
	tag, n := uint64(b[0]), 1 // mostly
	if tag >= 0x80 {
		tag, n = shortest(b)
	}
	r.number, r.kind = int(tag>>3), int(tag&7)
	if n == 0 || tag>>3 == 0 || tag>>3 > maxNumber {
		r.number = 0
		return r.fail("a tag is malformed")
	}
	b = b[n:]
	switch r.kind {
	case wireVarint:
		if r.v, n = shortest(b); n == 0 {
			return r.fail("field %d is not a number", r.number)
		}
		return b[n:]
	case wireFixed:
		if len(b) < 4 {
			return r.fail("field %d is cut off", r.number)
		}
		r.v = uint64(binary.LittleEndian.Uint32(b))
		return b[4:]
	case wireBytes:
		var size uint64
		if n = 1; len(b) > 0 && b[0] < 0x80 { // mostly
			size = uint64(b[0])
		} else {
			size, n = shortest(b)
		}
		if n == 0 || size > uint64(len(b)-n) {
			return r.fail("field %d is cut off", r.number)
		}
		end := n + int(size)
		r.bytes = b[n:end:end]
		return b[end:]
	}
	return r.fail("field %d has the wire type %d", r.number, r.kind)
}

// shortest reads a varint in its shortest form; size 0: it is none.
func shortest(b []byte) (v uint64, size int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	v, size = binary.Uvarint(b)
	if size <= 0 || b[size-1] == 0 {
		return 0, 0
	}
	return v, size
}

// fail notes the first error.
func (r *fieldReader) fail(format string, values ...any) []byte {
	if r.d.err == nil {
		r.d.err = fmt.Errorf(r.level.name+": "+format, values...)
	}
	return nil
}

// must checks that the field has a wire type.
func (r *fieldReader) must(kind int) bool {
	if r.kind != kind {
		r.fail("field %d has the wire type %d, want %d", r.number, r.kind, kind)
	}
	return r.kind == kind
}

// uint reads a varint that is not 0, which is left out.
func (r *fieldReader) uint() uint64 {
	if !r.must(wireVarint) {
		return 0
	}
	if r.v == 0 {
		r.fail("field %d is 0", r.number)
	}
	return r.v
}

// atMost reads a varint as uint does, of a field with a smaller type.
func (r *fieldReader) atMost(limit uint64) uint64 {
	v := r.uint()
	if v > limit {
		r.fail("field %d is %d, at most %d is allowed", r.number, v, limit)
	}
	return v
}

func (r *fieldReader) int() int     { return int(r.uint()) }
func (r *fieldReader) int64() int64 { return int64(r.uint()) }

func (r *fieldReader) flag() bool {
	v := r.uint()
	if v > 1 {
		r.fail("field %d is %d, want 1", r.number, v)
	}
	return v == 1
}

func (r *fieldReader) fixed() uint32 {
	if r.must(wireFixed) && r.v == 0 {
		r.fail("field %d is 0", r.number)
	}
	return uint32(r.v)
}

// raw reads bytes, which are the payload's; full does if there are any.
func (r *fieldReader) raw() []byte {
	if !r.must(wireBytes) {
		return nil
	}
	return r.bytes
}

func (r *fieldReader) full() []byte {
	b := r.raw()
	if len(b) == 0 {
		r.fail("field %d is empty", r.number)
	}
	return b
}

// copied reads bytes into memory of their own.
func (r *fieldReader) copied() []byte { return bytes.Clone(r.full()) }

func (r *fieldReader) text() string { return string(r.full()) }

// name reads a text that other entries are likely to have too.
func (r *fieldReader) name() string { return r.d.name(r.full()) }

func (r *fieldReader) sized(n int) []byte {
	b := r.raw()
	if len(b) != n {
		r.fail("field %d has %d bytes, want %d", r.number, len(b), n)
		return make([]byte, n)
	}
	return b
}

func (r *fieldReader) id() core.ID {
	id := core.ID(r.sized(len(core.ID{})))
	if id.IsZero() {
		r.fail("field %d is 0", r.number)
	}
	return id
}

// digits reads 16 bytes as their hex digits. Most turns of a thread have the same.
func (r *fieldReader) digits() string {
	b := [16]byte(r.sized(16))
	if r.d.digits == "" || b != r.d.prompt {
		var digits [32]byte
		hex.Encode(digits[:], b[:])
		r.d.prompt, r.d.digits = b, r.d.name(digits[:])
	}
	return r.d.digits
}

func (r *fieldReader) word(list []string) string {
	if r.kind == wireBytes {
		return r.name()
	}
	v := r.uint()
	if v > uint64(len(list)) {
		r.fail("field %d is word %d, at most %d is known", r.number, v, len(list))
		return ""
	}
	if v == 0 {
		return ""
	}
	return list[v-1]
}

// json reads JSON.
func (r *fieldReader) json() json.RawMessage {
	b := r.full()
	if r.d.err == nil && !json.Valid(b) {
		r.fail("field %d is not JSON", r.number)
	}
	return bytes.Clone(b)
}

// value reads a value that is JSON.
func (r *fieldReader) value(v any) {
	b := r.full()
	if r.d.err != nil {
		return
	}
	if err := json.Unmarshal(b, v); err != nil {
		r.fail("field %d: %w", r.number, err)
	}
}

// leftOut reports whether the field is bytes that nobody wants.
func (r *fieldReader) leftOut() bool { return r.d.lean && r.must(wireBytes) }

// inside reads the fields of a part of the level.
func (r *fieldReader) inside(l *level) fieldReader {
	return fieldReader{d: r.d, level: l, b: r.raw()}
}
