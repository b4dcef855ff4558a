package main

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
)

// identity is how equivalent.txt names a mutant: by what it changes where, not
// by a line number.
type identity struct {
	file     string // from the module's root
	where    string // the function, or the constant or variable
	operator string
	before   string // the changed lines without comments, spaces folded
	after    string
	nth      int // from 1: which of those in the function that look the same
}

// String returns the mutant's entry in equivalent.txt, without the reason.
func (id identity) String() string {
	nth := ""
	if id.nth > 1 {
		nth = fmt.Sprintf(" #%d", id.nth)
	}
	return fmt.Sprintf("%s %s %s%s\n- %s\n+ %s", id.file, id.where, id.operator, nth, id.before, id.after)
}

// rank orders mutants at random, but the same mutant always in the same place.
func (id identity) rank(seed uint64) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\n%s", seed, id))
	return binary.BigEndian.Uint64(sum[:])
}

// mutant is one change of one file.
type mutant struct {
	identity
	code  *code
	line  int
	edit  edit
	named bool // made by hand
}

// edit replaces the bytes from start to end.
type edit struct {
	start, end int
	text       string
}

func (e edit) apply(text string) string { return text[:e.start] + e.text + text[e.end:] }

// describe fills in how the edit reads: the lines that it touches.
func (m *mutant) describe() {
	from := strings.LastIndexByte(m.code.text[:m.edit.start], '\n') + 1
	to := len(m.code.text)
	if i := strings.IndexByte(m.code.text[m.edit.end:], '\n'); i >= 0 {
		to = m.edit.end + i
	}
	// In bare the comments are blanked out, byte for byte.
	m.before = fold(m.code.bare[from:to])
	m.after = fold(m.code.bare[from:m.edit.start] + m.edit.text + m.code.bare[m.edit.end:to])
}

func fold(s string) string { return strings.Join(strings.Fields(s), " ") }
