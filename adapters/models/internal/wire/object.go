package wire

import (
	"bytes"
	"encoding/json"
)

// Member is one of an object's members.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Members returns the members of an object in their order; ok is false for any other
// JSON. The order matters in schemas: a model writes its response in it.
func Members(object json.RawMessage) (members []Member, ok bool) {
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
		m := Member{Name: name}
		if d.Decode(&m.Value) != nil {
			return nil, false
		}
		members = append(members, m)
	}
	return members, true
}

// Object is the object with the members, in their order.
func Object(members []Member) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(Quote(m.Name))
		b.WriteByte(':')
		b.Write(m.Value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// Quote is a text as JSON.
func Quote(text string) json.RawMessage {
	quoted, _ := Encode("", text) // a string has always a form
	return quoted
}
