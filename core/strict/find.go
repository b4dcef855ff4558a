package strict

import (
	"encoding/json"
	"strings"
)

// Find returns the offset of what a path of an [Error], or one made by [Join] and
// [Index], leads to: of an object's member that of its name, else that of the value.
// Where the JSON has no such part, found is false and the offset that of the nearest part
// which would contain it. What is not JSON has no parts.
func Find(data []byte, path string) (offset int, found bool) {
	if !json.Valid(data) {
		return 0, false
	}
	f := finder{in: decoder{options: &Options{MaxDepth: len(data)}, data: data}, path: path, found: path == ""}
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

// search looks in the value that stands at a path which leads to the one searched for.
func (f *finder) search(at string) *Error {
	switch f.in.data[f.in.at] {
	case '{':
		return f.in.object(func(name string, offset int) *Error { return f.visit(Join(at, name), offset) })
	case '[':
		return f.in.list(func(i int) *Error { return f.visit(Index(at, i), f.in.at) })
	}
	f.in.at = endOfValue(f.in.data, f.in.at, 0)
	return nil
}

// visit looks at a part.
func (f *finder) visit(at string, offset int) *Error {
	rest, leads := strings.CutPrefix(f.path, at)
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
