package strict

import (
	"encoding/json"
	"reflect"
)

// ownDecoder is a type that decodes itself from a [Value].
type ownDecoder interface{ UnmarshalStrict(Value) error }

// Value is a value of the JSON that is decoded, for a type that has several forms, or wants
// to say more of what is wrong. The type has the method
//
//	UnmarshalStrict(strict.Value) error
//
// which decodes the value, null too where the tag of its field allows it. Paths of its errors
// begin at the value, as those of [Errorf] and [Value.Decode] do. In contrast to an
// UnmarshalJSON it has the decoder's options, and nothing is read twice. The Value is valid
// until UnmarshalStrict returns.
type Value struct {
	d     *decoder
	begin int
}

// First returns the value's first byte, which implies its kind: one of { [ " t f n, else a
// number.
func (v Value) First() byte { return v.d.data[v.begin] }

// Want returns the error of a value of another form than the type has, such as "a string
// or a list".
func (v Value) Want(what string) error {
	return problem(0, "is %s, want %s", v.d.found(v.begin), what)
}

// Raw returns the value as it is written. It shares the memory of the JSON, and must not
// be changed.
func (v Value) Raw() json.RawMessage {
	end := endOfValue(v.d.data, v.begin, len(v.d.data))
	return v.d.data[v.begin:end:end]
}

// Decode decodes the value into what the pointer points to, as it would be without an
// UnmarshalStrict.
func (v Value) Decode(into any) error {
	depth := v.d.depth
	v.d.at = v.begin
	target := reflect.ValueOf(into).Elem()
	err := v.d.value(planOf(target.Type()), target)
	if err == nil {
		return nil
	}
	v.d.at, v.d.depth = v.begin, depth
	inner := *err // its offset is moved to that of the value again
	inner.Offset -= v.begin
	return &inner
}
