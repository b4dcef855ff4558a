package permission

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// fold returns one text for all texts that a denying rule must take for the same. It
// removes case, the forms in which Unicode writes a character (é as one or as two, ｒ for
// r), and invisible characters, which some file systems ignore in names.
func fold(text string) string {
	if ascii(text) {
		return strings.ToLower(text)
	}
	return norm.NFKC.String(strings.Map(foldRune, norm.NFKD.String(text)))
}

func ascii(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// foldRune returns the same character for those that differ in case alone, in lower case
// where that is ASCII, and -1 for one that is not seen.
func foldRune(c rune) rune {
	if unicode.In(c, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
		return -1
	}
	least := c
	for other := unicode.SimpleFold(c); other != c; other = unicode.SimpleFold(other) {
		least = min(least, other)
	}
	if least < utf8.RuneSelf {
		return unicode.ToLower(least)
	}
	return least
}
