package strict

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/wire"
)

// Error is what is wrong at one place of a JSON value.
type Error struct {
	// Path leads to the place, such as "members[2].weight"; empty: the value as a whole.
	Path Path
	// Offset is the byte of the JSON, from 0, at which it is: the first of a value that is
	// wrong, of the name of a field that is unknown or given twice, of the object that
	// lacks a field.
	Offset int

	kind  kind
	text  string // what is wrong, and what is allowed
	name  string // of a field that is unknown; the path ends in it
	whole string // what the value as a whole is called; empty: value
	cause error  // from a type that decodes itself, from encoding/json or Options.Stop
}

type kind uint8

const (
	wrongValue   kind = iota // the text follows the path
	unknownField             // the text follows the name of the field
	ownError                 // the cause has the text
	stopped                  // the cause is that of Options.Stop, and nothing is wrong
)

// Errorf returns an error for a json.Unmarshaler whose text follows the path of its value,
// such as "is 5, want a level". %w wraps as in fmt.Errorf.
func Errorf(format string, args ...any) error { return problem(0, format, args...) }

// problem is an error whose text follows its path.
func problem(offset int, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Offset: offset, text: err.Error(), cause: errors.Unwrap(err)}
}

func tooDeep(offset, most int) *Error {
	return problem(offset, "is nested more than %d deep at byte %d", most, offset+1)
}

// Error implements error.
func (e *Error) Error() string {
	switch {
	case e.kind == unknownField:
		in := strings.TrimSuffix(strings.TrimSuffix(string(e.Path), e.name), ".")
		if in = excerpt(Path(in)); in == "" {
			in = e.whole
		}
		if in != "" {
			in = " in " + in
		}
		return fmt.Sprintf("unknown field %q%s, %s", core.Excerpt(e.name), in, e.text)
	case e.kind == wrongValue:
		return cmp.Or(excerpt(e.Path), e.whole, "value") + " " + e.text
	case e.Path == "":
		return e.cause.Error()
	}
	return excerpt(e.Path) + ": " + e.cause.Error()
}

// Unwrap returns the error of a type that decodes itself, of Options.Stop, or of
// encoding/json about syntax; nil for others.
func (e *Error) Unwrap() error { return e.cause }

// As implements what errors.As asks for: the error has code invalid as [core.CodeOf] has
// it, unless its cause has another.
func (e *Error) As(target any) bool {
	to, ok := target.(**core.Error)
	if !ok || e.kind == stopped || errors.As(e.cause, to) {
		return ok && e.kind != stopped
	}
	*to = &core.Error{Code: core.CodeInvalid, Message: e.Error()}
	return true
}

// of names the value as a whole.
func (e *Error) of(name string) *Error {
	e.whole = name
	return e
}

// Within puts the name of a member before the path, for an error of what was decoded apart
// from its object. It returns the error.
func (e *Error) Within(name string) *Error {
	e.Path = Path(name).join(e.Path)
	return e
}

// Unknown reports whether it is about a field that is unknown.
func (e *Error) Unknown() bool { return e.kind == unknownField }

// Line returns the line and the column of the place in the JSON, both from 1. Columns count
// bytes.
func (e *Error) Line(data []byte) (line, column int) {
	before := data[:min(max(e.Offset, 0), len(data))]
	return bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}

// maxPath bounds the path that an error quotes, in bytes: names have any length that the
// author of the JSON likes.
const maxPath = 256

// excerpt shortens a path at its end.
func excerpt(path Path) string { return wire.Shorten(string(path), maxPath) }
