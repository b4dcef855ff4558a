package core

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
)

// DecodeError returns the error of a decoder of JSON without the names of Go types, which
// mean nothing to a client: a value of the wrong type is named by its field and the type
// that it has. Other errors stay as they are.
func DecodeError(err error) error {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return err
	}
	return fmt.Errorf("%s is a JSON %s, want %s", cmp.Or(wrong.Field, "the value"), wrong.Value, wanted(wrong.Type.Kind()))
}

// wanted is the JSON that a kind of Go value is decoded from.
func wanted(kind reflect.Kind) string {
	switch kind {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "a whole number that fits"
}

// EncodeJSON is json.Marshal without the escaping of <, > and &: what a model
// or a tool said is stored, and read by models, as it was said.
func EncodeJSON(v any) ([]byte, error) { return encode(v, nil, false) }

// EncodeObject is EncodeJSON for a v that encodes as an object, with other
// members before its own: their JSON text, without braces and the comma behind
// them.
func EncodeObject(members []byte, v any) ([]byte, error) { return encode(v, members, true) }

func encode(v any, members []byte, object bool) ([]byte, error) {
	e := encoders.Get().(*encoder)
	e.members, e.object = append(e.members[:0], members...), object // a copy: members stay on the caller's stack
	err := e.json.Encode(v)
	text := e.text
	e.text = nil
	encoders.Put(e)
	if err != nil {
		return nil, err
	}
	return text, nil
}

// encoder is a JSON encoder, and what it writes to. They are kept and used again: every
// record and event is encoded. The encoder's own buffer is copied once, to a slice of the
// exact size.
type encoder struct {
	json    *json.Encoder
	object  bool   // the value is one, and gets members before its own
	members []byte // these
	text    []byte // what the value came to
}

var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.json = json.NewEncoder(e)
	e.json.SetEscapeHTML(false)
	return e
}}

// Write takes a value as a whole, as a json.Encoder gives it, with a line feed behind it.
func (e *encoder) Write(line []byte) (int, error) {
	value := bytes.TrimSuffix(line, []byte("\n"))
	if !e.object {
		e.text = bytes.Clone(value)
		return len(line), nil
	}
	b := make([]byte, 0, len("{,")+len(e.members)+len(value))
	b = append(append(b, '{'), e.members...)
	if len(value) > len("{}") && len(e.members) > 0 {
		b = append(b, ',')
	}
	e.text = append(b, value[1:]...)
	return len(line), nil
}
