package tool

import (
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reveille-run/reveille/core"
)

// CheckJSON checks a value that no model made, such as the payload of a
// decision, against a JSON Schema; name is what errors call the value. A value
// that does not match is an error with code invalid that names the place, a
// schema that cannot be used one with code internal.
func CheckJSON(name string, schema, value json.RawMessage) error {
	s := &jsonschema.Schema{}
	if err := json.Unmarshal(schema, s); err != nil {
		return core.Errorf(core.CodeInternal, "schema of %s: %w", name, err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return core.Errorf(core.CodeInternal, "schema of %s: %w", name, err)
	}
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return core.Errorf(core.CodeInvalid, "%s is not JSON: %w", name, err)
	}
	if resolved.Validate(v) == nil {
		return nil
	}
	text := explainer{s}.find(s, v, name)
	if text == "" {
		text = name + " does not match its schema"
	}
	return core.Errorf(core.CodeInvalid, "%s", shorten(text))
}
