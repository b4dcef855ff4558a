package core

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/reveille-run/reveille/core/internal/wire"
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

// EncodeJSON is json.Marshal without the escaping of <, > and &: the words of a model or a
// tool are stored, and read by models, unchanged.
func EncodeJSON(v any) ([]byte, error) { return wire.JSON(v) }

// AppendJSONString appends a text to b as [EncodeJSON] encodes it, and allocates nothing but room
// in b.
func AppendJSONString(b []byte, text string) []byte { return wire.AppendString(b, text) }
