package pattern

import (
	"strings"
	"unicode/utf8"
)

// glob is a compiled text with wildcards: the pieces between its stars. It never goes back
// further than to the last star, so its cost grows with the text times
// the longest piece and not with the number of stars.
type glob struct{ pieces []piece }

// piece is a run of wildcards other than *, or of literal text.
type piece struct {
	literal string
	items   []item // in place of literal where it has a ? or a class
}

// item matches one character.
type item struct {
	class *class // nil: exactly char, or any where that is anyChar
	char  rune
}

// class is the content of brackets.
type class struct {
	negated bool
	anyCase bool
	ranges  [][2]rune // first and last, both included
}

const (
	anyChar = -1
	noChar  = -2 // a byte of the text that is not UTF-8: only ?, * and negated classes match it
)

// compileGlob reads a glob. The error says at which byte of the text.
func compileGlob(text string) (glob, *fault) {
	var g glob
	var items []item
	for i := 0; i < len(text); {
		c, width := utf8.DecodeRuneInString(text[i:])
		switch c {
		case '*':
			g.pieces = append(g.pieces, newPiece(items))
			items = nil
		case '?':
			items = append(items, item{char: anyChar})
		case '[':
			end, f := classEnd(text, i)
			if f != nil {
				return glob{}, f
			}
			set, f := compileClass(text[:end], i+1)
			if f != nil {
				return glob{}, f
			}
			items = append(items, item{class: set})
			width = end + 1 - i
		case '\\':
			if f := checkBackslash(text, i); f != nil {
				return glob{}, f
			}
			fallthrough
		default:
			items = append(items, item{char: c})
		}
		i += width
	}
	g.pieces = append(g.pieces, newPiece(items))
	return g, nil
}

// checkBackslash refuses what half of its readers would take for an escape and the
// other half for a path of Windows: as a deny rule, either reading may match nothing.
func checkBackslash(text string, at int) *fault {
	if at+1 < len(text) && strings.IndexByte("*?[", text[at+1]) >= 0 {
		return faultf(at, `\%c is ambiguous: write [%c] for the character itself, [\]%c for a backslash and the wildcard`, text[at+1], text[at+1], text[at+1])
	}
	return nil
}

// classEnd returns the place of the ] of the class that starts at a byte. A ] directly
// after the start is one of its characters.
func classEnd(text string, at int) (int, *fault) {
	first := at + 1
	if first < len(text) && (text[first] == '!' || text[first] == '^') {
		first++
	}
	if first+1 < len(text) {
		if n := strings.IndexByte(text[first+1:], ']'); n >= 0 {
			return first + 1 + n, nil
		}
	}
	return 0, faultf(at, "[ starts a class without a closing ], write [[] for the character")
}

// compileClass reads the class that goes from a byte to the end of the text.
func compileClass(text string, at int) (*class, *fault) {
	set := &class{}
	if text[at] == '!' || text[at] == '^' {
		set.negated = true
		at++
	}
	for at < len(text) {
		begin := at
		low, width := utf8.DecodeRuneInString(text[at:])
		high := low
		at += width
		if at+1 < len(text) && text[at] == '-' {
			high, width = utf8.DecodeRuneInString(text[at+1:])
			at += 1 + width
		}
		if high < low {
			return nil, faultf(begin, "range %c-%c is in the wrong order", low, high)
		}
		set.ranges = append(set.ranges, [2]rune{low, high})
	}
	return set, nil
}

func newPiece(items []item) piece {
	var literal strings.Builder
	for _, it := range items {
		if it.class != nil || it.char == anyChar {
			return piece{items: items}
		}
		literal.WriteRune(it.char)
	}
	return piece{literal: literal.String()}
}

// match reports whether the glob matches the whole text.
func (g glob) match(text string) bool {
	n, ok := g.pieces[0].prefix(text)
	if len(g.pieces) == 1 || !ok {
		return ok && n == len(text)
	}
	text = text[n:]
	last := len(g.pieces) - 1
	if n, ok = g.pieces[last].suffix(text); !ok {
		return false
	}
	text = text[:len(text)-n]
	for i := range g.pieces[1:last] {
		// The earliest place leaves the most for later pieces.
		end := g.pieces[1+i].find(text)
		if end < 0 {
			return false
		}
		text = text[end:]
	}
	return true
}

// prefix reports whether the text begins with the piece, and how many bytes it takes.
func (p *piece) prefix(text string) (int, bool) {
	if p.items == nil {
		return len(p.literal), strings.HasPrefix(text, p.literal)
	}
	at := 0
	for i := range p.items {
		if at == len(text) {
			return 0, false
		}
		c, width := decode(text[at:])
		if !p.items[i].match(c) {
			return 0, false
		}
		at += width
	}
	return at, true
}

// suffix reports whether the text ends with the piece, and how many bytes it takes.
func (p *piece) suffix(text string) (int, bool) {
	if p.items == nil {
		return len(p.literal), strings.HasSuffix(text, p.literal)
	}
	from := len(text)
	for range p.items {
		if from == 0 {
			return 0, false
		}
		_, width := utf8.DecodeLastRuneInString(text[:from])
		from -= width
	}
	return p.prefix(text[from:])
}

// find returns where the piece's first occurrence in the text ends, -1 for none.
func (p *piece) find(text string) int {
	if p.items == nil {
		at := strings.Index(text, p.literal)
		if at < 0 {
			return -1
		}
		return at + len(p.literal)
	}
	for at := 0; at < len(text); {
		if n, ok := p.prefix(text[at:]); ok {
			return at + n
		}
		_, width := utf8.DecodeRuneInString(text[at:])
		at += width
	}
	return -1
}

// decode returns the first character of a text that is not empty.
func decode(text string) (rune, int) {
	if c := text[0]; c < utf8.RuneSelf {
		return rune(c), 1
	}
	c, width := utf8.DecodeRuneInString(text)
	if c == utf8.RuneError && width == 1 {
		return noChar, 1
	}
	return c, width
}

func (it *item) match(c rune) bool {
	if it.class == nil {
		return it.char == anyChar || it.char == c
	}
	return it.class.match(c)
}
