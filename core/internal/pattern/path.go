package pattern

import (
	"strconv"
	"strings"
)

// path leads from a JSON value to some within it.
type path []step

type step struct {
	kind  stepKind
	name  string
	index int
}

type stepKind uint8

const (
	nameStep stepKind = iota
	anyNameStep
	indexStep
	anyIndexStep
)

// pathCharacters may occur in a path. A text that starts with some of them and continues
// with an operator is meant as a condition.
const pathCharacters = nameCharacters + ".*[]"

const nameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// span returns how many bytes of the text's beginning are of a set.
func span(text, set string) int {
	return len(text) - len(strings.TrimLeft(text, set))
}

// parsePath reads a path. The fault says at which byte of it.
func parsePath(text string) (path, *fault) {
	var p path
	for at := 0; ; {
		n := span(text[at:], nameCharacters)
		switch {
		case n > 0:
			p = append(p, step{kind: nameStep, name: text[at : at+n]})
		case strings.HasPrefix(text[at:], "*"):
			n = 1
			p = append(p, step{kind: anyNameStep})
		default:
			return nil, faultf(at, "want a field name of A-Z a-z 0-9 _ - or *")
		}
		at += n
		for at < len(text) && text[at] == '[' {
			s, n, f := parseIndex(text, at)
			if f != nil {
				return nil, f
			}
			p = append(p, s)
			at += n
		}
		if at == len(text) {
			return p, nil
		}
		if text[at] != '.' {
			return nil, faultf(at, "want . and a field name, [n], [*] or an operator after a field")
		}
		at++
	}
}

// parseIndex reads [n] or [*] at a byte, and returns its length too.
func parseIndex(text string, at int) (step, int, *fault) {
	if strings.HasPrefix(text[at:], "[*]") {
		return step{kind: anyIndexStep}, len("[*]"), nil
	}
	n := span(text[at+1:], "0123456789")
	end := at + 1 + n
	if n == 0 || n > 9 || end == len(text) || text[end] != ']' {
		return step{}, 0, faultf(at, "want [n] with n from 0 to 999999999, or [*]")
	}
	index, _ := strconv.Atoi(text[at+1 : end]) // nine digits always fit
	return step{kind: indexStep, index: index}, n + len("[]"), nil
}

// String returns the path as it is parsed.
func (p path) String() string {
	var b strings.Builder
	for i, s := range p {
		if i > 0 && (s.kind == nameStep || s.kind == anyNameStep) {
			b.WriteByte('.')
		}
		switch s.kind {
		case nameStep:
			b.WriteString(s.name)
		case anyNameStep:
			b.WriteByte('*')
		case indexStep:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case anyIndexStep:
			b.WriteString("[*]")
		}
	}
	return b.String()
}
