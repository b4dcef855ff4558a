package protocol

import (
	"bytes"

	"github.com/reveille-run/reveille/core"
)

// MaxValues is the most JSON values of a request body. Objects, lists, strings, numbers,
// true, false and null count, at any depth, and names of members do not. A value of two
// bytes takes up to 550 bytes of memory when it is decoded into a list of structs that
// grows. So the values of a body use at most 110 MB of memory at one time, and allocate at
// most 240 MB in all. A body of 4 MB has fewer values if they have 21 bytes on average,
// with the names and the punctuation.
const MaxValues = 200_000

// CheckValues returns a [core.CodeTooLarge] error for a body with more than [MaxValues]
// values. It allocates nothing. The text need not be JSON: then the number is not exact.
func CheckValues(body []byte) error {
	if bytes.Count(body, []byte{','})+bytes.Count(body, []byte{'['})+bytes.Count(body, []byte{'{'}) < MaxValues {
		return nil // also with those in strings and those of empty lists, as usual bodies are
	}
	if n := values(body); n > MaxValues {
		return core.Errorf(core.CodeTooLarge, "body has %d JSON values, at most %d are allowed: send only the newest messages, and large results as text or by URL", n, MaxValues)
	}
	return nil
}

// values returns the number of values in a JSON text. Each comma is between two values or
// two members, and a list or object that is not empty has one value more than commas.
func values(text []byte) int {
	n := 1
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case ',':
			n++
		case '[', '{':
			for i+1 < len(text) && space(text[i+1]) {
				i++
			}
			if i+1 < len(text) && text[i+1] != ']' && text[i+1] != '}' {
				n++
			}
		case '"':
			i = closing(text, i)
		}
	}
	return n
}

// closing returns the index of the quote that ends the string at an index; without one, that
// of the end of the text or after it.
func closing(text []byte, start int) int {
	i := start + 1
	for i < len(text) && text[i] != '"' {
		if text[i] == '\\' {
			i++
		}
		i++
	}
	return i
}

func space(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
