package state

import (
	"strings"

	"github.com/reveille-run/reveille/core"
)

// Conflict returns why two patches that were made from the same state cannot be folded in
// either order, to the same state: the first operation of q that does not go with one of p.
// Nil: they can. Only paths are compared: two operations that put the same value at one
// place are a conflict too, and names of members that are digits count as indexes. An
// operation without a valid path is ignored: folding it returns the error.
func (p Patch) Conflict(q Patch) error {
	for _, x := range p {
		for _, y := range q {
			if how := meet(x, y); how != "" {
				return core.Errorf(core.CodeConflict, "%s at %q and %s at %q: %s", x.Op, core.Excerpt(x.Path), y.Op, core.Excerpt(y.Path), how)
			}
		}
	}
	return nil
}

// How two operations meet.
const (
	meetSame   = "both change one place"
	meetAbove  = "the first changes what holds the place of the second"
	meetBelow  = "the first changes a place inside what the second changes"
	meetShift  = "one moves the element of a list that the other names"
	meetAppend = "both add at the end of one list"
)

// meet returns how two operations meet; empty: not at all.
func meet(a, b Operation) string {
	if _, _, err := parsePointer(a.Path); err != nil {
		return ""
	}
	if _, _, err := parsePointer(b.Path); err != nil {
		return ""
	}
	switch {
	case a.Path == b.Path && strings.HasSuffix(a.Path, "/-") && a.Op == opAdd && b.Op == opAdd:
		return meetAppend
	case a.Path == b.Path:
		return meetSame
	case shifts(a, b.Path) || shifts(b, a.Path):
		return meetShift
	case strings.HasPrefix(b.Path, a.Path+"/"):
		return meetAbove
	case strings.HasPrefix(a.Path, b.Path+"/"):
		return meetBelow
	default:
		return ""
	}
}

// shifts reports whether an operation moves the element of a list that another's path
// leads to or through.
func shifts(o Operation, path string) bool {
	if o.Op == opReplace {
		return false
	}
	list, token := cutLast(o.Path)
	rest, inside := strings.CutPrefix(path, list+"/")
	if _, tokens, _ := parsePointer(o.Path); !inside || len(tokens) == 0 {
		return false
	}
	first, _, _ := strings.Cut(rest, "/")
	at, isIndex := parseIndex(token)
	other, otherIsIndex := parseIndex(first)
	if !isIndex || !otherIsIndex {
		return false
	}
	// The other is inside the element when the indexes are one, since its path is not: what
	// is inside an element that is removed is lost, not moved.
	return at < other || at == other && o.Op == opAdd
}

// cutLast splits a pointer before its last token.
func cutLast(pointer string) (parent, token string) {
	i := strings.LastIndexByte(pointer, '/')
	return pointer[:i], pointer[i+1:]
}
