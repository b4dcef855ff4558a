package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
)

var errNotJSON = errors.New("not JSON")

// encodeCanonical returns the canonical JSON of a value.
func encodeCanonical(v any) (json.RawMessage, error) {
	raw, err := core.EncodeJSON(v)
	if err != nil {
		return nil, err
	}
	return canonical(raw)
}

// canonical returns the one spelling of a JSON value: no white space, members
// sorted by the bytes of their names and each of them once, strings escaped as
// [core.EncodeJSON] does. Numbers stay as they are written, since rewriting
// them could lose digits. Raw is returned itself when it is canonical already,
// and must then not be changed.
func canonical(raw json.RawMessage) (json.RawMessage, error) {
	if !json.Valid(raw) {
		return nil, errNotJSON
	}
	if s := (spelling{text: raw}); utf8.Valid(raw) && s.value() && s.at == len(raw) {
		return raw, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return core.EncodeJSON(value)
}

// spelling walks over valid JSON and stops where it is not canonical, or where
// telling would take more than a look. It saves decoding and encoding each
// value that is read back from the log.
type spelling struct {
	text []byte
	at   int
}

// value passes one value.
func (s *spelling) value() bool {
	if s.at >= len(s.text) {
		return false
	}
	switch s.text[s.at] {
	case '{':
		return s.object()
	case '[':
		return s.array()
	case '"':
		return s.str(true)
	}
	start := s.at
	for s.at < len(s.text) && (s.text[s.at] == '-' || s.text[s.at] == '+' || s.text[s.at] == '.' || isAlphanumeric(s.text[s.at])) {
		s.at++
	}
	return s.at > start
}

func isAlphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func (s *spelling) object() bool {
	s.at++
	if s.next('}') {
		return true
	}
	var last []byte
	for first := true; ; first = false {
		start := s.at
		if !s.str(false) {
			return false
		}
		name := s.text[start+1 : s.at-1]
		if !first && bytes.Compare(last, name) >= 0 {
			return false
		}
		last = name
		if !s.next(':') || !s.value() {
			return false
		}
		if s.next('}') {
			return true
		}
		if !s.next(',') {
			return false
		}
	}
}

func (s *spelling) array() bool {
	s.at++
	if s.next(']') {
		return true
	}
	for {
		if !s.value() {
			return false
		}
		if s.next(']') {
			return true
		}
		if !s.next(',') {
			return false
		}
	}
}

// str passes a string. Names may not be escaped, since the order of their bytes
// would not be that of their characters.
func (s *spelling) str(escapes bool) bool {
	if !s.next('"') {
		return false
	}
	for ; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '"':
			s.at++
			return true
		case '\\':
			s.at++
			if !escapes || s.at == len(s.text) || !bytes.ContainsRune([]byte(`"\bfnrt`), rune(s.text[s.at])) {
				return false
			}
		case 0xe2: // U+2028 and U+2029, which the encoder escapes
			if bytes.HasPrefix(s.text[s.at:], []byte("\u2028")) || bytes.HasPrefix(s.text[s.at:], []byte("\u2029")) {
				return false
			}
		}
	}
	return false
}

func (s *spelling) next(c byte) bool {
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}
