package state

import (
	"encoding/json"
	"reflect"
	"sync/atomic"
)

// value is one value of a snapshot. Snapshots that have it in common share it, and
// with it what [Key.Read] has decoded. It is never copied.
type value struct {
	raw     json.RawMessage     // canonical, unless it was stored damaged; never written
	decoded atomic.Pointer[any] // a *decodedAs[V]; nil: it was not read yet
}

func newValue(raw json.RawMessage) *value { return &value{raw: raw} }

// bytes returns the value's JSON; nil means no value.
func (v *value) bytes() json.RawMessage {
	if v == nil {
		return nil
	}
	return v.raw
}

// decodedAs is a decoded value. It holds the interface through which it is found, so that
// keeping it takes no additional memory.
type decodedAs[V any] struct {
	value V
	self  any
}

// read decodes a value the first time and returns the same one from then on. If two
// goroutines decode it concurrently, the first one's is kept. A value that is read as
// two types is kept as the first.
func read[V any](v *value, name string) (V, error) {
	if v == nil || len(v.raw) == 0 {
		var zero V
		return zero, nil
	}
	if kept := v.decoded.Load(); kept != nil {
		if known, same := (*kept).(*decodedAs[V]); same {
			return known.value, nil
		}
	}
	fresh := &decodedAs[V]{}
	if err := decodeInto(v.raw, &fresh.value, name, "value"); err != nil {
		var zero V
		return zero, err
	}
	clip(reflect.ValueOf(&fresh.value).Elem())
	fresh.self = fresh
	v.decoded.CompareAndSwap(nil, &fresh.self)
	return fresh.value, nil
}

// clip removes the spare capacity from the slices of a value and of its structs: code that
// appends to one gets a new array, and does not write after the elements that others read.
func clip(v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice:
		if v.Cap() > v.Len() {
			v.Set(v.Slice3(0, v.Len(), v.Len()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Field(i); field.CanSet() {
				clip(field)
			}
		}
	case reflect.Interface:
		if list := v.Elem(); list.Kind() == reflect.Slice {
			v.Set(list.Slice3(0, list.Len(), list.Len()))
		}
	}
}
