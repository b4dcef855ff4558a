package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Members appends the members of a JSON object to a text that has its first one.
// It writes what [JSON] writes for the fields of a struct, and finds nothing by reflection:
// records that every run writes are encoded with it.
type Members struct {
	text    []byte
	compact bytes.Buffer // has text while JSON is compacted into it
	err     error        // a value is not JSON
}

var freeMembers = sync.Pool{New: func() any { return new(Members) }}

// ObjectOf is [Object] for an object whose members add appends. ok is false if add returns
// false: then nothing is encoded.
func ObjectOf(members []byte, v interface{ AddTo(m *Members) bool }) (object []byte, ok bool, err error) {
	m := freeMembers.Get().(*Members)
	defer freeMembers.Put(m)
	m.text, m.err = append(append(m.text[:0], '{'), members...), nil
	if !v.AddTo(m) {
		return nil, false, nil
	}
	if m.err != nil {
		return nil, true, m.err
	}
	object = make([]byte, len(m.text)+1)
	object[copy(object, m.text)] = '}'
	return object, true, nil
}

// Name begins a member, whose value is to follow.
func (m *Members) Name(name string) {
	m.text = append(m.text, ',', '"')
	m.text = append(m.text, name...)
	m.text = append(m.text, '"', ':')
}

// Text appends a text; an empty one is omitted.
func (m *Members) Text(name, value string) {
	if value != "" {
		m.AnyText(name, value)
	}
}

// AnyText appends a text, also an empty one.
func (m *Members) AnyText(name, value string) {
	m.Name(name)
	m.text = AppendString(m.text, value)
}

// Int appends a number; 0 is omitted.
func (m *Members) Int(name string, value int64) {
	if value != 0 {
		m.AnyInt(name, value)
	}
}

// AnyInt appends a number, also 0.
func (m *Members) AnyInt(name string, value int64) {
	m.Name(name)
	m.text = strconv.AppendInt(m.text, value, 10)
}

// Uint appends a number; 0 is omitted.
func (m *Members) Uint(name string, value uint64) {
	if value != 0 {
		m.AnyUint(name, value)
	}
}

// AnyUint appends a number, also 0.
func (m *Members) AnyUint(name string, value uint64) {
	m.Name(name)
	m.text = strconv.AppendUint(m.text, value, 10)
}

// True appends a true; false is omitted.
func (m *Members) True(name string, value bool) {
	if value {
		m.Name(name)
		m.text = append(m.text, "true"...)
	}
}

// ID appends an id of 16 bytes as a UUID.
func (m *Members) ID(name string, id [16]byte) {
	m.Name(name)
	m.text = append(AppendUUID(append(m.text, '"'), id), '"')
}

// JSON appends a value that is JSON, without blanks; no value is omitted.
func (m *Members) JSON(name string, value json.RawMessage) {
	if len(value) == 0 {
		return
	}
	m.Name(name)
	m.compact = *bytes.NewBuffer(m.text)
	if err := json.Compact(&m.compact, value); err != nil && m.err == nil {
		m.err = err
	}
	m.text = m.compact.Bytes()
}

// Open begins a value that is an object, whose members follow until Close with the result.
func (m *Members) Open(name string) (begin int) {
	m.Name(name)
	return len(m.text)
}

// Close ends an object: the comma before its first member becomes its brace.
func (m *Members) Close(begin int) {
	if len(m.text) == begin {
		m.text = append(m.text, '{')
	}
	m.text[begin] = '{'
	m.text = append(m.text, '}')
}

// OpenList begins a value that is a list of objects: each of them lies between Item and Close
// with its result, and CloseList ends the list.
func (m *Members) OpenList(name string) {
	m.Name(name)
	m.text = append(m.text, '[')
}

// Item begins the next object of a list, or its first one.
func (m *Members) Item(first bool) (begin int) {
	if !first {
		m.text = append(m.text, ',')
	}
	return len(m.text)
}

// CloseList ends a list.
func (m *Members) CloseList() { m.text = append(m.text, ']') }

// Texts appends a list of texts; an empty one is omitted.
func (m *Members) Texts(name string, values []string) {
	if len(values) == 0 {
		return
	}
	m.OpenList(name)
	for i, value := range values {
		m.Item(i == 0)
		m.text = AppendString(m.text, value)
	}
	m.CloseList()
}

// AppendString appends a text as JSON has it, without the escaping of <, > and &.
func AppendString(b []byte, text string) []byte {
	const hex, short = "0123456789abcdef", "btn fr" // of the control characters from 8 on
	if !utf8.ValidString(text) || strings.Contains(text, "\u2028") || strings.Contains(text, "\u2029") {
		encoded, _ := JSON(text) // a text always encodes
		return append(b, encoded...)
	}
	b = append(b, '"')
	begin := 0
	for i := range len(text) {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, text[begin:i]...)
		begin = i + 1
		switch {
		case c >= ' ':
			b = append(b, '\\', c)
		case c >= '\b' && c <= '\r' && c != '\v':
			b = append(b, '\\', short[c-'\b'])
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(b, text[begin:]...), '"')
}
