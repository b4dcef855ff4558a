package protocol

import (
	"bytes"
	"encoding/json"
	"iter"
	"unicode/utf8"
)

// Members returns the members of a JSON object in their order: the name, and the text of the
// value. Names may repeat. It only looks for the ends of values, which costs a small part of
// decoding them. Both refer to the text, except names with escapes. The text must be JSON, as
// a decoder has found before. If it is not an object, there are no members.
func Members(text []byte) iter.Seq2[[]byte, json.RawMessage] {
	return func(yield func([]byte, json.RawMessage) bool) {
		i := spaces(text, 0)
		if i == len(text) || text[i] != '{' {
			return
		}
		for i = spaces(text, i+1); i < len(text) && text[i] == '"'; {
			end := min(closing(text, i)+1, len(text))
			raw := text[i:end]
			i = spaces(text, spaces(text, end)+1) // the colon is between
			end = valueEnd(text, i)
			if !yield(unescaped(raw), text[i:end:end]) {
				return
			}
			i = spaces(text, spaces(text, end)+1) // after the comma
		}
	}
}

// spaces returns the index of the first byte from i on that is no space.
func spaces(text []byte, i int) int {
	for i < len(text) && space(text[i]) {
		i++
	}
	return min(i, len(text))
}

// valueEnd returns the index after the value that begins at i.
func valueEnd(text []byte, i int) int {
	for open := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = closing(text, i)
		case '{', '[':
			open++
			continue
		case '}', ']':
			if open == 0 { // of the object around it
				return i
			}
			open--
		case ',', ' ', '\n', '\t', '\r':
			if open == 0 {
				return i
			}
			continue
		default:
			continue // a number, true, false or null ends before the next of these
		}
		if open == 0 {
			return min(i+1, len(text))
		}
	}
	return len(text)
}

// unescaped returns the text of a string, which is a part of it if there are no escapes.
func unescaped(raw []byte) []byte {
	if len(raw) > 1 && bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	name, _ := Unquote(raw)
	return []byte(name)
}

// Unquote returns the text of a JSON string. It returns false if the value is not a string.
func Unquote(raw json.RawMessage) (text string, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner), true
	}
	return text, json.Unmarshal(raw, &text) == nil
}
