package tool

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reveille-run/reveille/core"
)

// The validator walks objects in map order, so which of two mistakes it reports
// changes from call to call. A result is stored and replayed byte by byte, hence
// this second look at a value that it refused, in a fixed order.

// explain says what is wrong with a refused value: the first mistake, outer
// before inner, properties by name.
func explain(root *jsonschema.Schema, value any) string {
	if text := (explainer{root}).find(root, value, ""); text != "" {
		return core.Shorten(text, maxComplaint)
	}
	return "the value does not match the schema"
}

type explainer struct{ root *jsonschema.Schema }

// find returns "" when it sees no mistake, which the keywords that it does not
// know (combinations, dependencies, patterns of names) may still have.
func (e explainer) find(s *jsonschema.Schema, value any, path string) string {
	if s = e.follow(s); s == nil {
		return ""
	}
	if want := types(s); len(want) > 0 && !slices.ContainsFunc(want, func(t string) bool { return is(value, t) }) {
		return fmt.Sprintf("%s: got %s, want %s", place(path), typeOf(value), strings.Join(want, " or "))
	}
	if text := plain(s, value); text != "" {
		return place(path) + ": " + text
	}
	switch v := value.(type) {
	case map[string]any:
		return e.object(s, v, path)
	case []any:
		for i, item := range v {
			schema := s.Items
			if i < len(s.PrefixItems) {
				schema = s.PrefixItems[i]
			}
			if text := e.find(schema, item, fmt.Sprintf("%s[%d]", path, i)); text != "" {
				return text
			}
		}
	}
	return ""
}

func (e explainer) object(s *jsonschema.Schema, v map[string]any, path string) string {
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			return fmt.Sprintf("%s is missing", place(join(path, name)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		schema, known := s.Properties[name]
		if !known && len(s.PatternProperties) == 0 {
			schema = s.AdditionalProperties
			if refusesAll(schema) {
				return fmt.Sprintf("%s is unknown", place(join(path, name)))
			}
		}
		if text := e.find(schema, v[name], join(path, name)); text != "" {
			return text
		}
	}
	return ""
}

// follow resolves references to the root's definitions; others are not explained.
func (e explainer) follow(s *jsonschema.Schema) *jsonschema.Schema {
	for range 8 {
		if s == nil || s.Ref == "" {
			return s
		}
		if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
			s = e.root.Defs[name]
		} else if name, ok := strings.CutPrefix(s.Ref, "#/definitions/"); ok {
			s = e.root.Definitions[name]
		} else {
			return nil
		}
	}
	return nil
}

// plain checks the keywords that look at the value itself.
func plain(s *jsonschema.Schema, value any) string {
	leaf := jsonschema.Schema{
		Enum: s.Enum, Const: s.Const,
		MultipleOf: s.MultipleOf, Minimum: s.Minimum, Maximum: s.Maximum,
		ExclusiveMinimum: s.ExclusiveMinimum, ExclusiveMaximum: s.ExclusiveMaximum,
		MinLength: s.MinLength, MaxLength: s.MaxLength, Pattern: s.Pattern,
		MinItems: s.MinItems, MaxItems: s.MaxItems, UniqueItems: s.UniqueItems,
		MinProperties: s.MinProperties, MaxProperties: s.MaxProperties,
	}
	resolved, err := leaf.Resolve(nil)
	if err != nil {
		return ""
	}
	if err := resolved.Validate(value); err != nil {
		return strings.TrimPrefix(err.Error(), "validating root: ")
	}
	return ""
}

// refusesAll recognises the schema false.
func refusesAll(s *jsonschema.Schema) bool { return s != nil && s.Not != nil && types(s.Not) == nil }

func types(s *jsonschema.Schema) []string {
	if s.Type != "" {
		return []string{s.Type}
	}
	return s.Types
}

func is(value any, want string) bool {
	got := typeOf(value)
	return got == want || got == "integer" && want == "number"
}

func typeOf(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case float64:
		if v == math.Trunc(v) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func place(path string) string {
	if path == "" {
		return "the arguments"
	}
	return fmt.Sprintf("property %q", path)
}
