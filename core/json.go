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
func EncodeJSON(v any) ([]byte, error) {
	e := encoders.Get().(*encoder)
	defer e.release()
	text, err := e.encode(v)
	if err != nil {
		return nil, err
	}
	return bytes.Clone(text), nil
}

// EncodeObject is EncodeJSON for a v that encodes as an object, with other
// members before its own: their JSON text, without braces and the comma behind
// them.
func EncodeObject(members []byte, v any) ([]byte, error) {
	e := encoders.Get().(*encoder)
	defer e.release()
	object, err := e.encode(v)
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, len("{,")+len(members)+len(object))
	b = append(append(b, '{'), members...)
	if len(object) > len("{}") && len(members) > 0 {
		b = append(b, ',')
	}
	return append(b, object[1:]...), nil
}

// encoder is a JSON encoder with the buffer that it writes to. They are kept
// and used again: every record and event is encoded, and only a copy of its
// exact size leaves.
type encoder struct {
	buffer bytes.Buffer
	json   *json.Encoder
}

var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.json = json.NewEncoder(&e.buffer)
	e.json.SetEscapeHTML(false)
	return e
}}

// maxKept is the largest buffer, in bytes, that is kept for the next use: one
// large result must not occupy memory for good.
const maxKept = 64 << 10

// encode returns v's text, which the next use overwrites.
func (e *encoder) encode(v any) ([]byte, error) {
	if err := e.json.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(e.buffer.Bytes(), []byte("\n")), nil
}

func (e *encoder) release() {
	if e.buffer.Cap() <= maxKept {
		e.buffer.Reset()
		encoders.Put(e)
	}
}
