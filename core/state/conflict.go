package state

import "strings"

// ConflictKind says in which way two operations of two patches meet.
type ConflictKind string

// The kinds of conflict. Paths alone are looked at: two operations that put the same
// value at one place are a conflict too, and names of members that are digits are
// taken for indexes.
const (
	ConflictSame   ConflictKind = "same_path"   // both change one place
	ConflictAbove  ConflictKind = "above"       // the first changes what holds the place of the second
	ConflictBelow  ConflictKind = "below"       // the first changes a place inside what the second changes
	ConflictShift  ConflictKind = "array_shift" // one adds to or takes from a list before an element that the other names
	ConflictAppend ConflictKind = "both_append" // both add at the end of one list: their order shows
)

// Conflict is an operation of one patch and one of another that do not go together.
type Conflict struct {
	A, B string // their paths
	Kind ConflictKind
}

// Conflicts returns what stands between two patches that were made from the same
// state, by the operations of a and then those of b. When it is empty, they can be
// folded one after the other in either order, to the same state. An operation whose
// path is none is passed over: folding it says what is wrong.
func Conflicts(a, b Patch) []Conflict {
	var found []Conflict
	for _, x := range a {
		for _, y := range b {
			if kind := meet(x, y); kind != "" {
				found = append(found, Conflict{x.Path, y.Path, kind})
			}
		}
	}
	return found
}

// meet returns how two operations meet; empty: not at all.
func meet(a, b Operation) ConflictKind {
	if _, _, err := parsePointer(a.Path); err != nil {
		return ""
	}
	if _, _, err := parsePointer(b.Path); err != nil {
		return ""
	}
	switch {
	case a.Path == b.Path && strings.HasSuffix(a.Path, "/-") && a.Op == OpAdd && b.Op == OpAdd:
		return ConflictAppend
	case a.Path == b.Path:
		return ConflictSame
	case shifts(a, b.Path) || shifts(b, a.Path):
		return ConflictShift
	case strings.HasPrefix(b.Path, a.Path+"/"):
		return ConflictAbove
	case strings.HasPrefix(a.Path, b.Path+"/"):
		return ConflictBelow
	default:
		return ""
	}
}

// shifts reports whether an operation moves the element of a list that another's path
// leads to or through.
func shifts(o Operation, path string) bool {
	if o.Op == OpReplace {
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
	return at < other || at == other && o.Op == OpAdd
}

// cutLast splits a pointer before its last token.
func cutLast(pointer string) (parent, token string) {
	i := strings.LastIndexByte(pointer, '/')
	return pointer[:i], pointer[i+1:]
}
