package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core/model"
)

// strictKeywords are those that a schema may have which a provider enforces.
var strictKeywords = []string{
	"$schema", "$ref", "$defs", "definitions", "title", "description", "type", "enum", "const", "anyOf",
	"properties", "required", "additionalProperties", "items", "minItems", "maxItems",
	"pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
}

// schemaOf returns the schema of a response as it is sent, and whether the provider is
// asked to enforce it. An enforced schema has no optional properties: they are required
// and may be null, and readers of the response treat null as absent. A schema that has no
// such form is sent unchanged, for the model only.
func schemaOf(f *model.ResponseFormat) (schema json.RawMessage, strict bool) {
	if f.Strict {
		members, ok := wire.Members(f.Schema)
		if root := read(members); ok && slices.Equal(root.types, []string{"object"}) && root.combined == nil {
			if schema, ok := strictSchema(f.Schema); ok {
				return schema, true
			}
		}
	}
	return f.Schema, false
}

// shape is what decides about the strict form of a schema.
type shape struct {
	types      []string
	object     bool
	properties []wire.Member
	required   []string
	additional json.RawMessage // nil: it does not say
	enum       []json.RawMessage
	fixed      bool // it has a const
	combined   json.RawMessage
	ref        string
}

func read(members []wire.Member) (s shape) {
	for _, m := range members {
		switch m.Name {
		case "type":
			var one string
			if json.Unmarshal(m.Value, &one) == nil {
				s.types = []string{one}
			} else {
				_ = json.Unmarshal(m.Value, &s.types) // else it has no type that is known
			}
		case "properties":
			s.properties, _ = wire.Members(m.Value)
		case "required":
			_ = json.Unmarshal(m.Value, &s.required)
		case "additionalProperties":
			s.additional = m.Value
		case "enum":
			_ = json.Unmarshal(m.Value, &s.enum)
		case "const":
			s.fixed = true
		case "anyOf":
			s.combined = m.Value
		case "$ref":
			_ = json.Unmarshal(m.Value, &s.ref)
		}
	}
	s.object = s.properties != nil || slices.Contains(s.types, "object")
	return s
}

// strictSchema returns the form of a schema that can be enforced; ok is false if it has none.
func strictSchema(schema json.RawMessage) (strict json.RawMessage, ok bool) {
	members, ok := wire.Members(schema)
	s := read(members)
	if !ok || len(s.types) == 0 && s.combined == nil && s.ref == "" || s.ref != "" && !global(s.ref) {
		return nil, false
	}
	for i, m := range members {
		if ok = slices.Contains(strictKeywords, m.Name); !ok {
			return nil, false
		}
		switch m.Name {
		case "items":
			members[i].Value, ok = strictSchema(m.Value)
		case "anyOf":
			members[i].Value, ok = strictList(m.Value)
		case "$defs", "definitions":
			members[i].Value, ok = strictEach(m.Value, func(string) bool { return false })
		case "properties":
			members[i].Value, ok = strictEach(m.Value, func(name string) bool { return !slices.Contains(s.required, name) })
		}
		if !ok {
			return nil, false
		}
	}
	if s.object {
		members, ok = closed(members, s)
	}
	return wire.Object(members), ok
}

// closed makes all properties of an object required and allows no others. An object that
// is to have others has no form here.
func closed(members []wire.Member, s shape) ([]wire.Member, bool) {
	names := make([]string, len(s.properties))
	for i, p := range s.properties {
		names[i] = p.Name
	}
	for _, name := range s.required {
		if !slices.Contains(names, name) {
			return nil, false
		}
	}
	if s.additional != nil && string(s.additional) != "false" || s.additional == nil && len(names) == 0 {
		return nil, false
	}
	if len(s.required) < len(names) {
		all, err := wire.Encode(name, names)
		if err != nil {
			return nil, false
		}
		members = set(members, "required", all)
	}
	return set(members, "additionalProperties", json.RawMessage("false")), true
}

// set gives a schema a keyword, in its place if it has it.
func set(members []wire.Member, keyword string, value json.RawMessage) []wire.Member {
	for i := range members {
		if members[i].Name == keyword {
			members[i].Value = value
			return members
		}
	}
	return append(members, wire.Member{Name: keyword, Value: value})
}

// strictEach is strictSchema of the members of an object: of all definitions, or of
// properties, of which those that are not required may be null.
func strictEach(schemas json.RawMessage, nullable func(name string) bool) (json.RawMessage, bool) {
	members, ok := wire.Members(schemas)
	if !ok {
		return nil, false
	}
	for i, m := range members {
		strict, ok := strictSchema(m.Value)
		if !ok {
			return nil, false
		}
		if nullable(m.Name) {
			strict = orNull(strict)
		}
		members[i].Value = strict
	}
	return wire.Object(members), true
}

// orNull returns a schema that allows null as well.
func orNull(schema json.RawMessage) json.RawMessage {
	members, _ := wire.Members(schema)
	s := read(members)
	null := slices.Contains(s.types, "null")
	switch {
	case null && s.combined == nil && !s.fixed && (s.enum == nil || slices.ContainsFunc(s.enum, isNull)):
		return schema
	case len(s.types) == 1 && !null && !s.object && s.types[0] != "array" && s.combined == nil && !s.fixed && s.enum == nil:
		list, _ := wire.Encode(name, []string{s.types[0], "null"}) // texts have always a form
		return wire.Object(set(members, "type", list))
	}
	return wire.Object([]wire.Member{{Name: "anyOf", Value: json.RawMessage("[" + string(schema) + `,{"type":"null"}]`)}})
}

func isNull(value json.RawMessage) bool { return string(value) == "null" }

// global reports whether a reference leads to the root or to a definition: the schema of
// a property may have become one that allows null.
func global(ref string) bool {
	for _, prefix := range []string{"#/$defs/", "#/definitions/"} {
		if rest, ok := strings.CutPrefix(ref, prefix); ok {
			return !strings.Contains(rest, "/")
		}
	}
	return ref == "#"
}

func strictList(schemas json.RawMessage) (json.RawMessage, bool) {
	var list []json.RawMessage
	if json.Unmarshal(schemas, &list) != nil {
		return nil, false
	}
	for i := range list {
		var ok bool
		if list[i], ok = strictSchema(list[i]); !ok {
			return nil, false
		}
	}
	text, err := wire.Encode(name, list)
	return text, err == nil
}
