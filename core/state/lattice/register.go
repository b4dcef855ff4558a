package lattice

import (
	"cmp"
	"encoding/json"

	"github.com/reveille-run/reveille/core"
)

// Flag is false until it is true, and then for good. Its JSON is a boolean.
type Flag bool

// Merge implements [Value].
func (f Flag) Merge(g Flag) Flag { return f || g }

// MaxReg is the largest value that was said. The zero MaxReg has none yet. Its JSON is
// the value, or null.
type MaxReg[T cmp.Ordered] struct {
	register[T]
}

// Max returns the register of a value.
func Max[T cmp.Ordered](value T) MaxReg[T] { return MaxReg[T]{register[T]{value, true}} }

// Merge implements [Value].
func (r MaxReg[T]) Merge(s MaxReg[T]) MaxReg[T] {
	if !r.said || s.said && cmp.Less(r.value, s.value) {
		return s
	}
	return r
}

// MinReg is the smallest value that was said. The zero MinReg has none yet. Its JSON is
// the value, or null.
type MinReg[T cmp.Ordered] struct {
	register[T]
}

// Min returns the register of a value.
func Min[T cmp.Ordered](value T) MinReg[T] { return MinReg[T]{register[T]{value, true}} }

// Merge implements [Value].
func (r MinReg[T]) Merge(s MinReg[T]) MinReg[T] {
	if !r.said || s.said && cmp.Less(s.value, r.value) {
		return s
	}
	return r
}

type register[T cmp.Ordered] struct {
	value T
	said  bool
}

// Value returns the value; ok is false when nobody has said one.
func (r register[T]) Value() (value T, ok bool) { return r.value, r.said }

// MarshalJSON implements json.Marshaler.
func (r register[T]) MarshalJSON() ([]byte, error) {
	if !r.said {
		return []byte("null"), nil
	}
	return core.EncodeJSON(r.value)
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *register[T]) UnmarshalJSON(text []byte) error {
	*r = register[T]{}
	if string(text) == "null" {
		return nil
	}
	r.said = true
	return json.Unmarshal(text, &r.value)
}
