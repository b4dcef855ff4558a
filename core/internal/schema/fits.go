package schema

import (
	"math"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// Most calls have a few short arguments that match a plain schema, and package jsonschema
// allocates some thirty objects to say so. Such values are accepted here. Everything else is
// that package's: an error and its text, a large value, and enumerations.

// The largest value that is looked at here: far below the bounds of [Schema.Check].
const (
	maxFitting      = 1000     // values in it
	maxFittingTexts = 64 << 10 // bytes of its texts and names together
)

// fitting is the rest of both.
type fitting struct{ values, texts int }

// fits reports that a small value matches a plain schema; false: package jsonschema decides.
func (s *Schema) fits(value any) bool {
	rest := fitting{maxFitting, maxFittingTexts}
	return s.plain && rest.match(s.root, value)
}

func (f *fitting) match(s *jsonschema.Schema, value any) bool {
	if f.values--; f.values < 0 || s.Not != nil || s.Enum != nil {
		return false
	}
	if s.Type != "" && !isOf(value, s.Type) {
		return false
	}
	if s.Types != nil && !slices.ContainsFunc(s.Types, func(t string) bool { return isOf(value, t) }) {
		return false
	}
	switch v := value.(type) {
	case nil, bool:
		return true
	case string:
		f.texts -= len(v)
		return f.texts >= 0
	case float64:
		return (s.Minimum == nil || v >= *s.Minimum) && (s.Maximum == nil || v <= *s.Maximum)
	case []any:
		return f.items(s.Items, v)
	case map[string]any:
		return f.members(s, v)
	}
	return false // as no decoder of JSON makes it
}

// isOf reports whether a value is of the type that a schema names.
func isOf(value any, name string) bool {
	switch v := value.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case string:
		return name == "string"
	case float64:
		return name == "number" || name == "integer" && v == math.Trunc(v)
	case []any:
		return name == "array"
	case map[string]any:
		return name == "object"
	}
	return false
}

func (f *fitting) items(s *jsonschema.Schema, list []any) bool {
	if s == nil {
		return len(list) == 0 // else they are not looked at, and may be large
	}
	for _, item := range list {
		if !f.match(s, item) {
			return false
		}
	}
	return true
}

func (f *fitting) members(s *jsonschema.Schema, object map[string]any) bool {
	for _, name := range s.Required {
		if _, ok := object[name]; !ok {
			return false
		}
	}
	for name, value := range object {
		if f.texts -= len(name); f.texts < 0 {
			return false
		}
		of := s.Properties[name]
		if of == nil {
			of = s.AdditionalProperties
		}
		if of == nil || !f.match(of, value) { // nil: the member is not looked at, and may be large
			return false
		}
	}
	return true
}
