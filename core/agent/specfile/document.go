package specfile

import (
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core/internal/field"
	"github.com/reveille-run/reveille/core/strict"
)

// maxDepth bounds how deep lists and objects nest.
const maxDepth = 64

// place is a place in a file, from 1. The column counts bytes in JSON and characters in
// YAML.
type place struct{ line, column int }

// placed is an error of a parser.
type placed struct {
	at    place
	cause error
}

func (p *placed) Error() string { return p.cause.Error() }

// errorAt makes an error of a parser, which does not know the file's name.
func errorAt(at place, format string, args ...any) error {
	return &placed{at: at, cause: fmt.Errorf(format, args...)}
}

// document is one of a file, as JSON.
type document struct {
	file string
	json []byte
	// find returns the place of the part that a path leads to, of an object's member that
	// of its name; where the file leaves it out, that of the nearest part which would
	// contain it. It takes as long as reading the document does.
	find func(strict.Path) place
}

// part is one of a document.
type part struct {
	of   document
	path strict.Path
}

// String returns the place of a part, for an error about another one.
func (p part) String() string {
	at := p.of.find(p.path)
	return fmt.Sprintf("%s:%d:%d", p.of.file, at.line, at.column)
}

// failed adds to the error of the part at path its place in the file.
func (d document) failed(path strict.Path, err error) error {
	var decoding *strict.Error
	if errors.As(err, &decoding) {
		return failed(d.file, d.find(under(path, decoding.Path)), decoding)
	}
	var field *field.Error
	if errors.As(err, &field) {
		return failed(d.file, d.find(under(path, strict.Path(field.Field))), field)
	}
	return failed(d.file, d.find(path), err)
}

// under is the path of a part within the part at path.
func under(path, rest strict.Path) strict.Path {
	if rest == "" {
		return path
	}
	return path.Member(string(rest))
}
