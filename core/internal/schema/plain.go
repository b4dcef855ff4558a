package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// A plain schema has only the parts that most tools use: types, descriptions, properties,
// items, enumerations and bounds. It is read and written here, as package jsonschema would:
// that one looks at all the sixty fields of a schema by reflection first, which took a
// twelfth of a function's start. That package handles other schemas.
//
// A plain schema has no pattern and refers to nothing, so nothing in it can be wrong that
// only its resolution finds: that waits for the first value that is to be validated.

// read reads a schema from JSON, and reports whether it is plain.
func read(text json.RawMessage) (s *jsonschema.Schema, plain bool, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	v, err := uniqueValue(d)
	if _, end := d.Token(); err == nil && errors.Is(end, io.EOF) {
		if s, ok := plainSchema(v); ok {
			return s, true, nil
		}
	}
	s = &jsonschema.Schema{}
	return s, false, json.Unmarshal(text, s)
}

// write returns the JSON of a schema, and reports whether it is plain.
func write(s *jsonschema.Schema) (text json.RawMessage, plain bool, err error) {
	if text, ok := appendSchema(nil, s); ok {
		return text, true, nil
	}
	text, err = json.Marshal(s)
	return text, false, err
}

// maxPlain bounds the depth of a plain schema.
const maxPlain = 64

var errNotPlain = errors.New("not plain")

// uniqueValue reads a value as json.Unmarshal would, if it is no deeper than maxPlain and
// each object in it has distinct keys.
func uniqueValue(d *json.Decoder) (any, error) { return valueAt(d, 0) }

func valueAt(d *json.Decoder, depth int) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	open, nested := t.(json.Delim)
	if !nested {
		return t, nil
	}
	if depth == maxPlain {
		return nil, errNotPlain
	}
	list, object := []any{}, map[string]any{}
	for d.More() {
		key := ""
		if open == '{' {
			t, err := d.Token()
			if err != nil {
				return nil, err
			}
			key = t.(string) // the decoder takes no other
		}
		v, err := valueAt(d, depth+1)
		if err != nil {
			return nil, err
		}
		if _, twice := object[key]; twice {
			return nil, errNotPlain
		}
		if open == '[' {
			list = append(list, v)
		} else {
			object[key] = v
		}
	}
	if _, err := d.Token(); err != nil { // what closes it
		return nil, err
	}
	if open == '[' {
		return list, nil
	}
	return object, nil
}

// plainSchema is the schema that a value is; false if it is not plain.
func plainSchema(v any) (*jsonschema.Schema, bool) {
	if allowed, ok := v.(bool); ok {
		if allowed {
			return &jsonschema.Schema{}, true
		}
		return &jsonschema.Schema{Not: &jsonschema.Schema{}}, true
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	s := &jsonschema.Schema{}
	for keyword, v := range object {
		if !setKeyword(s, keyword, v) {
			return nil, false
		}
	}
	return s, true
}

// setKeyword gives a schema one of its keywords; false if a plain schema has no such
// keyword, or it has an invalid value.
func setKeyword(s *jsonschema.Schema, keyword string, v any) (ok bool) {
	switch keyword {
	case "type":
		if s.Type, ok = v.(string); !ok {
			s.Types, ok = texts(v)
		}
	case "title":
		s.Title, ok = v.(string)
	case "description":
		s.Description, ok = v.(string)
	case "required":
		s.Required, ok = texts(v)
	case "enum":
		s.Enum, ok = v.([]any)
	case "minimum":
		s.Minimum, ok = number(v)
	case "maximum":
		s.Maximum, ok = number(v)
	case "items":
		if _, object := v.(map[string]any); object { // true, false and a list mean more
			s.Items, ok = plainSchema(v)
		}
	case "additionalProperties":
		s.AdditionalProperties, ok = plainSchema(v)
	case "properties":
		var members map[string]any
		if members, ok = v.(map[string]any); !ok {
			return false
		}
		s.Properties = make(map[string]*jsonschema.Schema, len(members))
		for name, v := range members {
			if s.Properties[name], ok = plainSchema(v); !ok {
				return false
			}
		}
	}
	return ok
}

func texts(v any) ([]string, bool) {
	list, ok := v.([]any)
	all := make([]string, len(list))
	for i, item := range list {
		if all[i], ok = item.(string); !ok {
			return nil, false
		}
	}
	return all, ok
}

func number(v any) (*float64, bool) {
	n, ok := v.(float64)
	return &n, ok
}

// appendSchema appends the JSON of a schema, its keywords in the order in which package
// jsonschema writes them; false if it is not plain.
func appendSchema(b []byte, s *jsonschema.Schema) ([]byte, bool) {
	if reflect.ValueOf(s).Elem().IsZero() {
		return append(b, "true"...), true
	}
	if s.Not != nil && reflect.ValueOf(s.Not).Elem().IsZero() {
		rest := *s
		rest.Not = nil
		return append(b, "false"...), reflect.ValueOf(rest).IsZero()
	}
	rest := *s
	rest.Type, rest.Types, rest.Properties, rest.PropertyOrder, rest.Items = "", nil, nil, nil, nil
	rest.Description, rest.Minimum, rest.Maximum, rest.Required, rest.AdditionalProperties = "", nil, nil, nil, nil
	if !reflect.ValueOf(rest).IsZero() || s.Type != "" && s.Types != nil {
		return nil, false
	}
	w := schemaWriter{append(b, '{'), true}
	if s.Type != "" {
		w.value("type", s.Type)
	} else if s.Types != nil {
		w.value("type", s.Types)
	}
	if s.Properties != nil {
		w.properties(s)
	}
	if s.Items != nil {
		w.schema("items", s.Items)
	}
	if s.Description != "" {
		w.value("description", s.Description)
	}
	if s.Minimum != nil {
		w.value("minimum", *s.Minimum)
	}
	if s.Maximum != nil {
		w.value("maximum", *s.Maximum)
	}
	if len(s.Required) > 0 {
		w.value("required", s.Required)
	}
	if s.AdditionalProperties != nil {
		w.schema("additionalProperties", s.AdditionalProperties)
	}
	return append(w.text, '}'), w.plain
}

// schemaWriter writes the members of an object.
type schemaWriter struct {
	text  []byte
	plain bool // so far
}

// name begins a member.
func (w *schemaWriter) name(name string) {
	if w.text[len(w.text)-1] != '{' {
		w.text = append(w.text, ',')
	}
	w.json(name)
	w.text = append(w.text, ':')
}

func (w *schemaWriter) value(name string, v any) {
	w.name(name)
	w.json(v)
}

func (w *schemaWriter) json(v any) {
	text, err := json.Marshal(v)
	w.plain = w.plain && err == nil
	w.text = append(w.text, text...)
}

func (w *schemaWriter) schema(name string, s *jsonschema.Schema) {
	w.name(name)
	text, ok := appendSchema(w.text, s)
	if w.plain = w.plain && ok; ok {
		w.text = text
	}
}

// properties writes them in their order, if there is one for all.
func (w *schemaWriter) properties(s *jsonschema.Schema) {
	w.name("properties")
	w.text = append(w.text, '{')
	for i, name := range s.PropertyOrder {
		property, ok := s.Properties[name]
		if !ok || slices.Contains(s.PropertyOrder[:i], name) {
			w.plain = false
			return
		}
		w.schema(name, property)
	}
	w.plain = w.plain && len(s.PropertyOrder) == len(s.Properties)
	w.text = append(w.text, '}')
}
