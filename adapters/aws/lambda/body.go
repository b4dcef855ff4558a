package lambda

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
)

// jsonText is a JSON string as the event has it, with its quotes. It is part of the event
// and not a copy: a body of 4 MB is decoded as a handler reads it.
type jsonText []byte

// UnmarshalJSON implements json.Unmarshaler. It keeps raw, which is part of a payload that
// nothing changes.
func (t *jsonText) UnmarshalJSON(raw []byte) error {
	switch {
	case raw[0] == '"':
		*t = raw
	case string(raw) != "null":
		return errors.New("body is not a string")
	}
	return nil
}

// body returns a reader of the body and its size in bytes; a size of 0 means that there is
// no body. It allocates nothing of the body's size.
func (t jsonText) body(encoded bool) (r io.Reader, size int, err error) {
	if len(t) <= len(`""`) {
		return nil, 0, nil
	}
	text := &textReader{rest: t[1 : len(t)-1]}
	size = text.size()
	if !encoded {
		return text, size, nil
	}
	if size%4 != 0 {
		return nil, 0, core.Errorf(core.CodeInvalid, "request body: %w", base64.CorruptInputError(size-size%4))
	}
	size -= size / 4
	for n := len(text.rest); n > 0 && text.rest[n-1] == '='; n-- {
		size--
	}
	return base64.NewDecoder(base64.StdEncoding, text), size, nil
}

// textReader reads the text of a JSON string that has been checked.
type textReader struct {
	rest []byte // what is not read yet, with its escapes
	char [utf8.UTFMax]byte
	left []byte // of char: what did not fit into the last read
}

// Read implements io.Reader.
func (t *textReader) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(t.left) > 0 {
			copied := copy(p[n:], t.left)
			t.left, n = t.left[copied:], n+copied
			continue
		}
		if len(t.rest) == 0 {
			t.rest = nil // so that the event can be collected while the response streams
			if n == 0 {
				return 0, io.EOF
			}
			return n, nil
		}
		if t.rest[0] == '\\' {
			r, size := escaped(t.rest)
			t.left, t.rest = utf8.AppendRune(t.char[:0], r), t.rest[size:]
			continue
		}
		plain := t.rest
		if end := bytes.IndexByte(plain[:min(len(plain), len(p)-n)], '\\'); end >= 0 {
			plain = plain[:end]
		}
		copied := copy(p[n:], plain)
		t.rest, n = t.rest[copied:], n+copied
	}
	return n, nil
}

// size returns how many bytes there are to read.
func (t *textReader) size() (n int) {
	for rest := t.rest; ; {
		end := bytes.IndexByte(rest, '\\')
		if end < 0 {
			return n + len(rest)
		}
		r, size := escaped(rest[end:])
		n += end + utf8.RuneLen(r)
		rest = rest[end+size:]
	}
}

// escaped returns the character of the escape at the start of a text, and the escape's
// size. Half of a surrogate pair is U+FFFD, as in encoding/json.
func escaped(text []byte) (r rune, size int) {
	switch c := text[1]; c {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
	default: // a quote, a backslash, a slash
		return rune(c), 2
	}
	r = hex(text[2:6])
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(text) >= 12 && text[6] == '\\' && text[7] == 'u' {
		if pair := utf16.DecodeRune(r, hex(text[8:12])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

func hex(digits []byte) rune {
	n, _ := strconv.ParseUint(string(digits), 16, 32) // the JSON is valid
	return rune(n)
}
