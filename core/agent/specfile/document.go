package specfile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/agent/internal/strict"
)

// maxDepth bounds how deep lists and objects nest.
const maxDepth = 64

// place is where something stands in a file, from 1. The column counts bytes in JSON
// and characters in YAML.
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

// document is one of a file, as JSON, with the places of its parts by their paths.
// Those of an object's members are the places of their names.
type document struct {
	file string
	json []byte
	at   map[string]place
}

// has reports whether the document has a value at the path, null included.
func (d document) has(path string) bool {
	_, ok := d.at[path]
	return ok
}

// find returns the place of the path or, where a file leaves it out, of the nearest
// part that would contain it.
func (d document) find(path string) place {
	for {
		if at, ok := d.at[path]; ok || path == "" {
			return at
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
}

// where is the place of a path for an error about another one.
func (d document) where(path string) string {
	at := d.find(path)
	return fmt.Sprintf("%s:%d:%d", d.file, at.line, at.column)
}

// failed says where in the file the error of the part at path is.
func (d document) failed(path string, err error) error {
	var decoding *strict.Error
	if errors.As(err, &decoding) {
		return failed(d.file, d.find(under(path, decoding.Path)), decoding)
	}
	var field *agent.FieldError
	if errors.As(err, &field) {
		return failed(d.file, d.find(under(path, field.Field)), field)
	}
	return failed(d.file, d.find(path), err)
}

// under is the path of a part within the part at path.
func under(path, rest string) string {
	if rest == "" {
		return path
	}
	return strict.Join(path, rest)
}
