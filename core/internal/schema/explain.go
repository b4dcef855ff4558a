package schema

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/reveille-run/reveille/core/internal/wire"
)

// maxComplaint bounds, in bytes, an error that may quote the value; the names come first.
const maxComplaint = 500

// The validator walks objects in map order, so which of two mistakes it reports
// changes from call to call. A result is stored and replayed byte by byte, hence
// this second look at a value that it refused, in a fixed order.

// explain describes a refused value: the first mistake, outer before inner, properties by
// name.
func (s *Schema) explain(at string, value any) string {
	e := explainer{s.root, map[*jsonschema.Schema]*jsonschema.Resolved{}}
	found := e.find(s.root, value)
	if found == nil {
		if at == "" {
			return "the value does not match the schema"
		}
		return at + " does not match its schema"
	}
	return wire.Shorten(found.say(at), maxComplaint)
}

// mistake is a mistake with its place: the last name or index of the place comes first.
type mistake struct {
	within []string
	text   string
}

func wrong(format string, arguments ...any) *mistake {
	return &mistake{text: fmt.Sprintf(format, arguments...)}
}

// in returns the mistake one place further out; nil: no mistake.
func (m *mistake) in(name string) *mistake {
	if m != nil {
		m.within = append(m.within, name)
	}
	return m
}

func (m *mistake) say(at string) string {
	for _, name := range slices.Backward(m.within) {
		if at != "" && name[0] != '[' {
			at += "."
		}
		at += strings.TrimPrefix(name, ".")
	}
	if at == "" {
		return "the arguments" + m.text
	}
	return fmt.Sprintf("property %q%s", at, m.text)
}

type explainer struct {
	root   *jsonschema.Schema
	leaves map[*jsonschema.Schema]*jsonschema.Resolved // see plain
}

// find returns nil when it sees no mistake, which the keywords that it does not
// know (combinations, dependencies, patterns of names) may still have.
func (e explainer) find(s *jsonschema.Schema, value any) *mistake {
	if s = e.follow(s); s == nil {
		return nil
	}
	if want := types(s); len(want) > 0 && !slices.ContainsFunc(want, func(t string) bool { return is(value, t) }) {
		return wrong(": got %s, want %s", typeOf(value), strings.Join(want, " or "))
	}
	if text := e.plain(s, value); text != "" {
		return wrong(": %s", text)
	}
	switch v := value.(type) {
	case map[string]any:
		return e.object(s, v)
	case []any:
		for i, item := range v {
			schema := s.Items
			if i < len(s.PrefixItems) {
				schema = s.PrefixItems[i]
			}
			if found := e.find(schema, item); found != nil {
				return found.in(fmt.Sprintf("[%d]", i))
			}
		}
	}
	return nil
}

func (e explainer) object(s *jsonschema.Schema, v map[string]any) *mistake {
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			return wrong(" is missing").in("." + name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		schema, known := s.Properties[name]
		if !known && len(s.PatternProperties) == 0 {
			schema = s.AdditionalProperties
			if refusesAll(schema) {
				return wrong(" is unknown").in("." + name)
			}
		}
		if found := e.find(schema, v[name]); found != nil {
			return found.in("." + name)
		}
	}
	return nil
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

// plain checks the keywords that look at the value itself. A schema that applies to many
// values is compiled for the first.
func (e explainer) plain(s *jsonschema.Schema, value any) string {
	leaf, made := e.leaves[s]
	if !made {
		leaf, _ = (&jsonschema.Schema{
			Enum: s.Enum, Const: s.Const,
			MultipleOf: s.MultipleOf, Minimum: s.Minimum, Maximum: s.Maximum,
			ExclusiveMinimum: s.ExclusiveMinimum, ExclusiveMaximum: s.ExclusiveMaximum,
			MinLength: s.MinLength, MaxLength: s.MaxLength, Pattern: s.Pattern,
			MinItems: s.MinItems, MaxItems: s.MaxItems, UniqueItems: s.UniqueItems,
			MinProperties: s.MinProperties, MaxProperties: s.MaxProperties,
		}).Resolve(nil)
		e.leaves[s] = leaf
	}
	if leaf == nil {
		return ""
	}
	if err := leaf.Validate(value); err != nil {
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
