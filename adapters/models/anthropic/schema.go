package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
)

// bounds are keywords of JSON Schema that the API refuses.
var bounds = []string{
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
	"minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties",
}

// closed returns the schema of a response as the API accepts it. Each value that fits it
// fits the original schema, except for bounds, which are moved to the descriptions.
// Objects have only the named properties; a schema for objects with other properties is
// an error.
func closed(schema json.RawMessage) (json.RawMessage, error) {
	return closeSchema("response_format.schema", schema)
}

func closeSchema(at string, schema json.RawMessage) (json.RawMessage, error) {
	members, ok := wire.Members(schema)
	if !ok { // true or false
		return schema, nil
	}
	var kept []wire.Member
	var moved []string
	object, names := false, false
	for _, m := range members {
		var err error
		inner := at + "." + m.Name
		switch m.Name {
		case "type":
			object = object || bytes.Contains(m.Value, []byte(`"object"`))
		case "properties", "$defs", "definitions":
			object = object || m.Name == "properties"
			m.Value, err = closeEach(inner, m.Value)
		case "items", "not", "anyOf", "allOf", "oneOf":
			m.Value, err = closeOneOrAll(inner, m.Value)
		case "additionalProperties":
			names = true
			if string(m.Value) != "false" {
				err = invalid(fmt.Sprintf("%s is %s, which is not supported by this API: an object has the properties that it names", inner, core.Excerpt(string(m.Value))))
			}
		}
		if err != nil {
			return nil, err
		}
		if slices.Contains(bounds, m.Name) {
			moved = append(moved, m.Name+": "+string(m.Value))
			continue
		}
		kept = append(kept, m)
	}
	if object && !names {
		kept = append(kept, wire.Member{Name: "additionalProperties", Value: json.RawMessage("false")})
	}
	return wire.Object(describe(kept, moved)), nil
}

// closeEach closes the schemas that are the members of an object.
func closeEach(at string, schemas json.RawMessage) (json.RawMessage, error) {
	members, ok := wire.Members(schemas)
	if !ok {
		return schemas, nil
	}
	for i, m := range members {
		value, err := closeSchema(at+"."+m.Name, m.Value)
		if err != nil {
			return nil, err
		}
		members[i].Value = value
	}
	return wire.Object(members), nil
}

// closeOneOrAll closes a schema, or each of a list.
func closeOneOrAll(at string, schema json.RawMessage) (json.RawMessage, error) {
	var list []json.RawMessage
	if json.Unmarshal(schema, &list) != nil {
		return closeSchema(at, schema)
	}
	for i := range list {
		value, err := closeSchema(fmt.Sprintf("%s[%d]", at, i), list[i])
		if err != nil {
			return nil, err
		}
		list[i] = value
	}
	return wire.Encode(name, list)
}

// describe says in the description what was moved there.
func describe(members []wire.Member, moved []string) []wire.Member {
	if len(moved) == 0 {
		return members
	}
	bound := "(" + strings.Join(moved, ", ") + ")"
	for i, m := range members {
		var text string
		if m.Name == "description" && json.Unmarshal(m.Value, &text) == nil {
			members[i].Value = wire.Quote(text + " " + bound)
			return members
		}
	}
	return append(members, wire.Member{Name: "description", Value: wire.Quote(bound)})
}
