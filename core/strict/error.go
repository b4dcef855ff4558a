package strict

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/wire"
)

// Error is what is wrong at one place of a JSON value.
type Error struct {
	// Path leads to the place, such as "members[2].weight"; empty: the value as a whole.
	Path string
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
	ownError                 // the cause says what is wrong
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
		in := strings.TrimSuffix(strings.TrimSuffix(e.Path, e.name), ".")
		if in = excerpt(in); in == "" {
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

// within puts the name of the object's member before the path.
func (e *Error) within(name string) *Error {
	switch {
	case e.Path == "":
		e.Path = name
	case e.Path[0] == '[':
		e.Path = name + e.Path
	default:
		e.Path = Join(name, e.Path)
	}
	return e
}

// Join returns the path of an object's member.
func Join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Index returns the path of a list's item.
func Index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// maxPath bounds the path that an error quotes, in bytes: names are as long as whoever
// wrote the JSON likes.
const maxPath = 256

// excerpt shortens a path at its end.
func excerpt(path string) string { return wire.Shorten(path, maxPath) }
