package core

import "unicode"

// invisible are the characters that show nothing: spaces, controls, marks of direction,
// joiners, variation selectors and fillers.
var invisible = []*unicode.RangeTable{
	unicode.White_Space, unicode.Cc, unicode.Cf, unicode.Zs, unicode.Zl, unicode.Zp,
	unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point,
}

// Blank reports whether a text shows nothing to a reader: it is empty, or has invisible
// characters alone.
func Blank(text string) bool {
	for _, c := range text {
		const brailleBlank = 0x2800 // a symbol by its class
		shown := !unicode.In(c, invisible...) || unicode.Is(unicode.Prepended_Concatenation_Mark, c)
		if shown && c != brailleBlank {
			return false
		}
	}
	return true
}
