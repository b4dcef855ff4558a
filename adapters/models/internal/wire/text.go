package wire

import (
	"strings"
	"unicode/utf8"
)

// OneLine makes one line of text, of at most limit bytes and without the marks of
// [MarkHalves]; a truncated text ends in "...".
func OneLine(text string, limit int) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(JoinHalves(text), "?")), " ")
	if len(text) <= limit {
		return text
	}
	cut := limit - len("...")
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "..."
}

// shortKey is the length in bytes below which a key may be a word or a part of one: local
// servers are given keys such as x, test or EMPTY.
const shortKey = 16

// Redact replaces a key in text by ***: servers quote it in their refusals. A key of less
// than 16 bytes is replaced only where it is a whole word, so that the text stays readable.
// An empty key leaves text unchanged.
func Redact(text, key string) string {
	if key == "" {
		return text
	}
	if len(key) >= shortKey {
		return strings.ReplaceAll(text, key, "***")
	}
	var b strings.Builder
	from := 0
	for {
		at := strings.Index(text[from:], key)
		if at < 0 {
			b.WriteString(text[from:])
			return b.String()
		}
		at += from
		end := at + len(key)
		if at > 0 && wordByte(text[at-1]) || end < len(text) && wordByte(text[end]) {
			b.WriteString(text[from : at+1])
			from = at + 1
			continue
		}
		b.WriteString(text[from:at] + "***")
		from = end
	}
}

// wordByte reports whether a word may have the byte: ASCII letters and digits, _ and -, and
// all bytes of other characters.
func wordByte(c byte) bool { return c >= 0x80 || plain(rune(c)) }

// carried reports whether a header can carry text; a line end from a file is what most
// often cannot be.
func carried(text string) bool {
	for _, c := range []byte(text) {
		if c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}
