// Package field has the errors of fields of specs: they name the spec and the field, so
// that a reader of spec files can add the file.
package field

import (
	"fmt"

	"github.com/reveille-run/reveille/core"
)

// Error is a field of a spec that is not as it has to be. It comes wrapped in
// a [core.Error] with code invalid.
type Error struct {
	Kind  string // "agent", "model", "pool" or "provider"
	ID    string // empty where the spec has none
	Field string // path within the spec, such as "retry.max_retries" or "members[1].weight"
	Text  string // what is wrong, the field included
}

// Error implements error.
func (e *Error) Error() string {
	if e.ID == "" {
		return e.Text
	}
	return fmt.Sprintf("%s %q: %s", e.Kind, e.ID, e.Text)
}

// Invalid returns an Error with its code; the text continues after the field's name.
func Invalid(kind, id, field, format string, args ...any) error {
	return Said(kind, id, field, field+" "+fmt.Sprintf(format, args...))
}

// Said returns an Error with its code and the whole text.
func Said(kind, id, field, text string) error {
	return core.Errorf(core.CodeInvalid, "%w", &Error{Kind: kind, ID: id, Field: field, Text: text})
}

// CheckID is core.CheckName as an Error: CheckName already quotes an invalid id, so that
// the error does not begin with it.
func CheckID(kind, id string) error {
	if err := core.CheckName(kind+" id", id); err != nil {
		return Said(kind, "", "id", err.Error())
	}
	return nil
}
