package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/adapters/modelwire"
	"github.com/reveille-run/reveille/core"
)

// member is one of an object's members. Their order is kept: a model writes its response in
// the order of the schema.
type member struct {
	name  string
	value json.RawMessage
}

// bounds are keywords of JSON Schema that the API refuses.
var bounds = []string{
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
	"minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties",
}

// closed returns the schema of a response as the API takes it: whatever fits it fits the
// schema, but for bounds, which are moved to the descriptions. Objects have no properties
// but those that are named; one that is to have others has no form here.
func closed(schema json.RawMessage) (json.RawMessage, error) {
	return closeSchema("response_format.schema", schema)
}

func closeSchema(at string, schema json.RawMessage) (json.RawMessage, error) {
	members, ok := membersOf(schema)
	if !ok { // true or false
		return schema, nil
	}
	var kept []member
	var moved []string
	object, names := false, false
	for _, m := range members {
		var err error
		inner := at + "." + m.name
		switch m.name {
		case "type":
			object = object || bytes.Contains(m.value, []byte(`"object"`))
		case "properties", "$defs", "definitions":
			object = object || m.name == "properties"
			m.value, err = closeEach(inner, m.value)
		case "items", "not", "anyOf", "allOf", "oneOf":
			m.value, err = closeOneOrAll(inner, m.value)
		case "additionalProperties":
			names = true
			if string(m.value) != "false" {
				err = invalid(fmt.Sprintf("%s is %s, which has no form in this API: an object has the properties that it names", inner, core.Excerpt(string(m.value))))
			}
		}
		if err != nil {
			return nil, err
		}
		if slices.Contains(bounds, m.name) {
			moved = append(moved, m.name+": "+string(m.value))
			continue
		}
		kept = append(kept, m)
	}
	if object && !names {
		kept = append(kept, member{"additionalProperties", json.RawMessage("false")})
	}
	return objectOf(describe(kept, moved)), nil
}

// closeEach closes the schemas that are the members of an object.
func closeEach(at string, schemas json.RawMessage) (json.RawMessage, error) {
	members, ok := membersOf(schemas)
	if !ok {
		return schemas, nil
	}
	for i, m := range members {
		value, err := closeSchema(at+"."+m.name, m.value)
		if err != nil {
			return nil, err
		}
		members[i].value = value
	}
	return objectOf(members), nil
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
	return modelwire.Encode(name, list)
}

// describe says in the description what was moved there.
func describe(members []member, moved []string) []member {
	if len(moved) == 0 {
		return members
	}
	bound := "(" + strings.Join(moved, ", ") + ")"
	for i, m := range members {
		var text string
		if m.name == "description" && json.Unmarshal(m.value, &text) == nil {
			members[i].value = quote(text + " " + bound)
			return members
		}
	}
	return append(members, member{"description", quote(bound)})
}

// membersOf returns the members of an object in their order; ok is false for any other JSON.
func membersOf(object json.RawMessage) (members []member, ok bool) {
	d := json.NewDecoder(bytes.NewReader(object))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, false
		}
		name, _ := key.(string) // an object's keys are
		m := member{name: name}
		if d.Decode(&m.value) != nil {
			return nil, false
		}
		members = append(members, m)
	}
	return members, true
}

func objectOf(members []member) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(quote(m.name))
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

func quote(text string) json.RawMessage {
	quoted, _ := modelwire.Encode(name, text) // a string has always a form
	return quoted
}
