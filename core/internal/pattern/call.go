package pattern

import (
	"encoding/json"
	"strings"
	"sync"
)

// Call is a tool call as patterns look at it. Its arguments are parsed when the
// first pattern asks for them, and once. It may be used by several goroutines.
type Call struct {
	name      string
	arguments json.RawMessage
	schema    json.RawMessage

	parsing sync.Once
	root    value
	ok      bool // false: the arguments are not JSON

	finding sync.Once
	primary []reading // never empty
	whole   bool      // it is all the arguments, since their primary one is unknown
}

// reading is what the primary argument may be taken for.
type reading struct {
	text string
	sure bool // no tool reads it otherwise
}

// NewCall returns a call: the tool's name, the arguments as the model sent them and
// the JSON Schema of the tool's parameters, by which the primary argument is found.
// The schema may be nil; one that is not JSON is ignored. Empty arguments are an
// empty object. The call keeps both slices, which must not change.
func NewCall(name string, arguments, schema json.RawMessage) *Call {
	return &Call{name: name, arguments: arguments, schema: schema}
}

// parsed returns the arguments' value, and false if they are not JSON.
func (c *Call) parsed() (*value, bool) {
	c.parsing.Do(func() {
		if len(c.arguments) == 0 {
			c.root, c.ok = value{kind: objectValue}, true
			return
		}
		c.root, c.ok = parseValue(c.arguments)
	})
	return &c.root, c.ok
}

// Primary returns the primary argument as text: the value of an object's only
// member; else the one required property of type string that the schema has, else
// the arguments as compact JSON with sorted names. If a member is repeated, it is the last
// value. Arguments that are not JSON are returned unchanged.
func (c *Call) Primary() string {
	readings := c.readings()
	return readings[len(readings)-1].text
}

// Canonical returns the arguments as compact JSON with sorted names, the same text for
// arguments that every tool reads as the same. ok is false where there is no such text:
// they are not JSON, or an object in them has two members that a tool may take for one.
func (c *Call) Canonical() (text string, ok bool) {
	r, ok := c.parsed()
	if !ok || r.ambiguous() {
		return "", false
	}
	return r.compact(), true
}

func (c *Call) readings() []reading {
	c.finding.Do(func() { c.primary = c.findPrimary() })
	return c.primary
}

// findPrimary looks for the schema's property only where there is more than one
// member: most calls have one, and then the schema is not even read.
func (c *Call) findPrimary() []reading {
	r, ok := c.parsed()
	if !ok {
		return []reading{{text: string(c.arguments)}}
	}
	members := r.children
	if r.kind == objectValue && len(members) > 0 {
		if oneName(members) {
			return readMembers(members, members[0].name)
		}
		if property, ok := primaryProperty(c.schema); ok {
			if found := readMembers(members, property); len(found) > 0 {
				return found
			}
		}
	}
	c.whole = true
	return []reading{{r.compact(), !r.repeated}}
}

// oneName reports whether members have one name, in one case or several: they may all be
// read into the same field.
func oneName(members []value) bool {
	for i := range members {
		if members[i].name != members[0].name && !strings.EqualFold(members[i].name, members[0].name) {
			return false
		}
	}
	return true
}

// readMembers returns the readings of a member, that of the exact name last.
func readMembers(members []value, name string) []reading {
	var folded, exact []reading
	for i := range members {
		m := &members[i]
		switch {
		case m.name == name:
			exact = append(exact, reading{m.plain(), !m.repeated})
		case strings.EqualFold(m.name, name):
			folded = append(folded, reading{m.plain(), !m.repeated})
		}
	}
	for i := range folded {
		folded[i].sure = folded[i].sure && len(exact) > 0
	}
	return append(folded, exact...)
}

// primaryProperty returns the one property of a JSON Schema that is required and a
// string. One that may be null too counts: so optional texts are described that a
// strict provider wants to be required.
func primaryProperty(schema json.RawMessage) (string, bool) {
	s, ok := parseValue(schema)
	if !ok {
		return "", false
	}
	properties := s.member("properties")
	found := ""
	for _, required := range s.member("required").children {
		name := required.text
		if name == found || required.kind != stringValue || !isString(properties.member(name).member("type")) {
			continue
		}
		if found != "" {
			return "", false
		}
		found = name
	}
	return found, found != ""
}

// isString reports whether a schema's type is string, or string and null.
func isString(t *value) bool {
	types := t.children
	if t.kind == stringValue {
		types = []value{*t}
	}
	text := false
	for i := range types {
		text = text || types[i].text == "string"
		if types[i].text != "string" && types[i].text != "null" {
			return false
		}
	}
	return text
}
