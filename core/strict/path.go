package strict

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Path leads to a part of a JSON value, such as "members[2].weight"; empty: the whole value.
type Path string

// Member returns the path of a member of the object at p.
func (p Path) Member(name string) Path {
	if p == "" {
		return Path(name)
	}
	return p + "." + Path(name)
}

// Item returns the path of an item of the list at p.
func (p Path) Item(i int) Path { return p + "[" + Path(strconv.Itoa(i)) + "]" }

// join returns the path of the part at rest within the part at p.
func (p Path) join(rest Path) Path {
	switch {
	case rest == "":
		return p
	case rest[0] == '[':
		return p + rest
	}
	return p.Member(string(rest))
}

// Find returns the offset of the part that the path leads to: for an object's member that
// of its name, else that of the value. If the JSON has no such part, found is false and the
// offset that of the nearest part which would contain it. Invalid JSON has no parts.
func (p Path) Find(data []byte) (offset int, found bool) {
	if !json.Valid(data) {
		return 0, false
	}
	f := finder{in: decoder{options: &Options{MaxDepth: len(data)}, data: data}, path: string(p), found: p == ""}
	f.in.skipSpace()
	f.offset = f.in.at
	if !f.found {
		_ = f.search("") // ends when it has found the part, or seen all
	}
	return f.offset, f.found
}

// finder looks for the part that a path leads to. Names may hold dots and brackets: more
// than one part may have a path, of which the first counts.
type finder struct {
	in     decoder
	path   string
	offset int // of the longest path so far that leads to it
	length int // of that path
	found  bool
}

// search looks in the value at a path which leads to the one searched for.
func (f *finder) search(at Path) *Error {
	switch f.in.data[f.in.at] {
	case '{':
		return f.in.object(func(name string, offset int) *Error { return f.visit(at.Member(name), offset) })
	case '[':
		return f.in.list(func(i int) *Error { return f.visit(at.Item(i), f.in.at) })
	}
	f.in.at = endOfValue(f.in.data, f.in.at, 0)
	return nil
}

// visit looks at a part.
func (f *finder) visit(at Path, offset int) *Error {
	rest, leads := strings.CutPrefix(f.path, string(at))
	if !leads || rest != "" && rest[0] != '.' && rest[0] != '[' {
		f.in.at = endOfValue(f.in.data, f.in.at, len(f.in.data))
		return nil
	}
	if len(at) > f.length {
		f.offset, f.length = offset, len(at)
	}
	if f.found = rest == ""; f.found {
		return &Error{} // which ends the search
	}
	return f.search(at)
}
