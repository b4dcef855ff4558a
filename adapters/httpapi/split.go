package httpapi

import (
	"encoding/json"
	"errors"
	"strings"
)

// What splits a body: every request has one, and json.Decoder makes some thirty
// objects for each key and an error behind each value. All of it is given JSON that
// json.Valid has accepted, and looks for nothing but where values end.

// errNoString is the error of unquote for another value.
var errNoString = errors.New("not a string")

// space is JSON's; between is what stands between two values of an object or list.
const (
	space   = " \t\r\n"
	between = space + ",:"
)

// inside returns what stands between the brackets of an object or list, without
// spaces before it.
func inside(raw json.RawMessage) json.RawMessage {
	return trimLeft(raw[1:len(raw)-1], space)
}

// split returns the first value and what follows it, up to the next value.
func split(raw json.RawMessage) (value, rest json.RawMessage) {
	end := length(raw)
	return raw[:end:end], trimLeft(raw[end:], between)
}

// length is how many bytes the first value has.
func length(raw json.RawMessage) int {
	depth, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case depth == 0 && strings.IndexByte(between, c) >= 0:
			return i
		}
		if depth == 0 && !quoted && (c == '"' || c == '}' || c == ']') {
			return i + 1
		}
	}
	return len(raw)
}

// unquote returns the text of a string.
func unquote(raw json.RawMessage) (string, error) {
	if raw[0] != '"' {
		return "", errNoString
	}
	if inner := string(raw[1 : len(raw)-1]); strings.IndexByte(inner, '\\') < 0 {
		return inner, nil
	}
	var text string
	err := json.Unmarshal(raw, &text)
	return text, err
}

func trimLeft(raw json.RawMessage, what string) json.RawMessage {
	for len(raw) > 0 && strings.IndexByte(what, raw[0]) >= 0 {
		raw = raw[1:]
	}
	return raw
}
