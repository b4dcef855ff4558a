package wire

import (
	"strings"
	"unicode/utf8"
)

// OneLine makes one line of text, of at most limit bytes; a truncated text ends in "...".
func OneLine(text string, limit int) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(text) <= limit {
		return text
	}
	cut := limit - len("...")
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "..."
}

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
