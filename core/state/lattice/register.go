package lattice

import (
	"cmp"
	"encoding/json"

	"github.com/reveille-run/reveille/core"
)

// MaxReg is the largest value that was said. The zero MaxReg has none yet. Its JSON is
// the value, or null.
type MaxReg[T cmp.Ordered] struct{ held register[T] }

// With returns the register to merge so that the value counts.
func (MaxReg[T]) With(value T) MaxReg[T] { return MaxReg[T]{register[T]{value, true}} }

// Value returns the value; ok is false when none was said.
func (r MaxReg[T]) Value() (value T, ok bool) { return r.held.value, r.held.said }

// MarshalJSON implements json.Marshaler.
func (r MaxReg[T]) MarshalJSON() ([]byte, error) { return r.held.encode() }

// UnmarshalJSON implements json.Unmarshaler.
func (r *MaxReg[T]) UnmarshalJSON(text []byte) error { return r.held.decode(text) }

// Merge returns the register of the larger value.
func (r MaxReg[T]) Merge(s MaxReg[T]) MaxReg[T] {
	if !r.held.said || s.held.said && cmp.Less(r.held.value, s.held.value) {
		return s
	}
	return r
}

// MinReg is the smallest value that was said. The zero MinReg has none yet. Its JSON is
// the value, or null.
type MinReg[T cmp.Ordered] struct{ held register[T] }

// With returns the register to merge so that the value counts.
func (MinReg[T]) With(value T) MinReg[T] { return MinReg[T]{register[T]{value, true}} }

// Value returns the value; ok is false when none was said.
func (r MinReg[T]) Value() (value T, ok bool) { return r.held.value, r.held.said }

// MarshalJSON implements json.Marshaler.
func (r MinReg[T]) MarshalJSON() ([]byte, error) { return r.held.encode() }

// UnmarshalJSON implements json.Unmarshaler.
func (r *MinReg[T]) UnmarshalJSON(text []byte) error { return r.held.decode(text) }

// Merge returns the register of the smaller value.
func (r MinReg[T]) Merge(s MinReg[T]) MinReg[T] {
	if !r.held.said || s.held.said && cmp.Less(s.held.value, r.held.value) {
		return s
	}
	return r
}

// register is a value that may not have been said yet.
type register[T cmp.Ordered] struct {
	value T
	said  bool
}

func (r register[T]) encode() ([]byte, error) {
	if !r.said {
		return []byte("null"), nil
	}
	return core.EncodeJSON(r.value)
}

func (r *register[T]) decode(text []byte) error {
	*r = register[T]{}
	if string(text) == "null" {
		return nil
	}
	r.said = true
	return json.Unmarshal(text, &r.value)
}
