package schema

import (
	"encoding/json"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
)

// Infer returns the schema of the JSON of a type, which [Of] makes ready for use. The error
// is about a type without a schema.
func Infer(of reflect.Type) (*jsonschema.Schema, error) {
	s, err := jsonschema.ForType(of, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {}, // any JSON, not an array of bytes
	}})
	if err != nil {
		return nil, err
	}
	dropNullArrays(s)
	return s, nil
}

// dropNullArrays removes the null that inference allows for a nil slice: arguments come
// from a model, and several providers refuse a list of types.
func dropNullArrays(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && s.Types[0] == "null" && s.Types[1] == "array" {
		s.Type, s.Types = "array", nil
	}
	for _, property := range s.Properties {
		dropNullArrays(property)
	}
	dropNullArrays(s.Items)
	dropNullArrays(s.AdditionalProperties)
}
