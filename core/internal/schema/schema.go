package schema

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reveille-run/reveille/core"
)

// Schema is a JSON Schema that is ready for use, by several goroutines, too.
type Schema struct {
	root    *jsonschema.Schema
	plain   bool // see plain.go
	places  map[*jsonschema.Schema]*place
	resolve func() (*jsonschema.Resolved, error)
}

// Read reads a schema. A text that is not a JSON Schema and a reference that leads nowhere
// are errors with code invalid, what is beyond a bound is [ErrTooComplex].
func Read(text json.RawMessage) (*Schema, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	root, plain, err := read(text)
	if err != nil {
		return nil, notSchema(err)
	}
	s, err := prepare(root, plain)
	if err != nil {
		return nil, core.Errorf(codeOf(err), "%w", err)
	}
	return s, nil
}

func codeOf(err error) core.Code {
	if errors.Is(err, ErrTooComplex) {
		return core.CodeTooLarge
	}
	return core.CodeInvalid
}

// Type returns the type that a schema names; "" if it names none. The error is one of a
// text that is not an object, or that names several.
func Type(text json.RawMessage) (string, error) {
	var s struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return "", notSchema(err)
	}
	return s.Type, nil
}

// Of returns a schema that a program has made, such as one inferred from a type, and its
// JSON. It must not be changed afterwards. The errors are those of [Read].
func Of(root *jsonschema.Schema) (*Schema, json.RawMessage, error) {
	text, plain, err := write(root)
	if err != nil {
		return nil, nil, err
	}
	s, err := prepare(root, plain)
	return s, text, err
}

// prepare makes a schema ready for use. A plain one is resolved for its first value only.
func prepare(root *jsonschema.Schema, plain bool) (*Schema, error) {
	places, err := bound(root)
	if err != nil {
		return nil, err
	}
	s := &Schema{root: root, plain: plain, places: places}
	s.resolve = sync.OnceValues(func() (*jsonschema.Resolved, error) { return root.Resolve(nil) })
	if !plain {
		_, err = s.resolve()
	}
	return s, err
}

// Check returns an error with code invalid that names the first place where value, as
// encoding/json decodes into an any, does not match; at is what errors call the value, ""
// means the arguments. [ErrTooComplex] is a check that would take too long.
func (s *Schema) Check(at string, value any) error {
	if s.fits(value) {
		return nil
	}
	resolved, err := s.resolve()
	if err != nil {
		return core.Errorf(core.CodeInternal, "%w", err)
	}
	if err := s.measure(value); err != nil {
		return err
	}
	if resolved.Validate(value) == nil {
		return nil
	}
	return core.Errorf(core.CodeInvalid, "%s", s.explain(at, value))
}

// notSchema is the error of a text that does not decode as a schema. The decoder's own
// would name the Go type that it decodes into.
func notSchema(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:]
		return core.Errorf(core.CodeInvalid, "not a JSON Schema: %s is of type %s", cmp.Or(field, "it"), wrong.Value)
	}
	if strings.Contains(err.Error(), "unmarshaled into") { // its integers have a separate decoder
		return core.Errorf(core.CodeInvalid, "not a JSON Schema: a keyword that counts has no whole number")
	}
	return core.Errorf(core.CodeInvalid, "not a JSON Schema: %w", err)
}
