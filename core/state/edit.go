package state

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// The errors of an edit, of code invalid. Each is wrapped with the edit, its path and what
// is there.
var (
	// errWrongType is an edit of something that it does not work on: an increment of
	// a text, a member of a list.
	errWrongType = core.Errorf(core.CodeInvalid, "wrong type")
	// errOutOfRange is an index that a list does not have, or a sum that is no longer a
	// number.
	errOutOfRange = core.Errorf(core.CodeInvalid, "out of range")
	// errMissing is an edit of what must be there, and is not.
	errMissing = core.Errorf(core.CodeInvalid, "nothing is there")
	// errNoLattice is a join at a path for which the document declares no lattice.
	errNoLattice = core.Errorf(core.CodeInvalid, "no lattice is declared there")
)

// The edits of a document. Some create a missing value; the others change an existing one.
const (
	editSet       = "set"           // sets a member or element; creates the objects that lead to it
	editDelete    = "delete"        // removes a member or element; nothing, if it is missing
	editAppend    = "append"        // adds at the end of a list; creates it
	editMerge     = "merge_object"  // sets the given members; creates the object
	editIncrement = "increment"     // adds to a number
	editDecrement = "decrement"     // subtracts from a number
	editInsert    = "insert"        // puts an element before the one at an index, or at the end
	editRemove    = "remove"        // removes the first element that is equal; nothing, when none is
	editJoin      = "lattice_merge" // merges into a lattice; creates it
)

// Edit is one change inside a document: see [Document]. It is made by a method of
// [Path].
type Edit struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`            // a JSON pointer; empty: the whole document
	Index int             `json:"index,omitempty"` // of an insert
	Value json.RawMessage `json:"value,omitempty"`

	err error // the value cannot be expressed as JSON
}

// MarshalJSON implements json.Marshaler. It returns what went wrong when the edit was
// made, so that it becomes the error of the command.
func (e Edit) MarshalJSON() ([]byte, error) {
	if e.err != nil {
		return nil, e.err
	}
	type plain Edit
	return core.EncodeJSON(plain(e))
}

// Path is a place in a document. The zero Path is the whole of it.
type Path struct {
	pointer string
}

// At returns the path of a member, through the objects that the names before it lead
// to. An element of a list is reached by [Path.Index].
func At(names ...string) Path { return Path{}.Member(names...) }

// Member returns the path of a member below p.
func (p Path) Member(names ...string) Path {
	for _, name := range names {
		p.pointer = extend(p.pointer, name)
	}
	return p
}

// Index returns the path of an element below p, counted from 0.
func (p Path) Index(i int) Path { return p.Member(strconv.Itoa(i)) }

// String returns the path as a JSON pointer.
func (p Path) String() string { return p.pointer }

// Set returns the edit that puts a value at the path, and replaces any other. Objects on
// the way that are missing or null are created; an element must be there already. A
// scalar on the way is the wrong type, an index that the list does not have
// out of range.
func (p Path) Set(value any) Edit { return p.edit(editSet, value) }

// Delete returns the edit that removes what is at the path, if there is something.
// The whole document becomes null.
func (p Path) Delete() Edit { return Edit{Op: editDelete, Path: p.pointer} }

// Append returns the edit that adds an element at the end of the list at the path, which is
// created if it is missing. Any other value there is the wrong type.
func (p Path) Append(element any) Edit { return p.edit(editAppend, element) }

// Merge returns the edit that sets the members of an object at the path, one level deep,
// and keeps its other members. A missing object is created. Any other value there, and a
// value that does not encode as an object, is the wrong type.
func (p Path) Merge(members any) Edit { return p.edit(editMerge, members) }

// Increment returns the edit that adds to the number at the path. A missing number is
// missing, another value is the wrong type, a sum of two integers over 64 bits is out of
// range.
func (p Path) Increment(by int64) Edit { return p.edit(editIncrement, by) }

// Decrement returns the edit that subtracts from the number at the path, with the
// errors of [Path.Increment].
func (p Path) Decrement(by int64) Edit { return p.edit(editDecrement, by) }

// IncrementFloat is [Path.Increment] by a fraction; a negative one decrements.
func (p Path) IncrementFloat(by float64) Edit { return p.edit(editIncrement, by) }

// Insert returns the edit that puts an element into the list at the path, before the one
// with the index; the list's length is the index of its end. A missing list is missing,
// another value is the wrong type, another index is out of range.
func (p Path) Insert(index int, element any) Edit {
	e := p.edit(editInsert, element)
	e.Index = index
	return e
}

// Remove returns the edit that removes the first element of the list at the path that is
// equal to the given one, if there is one. A missing list is missing, any other value is
// the wrong type.
func (p Path) Remove(element any) Edit { return p.edit(editRemove, element) }

// Join returns the edit that merges a value into the lattice at the path, which is created
// if it is missing. A path must have a lattice that the document declares. A value that is
// invalid for the lattice, there or given, is the wrong type.
func (p Path) Join(delta any) Edit { return p.edit(editJoin, delta) }

func (p Path) edit(op string, value any) Edit {
	raw, err := core.EncodeJSON(value)
	return Edit{Op: op, Path: p.pointer, Value: raw, err: err}
}

// tokens splits the path of an edit.
func (e Edit) tokens() ([]string, error) {
	if e.Path == "" {
		return nil, nil
	}
	rest, found := strings.CutPrefix(e.Path, "/")
	if !found {
		return nil, core.Errorf(core.CodeInvalid, "the path does not begin with a slash")
	}
	tokens := strings.Split(rest, "/")
	for i, token := range tokens {
		tokens[i] = unescaper.Replace(token)
		if escaper.Replace(tokens[i]) != token {
			return nil, core.Errorf(core.CodeInvalid, "the path has a tilde that escapes nothing")
		}
	}
	return tokens, nil
}
