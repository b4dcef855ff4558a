package strict

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// These functions read JSON that encoding/json has found valid: they only look for the ends
// of values.

// isSpace reports whether c is one of JSON's spaces.
func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func blank(data []byte) bool { return len(bytes.Trim(data, " \n\t\r")) == 0 }

// endOfString returns the index after the string that begins at i, for one without an end
// that after the text, and whether it is written without escapes. Each byte is looked at
// twice at most, by searches for a quote and for a backslash.
func endOfString(text []byte, i int) (end int, plain bool) {
	plain = true
	i++
	quote := nextQuote(text, i)
	for {
		escape := bytes.IndexByte(text[i:quote], '\\')
		if escape < 0 {
			return min(quote+1, len(text)), plain
		}
		plain = false
		if i += escape + 2; i > quote { // the quote is the one that is escaped
			if i >= len(text) {
				return len(text), false
			}
			quote = nextQuote(text, i)
		}
	}
}

// nextQuote is the index of a quote from i on; the length of the text if it has none.
func nextQuote(text []byte, i int) int {
	if n := bytes.IndexByte(text[i:], '"'); n >= 0 {
		return i + n
	}
	return len(text)
}

// endOfWord returns the index after the number, true, false or null that begins at i.
func endOfWord(data []byte, i int) int {
	for ; i < len(data); i++ {
		if c := data[i]; c == ',' || c == '}' || c == ']' || isSpace(c) {
			break
		}
	}
	return i
}

// endOfValue returns the index after the value that begins at i. It is -1 if lists and
// objects nest more than depth deep within it; i is then the bracket that does.
func endOfValue(data []byte, i, depth int) (end int) {
	switch data[i] {
	case '"':
		end, _ = endOfString(data, i)
		return end
	case '{', '[':
	default:
		return endOfWord(data, i)
	}
	for open := 0; ; {
		switch data[i] {
		case '"':
			i, _ = endOfString(data, i)
			continue
		case '{', '[':
			if open++; open > depth {
				return -1
			}
		case '}', ']':
			if open--; open == 0 {
				return i + 1
			}
		}
		i++
	}
}

// unquote returns the text of a string.
func unquote(raw []byte, plain bool) (text string, err error) {
	if inner := raw[1 : len(raw)-1]; plain && utf8.Valid(inner) {
		return string(inner), nil
	}
	err = json.Unmarshal(raw, &text)
	return text, err
}

// tooDeepAt looks for the bracket that exceeds the depth: with most 1 it is that of a list
// in a list. The text need not be JSON.
func tooDeepAt(text []byte, most int) (offset int, deep bool) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			end, _ := endOfString(text, i)
			i = end - 1
		case '{', '[':
			if depth++; depth > most {
				return i, true
			}
		case '}', ']':
			depth--
		}
	}
	return 0, false
}
