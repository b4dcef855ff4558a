package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reveille-run/reveille/core"
)

// schemas makes the schemas of types. Each struct becomes a component, which others
// refer to.
type schemas struct {
	problem    reflect.Type
	source     *source
	components map[string]*jsonschema.Schema
	responses  map[string]response     // by the name of their component
	made       map[reflect.Type]string // names of components
}

// namePattern is core.CheckName's, but for the two names that vanish from a path.
const namePattern = `^[A-Za-z0-9._:-]{1,128}$`

// written are types whose JSON reflection does not show.
func written(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[core.ID]():
		return &jsonschema.Schema{Type: "string", Format: "uuid"}
	case reflect.TypeFor[core.USD]():
		return &jsonschema.Schema{Type: "number"}
	case reflect.TypeFor[core.Cost]():
		return &jsonschema.Schema{Types: []string{"number", "null"}}
	case reflect.TypeFor[core.Millis]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case reflect.TypeFor[json.RawMessage]():
		return anything()
	case reflect.TypeFor[[]byte]():
		return &jsonschema.Schema{Type: "string", ContentEncoding: "base64"}
	}
	switch t.Name() {
	case "chosenName":
		return &jsonschema.Schema{Type: "string", Pattern: namePattern, Not: &jsonschema.Schema{Enum: []any{".", ".."}}}
	case "optionalName":
		return &jsonschema.Schema{Type: "string", Pattern: strings.Replace(namePattern, "{1,", "{0,", 1), Not: &jsonschema.Schema{Enum: []any{".", ".."}}}
	case "anyJSON":
		return anything()
	case "argumentsObject":
		return &jsonschema.Schema{Type: "object"}
	case "titleText":
		return &jsonschema.Schema{Types: []string{"string", "null"}, MinLength: jsonschema.Ptr(1), MaxLength: jsonschema.Ptr(200)}
	case "metadataObject":
		return &jsonschema.Schema{Types: []string{"object", "null"}, MaxProperties: jsonschema.Ptr(64)}
	}
	return nil
}

// of returns the schema of a type where it is used.
func (s *schemas) of(t reflect.Type) (*jsonschema.Schema, error) {
	if known := written(t); known != nil {
		return known, nil
	}
	switch {
	case t.Kind() == reflect.Pointer:
		return s.of(t.Elem())
	case t.Name() == "inputContent":
		return s.content(t)
	case t.Kind() == reflect.Struct:
		return s.component(t)
	case t.Kind() == reflect.Slice:
		items, err := s.of(t.Elem())
		return &jsonschema.Schema{Type: "array", Items: items}, err
	case t.Kind() == reflect.Map:
		values, err := s.of(t.Elem())
		return &jsonschema.Schema{Type: "object", AdditionalProperties: values}, err
	case t.Kind() == reflect.String && t.PkgPath() != "":
		return s.enum(t)
	}
	return jsonschema.ForType(t, nil)
}

// content is the content of a message: a text, or blocks, at least one of which is a file
// or not blank.
func (s *schemas) content(t reflect.Type) (*jsonschema.Schema, error) {
	block, err := s.component(t.Elem())
	if err != nil {
		return nil, err
	}
	s.components[s.made[t.Elem()]].AdditionalProperties = never()
	said := &jsonschema.Schema{Type: "string", Pattern: `\S`}
	file := &jsonschema.Schema{Enum: []any{"file"}}
	something := &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		{Required: []string{"text"}, Properties: map[string]*jsonschema.Schema{"text": said}},
		{Properties: map[string]*jsonschema.Schema{"type": file}},
	}}
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{said, {Type: "array", Items: block, Contains: something}}}, nil
}

// anything is the schema of any JSON. An empty one would be written as true, which
// generators of clients do not read.
func anything() *jsonschema.Schema { return &jsonschema.Schema{Description: "Any JSON."} }

func never() *jsonschema.Schema { return &jsonschema.Schema{Not: &jsonschema.Schema{}} }

// enum is the schema of a string type: its constants, if it has any.
func (s *schemas) enum(t reflect.Type) (*jsonschema.Schema, error) {
	texts, err := s.source.of(t)
	if err != nil {
		return nil, err
	}
	made := &jsonschema.Schema{Type: "string"}
	for _, value := range texts.values[t.Name()] {
		made.Enum = append(made.Enum, value)
	}
	return made, nil
}

// component returns the reference to a struct's schema, which it makes once.
func (s *schemas) component(t reflect.Type) (*jsonschema.Schema, error) {
	name, known := s.made[t]
	if !known {
		name = exported(t.Name())
		if s.components[name] != nil {
			return nil, fmt.Errorf("two types are called %s", name)
		}
		made := &jsonschema.Schema{Type: "object"}
		s.made[t], s.components[name] = name, made // before its fields, which may come back to it
		if err := s.fill(made, t); err != nil {
			return nil, fmt.Errorf("%s: %w", t, err)
		}
		texts, err := s.source.of(t)
		if err != nil {
			return nil, err
		}
		made.Description = exported(texts.types[t.Name()])
	}
	return &jsonschema.Schema{Ref: "#/components/schemas/" + name}, nil
}

// exported begins with a capital letter.
func exported(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// sentence begins with a capital letter, unless its first word is a name of the wire such
// as run_start, and ends with a full stop.
func sentence(text string) string {
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	if first, _, _ := strings.Cut(text, " "); strings.Contains(first, "_") {
		return text
	}
	return exported(text)
}

// property is a field in JSON.
type property struct {
	name     string
	optional bool
	schema   *jsonschema.Schema
	in       string // of a parameter
}

// fill gives a struct's schema its properties, those of embedded structs among them.
func (s *schemas) fill(made *jsonschema.Schema, t reflect.Type) error {
	made.Properties = map[string]*jsonschema.Schema{}
	properties, err := s.properties(t)
	if err != nil {
		return err
	}
	for _, p := range properties {
		made.Properties[p.name] = p.schema
		made.PropertyOrder = append(made.PropertyOrder, p.name)
		if !p.optional {
			made.Required = append(made.Required, p.name)
		}
	}
	return nil
}

func (s *schemas) properties(t reflect.Type) (all []property, err error) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "":
			inner, err := s.properties(field.Type)
			if err != nil {
				return nil, err
			}
			all = append(all, inner...)
			continue
		case !field.IsExported() || name == "-":
			continue
		case name == "":
			return nil, fmt.Errorf("field %s has no name in JSON", field.Name)
		}
		schema, err := s.field(t, field)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", field.Name, err)
		}
		optional := strings.Contains(options, "omit")
		if field.Type.Kind() == reflect.Pointer && !optional {
			schema = &jsonschema.Schema{Description: schema.Description, AnyOf: []*jsonschema.Schema{bare(schema), {Type: "null"}}}
		}
		all = append(all, property{name: name, optional: optional, schema: schema, in: field.Tag.Get("in")})
	}
	return all, nil
}

// bare is a schema without its description.
func bare(s *jsonschema.Schema) *jsonschema.Schema {
	other := *s
	other.Description = ""
	return &other
}

// field is the schema of a field: its type's, what its comment says and what its tag
// narrows.
func (s *schemas) field(of reflect.Type, f reflect.StructField) (*jsonschema.Schema, error) {
	made, err := s.of(f.Type)
	if err != nil {
		return nil, err
	}
	texts, err := s.source.of(of)
	if err != nil {
		return nil, err
	}
	if text := texts.fields[of.Name()+"."+f.Name]; text != "" {
		made.Description = sentence(text)
	}
	if err := narrow(made, f.Tag.Get("schema")); err != nil {
		return nil, err
	}
	return made, narrow(made, f.Tag.Get("strict"))
}

// narrow applies a tag such as "min=1,max=200" to a schema: what the document says, or
// what package strict looks at when it decodes.
func narrow(s *jsonschema.Schema, tag string) error {
	if tag == "" {
		return nil
	}
	for _, item := range strings.Split(tag, ",") {
		key, value, _ := strings.Cut(item, "=")
		number, err := strconv.ParseFloat(value, 64)
		switch key {
		case "enum":
			s.Enum, err = nil, nil
			for _, one := range strings.Split(value, "|") {
				s.Enum = append(s.Enum, one)
			}
		case "also":
			s.Description, err = strings.TrimSpace(s.Description+" Also accepted as "+value+"."), nil
		case "null": // the type expresses it
			err = nil
		case "pattern":
			s.Pattern, err = value, nil
		case "min":
			s.Minimum = &number
		case "max":
			s.Maximum = &number
		case "minLength":
			s.MinLength = jsonschema.Ptr(int(number))
		case "maxLength":
			s.MaxLength = jsonschema.Ptr(int(number))
		case "minItems":
			s.MinItems = jsonschema.Ptr(int(number))
		default:
			err = fmt.Errorf("the tag has the unknown key %q", key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// body is the schema of a request's body: strict, with what the type's blank field says.
func (s *schemas) body(t reflect.Type) (*jsonschema.Schema, error) {
	ref, err := s.of(t)
	if err != nil {
		return nil, err
	}
	made := s.components[s.made[t]]
	blank, found := t.FieldByName("_")
	if !found || made.AdditionalProperties != nil {
		made.AdditionalProperties = never()
		return ref, s.closeItems(made)
	}
	made.AdditionalProperties = never()
	var rules jsonschema.Schema
	if err := json.Unmarshal([]byte(blank.Tag.Get("schema")), &rules); err != nil {
		return nil, fmt.Errorf("%s: the tag of its blank field: %w", t, err)
	}
	// Not oneOf, of which generators of clients make a union of types that have no keys.
	made.If, made.Then, made.Else = rules.If, rules.Then, rules.Else
	made.DependentRequired, made.DependentSchemas = rules.DependentRequired, rules.DependentSchemas
	made.Required = append(made.Required, rules.Required...)
	for name, other := range rules.Properties {
		made.Properties[name].Enum = other.Enum
	}
	return ref, s.closeItems(made)
}

// closeItems makes the structs strict that a body has lists of.
func (s *schemas) closeItems(body *jsonschema.Schema) error {
	for _, name := range slices.Sorted(maps.Keys(body.Properties)) {
		items := body.Properties[name].Items
		if items == nil || items.Ref == "" {
			continue
		}
		s.components[strings.TrimPrefix(items.Ref, "#/components/schemas/")].AdditionalProperties = never()
	}
	return nil
}
