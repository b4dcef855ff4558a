package pattern

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// value is a JSON value in canonical form, for any order, blanks, escapes and spelling of
// numbers in the text. Unlike a map it keeps members of one name.
type value struct {
	name     string  // in its object, else empty
	text     string  // of a string its content, of a number its canonical form, true or false
	children []value // an object's sorted by name, of one name as written
	kind     valueKind
	repeated bool // in it or deeper, an object has two members of one name
}

type valueKind uint8

const (
	nullValue valueKind = iota
	boolValue
	numberValue
	stringValue
	arrayValue
	objectValue
)

// parseValue reads a JSON text, and reports false for any other.
func parseValue(raw json.RawMessage) (value, bool) {
	if !json.Valid(raw) { // which limits the depth too, so that the recursion below has an end
		return value{}, false
	}
	r := reader{text: string(raw)}
	return r.value(), true
}

// reader reads a text that is known to be valid JSON.
type reader struct {
	text string
	at   int
}

// next skips blanks and returns the next byte.
func (r *reader) next() byte {
	for strings.IndexByte(" \t\r\n", r.text[r.at]) >= 0 {
		r.at++
	}
	return r.text[r.at]
}

func (r *reader) value() value {
	switch r.next() {
	case '{':
		return r.object()
	case '[':
		return r.array()
	case '"':
		return value{kind: stringValue, text: r.string()}
	case 'n':
		r.at += len("null")
		return value{}
	case 't':
		r.at += len("true")
		return value{kind: boolValue, text: "true"}
	case 'f':
		r.at += len("false")
		return value{kind: boolValue, text: "false"}
	}
	from := r.at
	for r.at < len(r.text) && strings.IndexByte("+-.eE0123456789", r.text[r.at]) >= 0 {
		r.at++
	}
	return value{kind: numberValue, text: canonicalNumber(r.text[from:r.at])}
}

func (r *reader) object() value {
	v := value{kind: objectValue}
	for r.at++; r.next() != '}'; {
		if r.text[r.at] == ',' {
			r.at++
			r.next()
		}
		name := r.string()
		r.next()
		r.at++ // the colon
		member := r.value()
		member.name = name
		v.add(member)
	}
	r.at++
	slices.SortStableFunc(v.children, func(a, b value) int { return strings.Compare(a.name, b.name) })
	for i := range v.children {
		v.repeated = v.repeated || v.twin(i)
	}
	return v
}

func (r *reader) array() value {
	v := value{kind: arrayValue}
	for r.at++; r.next() != ']'; {
		if r.text[r.at] == ',' {
			r.at++
		}
		v.add(r.value())
	}
	r.at++
	return v
}

func (v *value) add(child value) {
	v.children = append(v.children, child)
	v.repeated = v.repeated || child.repeated
}

// string reads a string as encoding/json does, and so as the tools do: invalid UTF-8 and
// half a surrogate pair become U+FFFD.
func (r *reader) string() string {
	from := r.at
	escaped := false
	for r.at++; r.text[r.at] != '"'; r.at++ {
		if r.text[r.at] == '\\' {
			escaped = true
			r.at++
		}
	}
	r.at++
	text := r.text[from+1 : r.at-1]
	if escaped || !utf8.ValidString(text) {
		_ = json.Unmarshal([]byte(r.text[from:r.at]), &text) // it is a valid string
	}
	return text
}

// member returns an object's last member of a name, a null if it has none.
func (v *value) member(name string) *value {
	if v.kind == objectValue {
		for i := len(v.children) - 1; i >= 0; i-- {
			if v.children[i].name == name {
				return &v.children[i]
			}
		}
	}
	return &value{}
}

// twin reports whether the i-th child is an object's member with the name of another.
func (v *value) twin(i int) bool {
	c := v.children
	return v.kind == objectValue && (i > 0 && c[i-1].name == c[i].name || i+1 < len(c) && c[i+1].name == c[i].name)
}

// ambiguous reports whether an object of the value has two members whose names are the
// same, or differ in case alone.
func (v *value) ambiguous() bool {
	names := map[string]bool{}
	for i := range v.children {
		c := &v.children[i]
		if v.kind == objectValue {
			name := foldName(c.name)
			if names[name] {
				return true
			}
			names[name] = true
		}
		if c.ambiguous() {
			return true
		}
	}
	return false
}

// foldName returns the same text for names that strings.EqualFold takes for equal.
func foldName(name string) string {
	return strings.Map(func(c rune) rune {
		least := c
		for other := unicode.SimpleFold(c); other != c; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, name)
}

// plain returns the value as the text that is matched: a string's content, nothing
// for null, compact JSON for arrays and objects.
func (v *value) plain() string {
	switch v.kind {
	case arrayValue, objectValue:
		return v.compact()
	}
	return v.text
}

// compact returns the value as JSON without blanks, objects sorted by name.
func (v *value) compact() string { return string(v.appendJSON(nil)) }

func (v *value) appendJSON(b []byte) []byte {
	switch v.kind {
	case nullValue:
		return append(b, "null"...)
	case stringValue:
		return appendString(b, v.text)
	case arrayValue:
		b = append(b, '[')
		for i := range v.children {
			if i > 0 {
				b = append(b, ',')
			}
			b = v.children[i].appendJSON(b)
		}
		return append(b, ']')
	case objectValue:
		b = append(b, '{')
		for i := range v.children {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, v.children[i].name), ':')
			b = v.children[i].appendJSON(b)
		}
		return append(b, '}')
	}
	return append(b, v.text...)
}

// appendString appends a JSON string that escapes only what must be.
func appendString(b []byte, text string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := range len(text) {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' {
			b = append(b, c)
			continue
		}
		if i := strings.IndexByte("\"\\\b\f\n\r\t", c); i >= 0 {
			b = append(b, '\\', "\"\\bfnrt"[i])
			continue
		}
		b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
	}
	return append(b, '"')
}

// isNumber reports whether a text is a JSON number and nothing else.
func isNumber(text string) bool {
	if text == "" || text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return false
	}
	last := text[len(text)-1]
	return last >= '0' && last <= '9' && json.Valid([]byte(text))
}
