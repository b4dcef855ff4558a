package lattice

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// GSet is a set that only grows. Its JSON is the list of its elements, sorted.
type GSet[T cmp.Ordered] struct {
	elements map[T]struct{}
}

// Adding returns the set to merge so that the elements are in it.
func (GSet[T]) Adding(elements ...T) GSet[T] {
	s := GSet[T]{make(map[T]struct{}, len(elements))}
	for _, e := range elements {
		s.elements[e] = struct{}{}
	}
	return s
}

// Has reports whether an element is in the set.
func (s GSet[T]) Has(element T) bool {
	_, ok := s.elements[element]
	return ok
}

// Len returns how many elements the set has.
func (s GSet[T]) Len() int { return len(s.elements) }

// Elements returns the elements, sorted.
func (s GSet[T]) Elements() []T { return slices.Sorted(maps.Keys(s.elements)) }

// Merge returns the set of the elements of both.
func (s GSet[T]) Merge(t GSet[T]) GSet[T] {
	merged := make(map[T]struct{}, len(s.elements)+len(t.elements))
	maps.Copy(merged, s.elements)
	maps.Copy(merged, t.elements)
	return GSet[T]{merged}
}

// MarshalJSON implements json.Marshaler.
func (s GSet[T]) MarshalJSON() ([]byte, error) {
	if len(s.elements) == 0 {
		return []byte("[]"), nil
	}
	return core.EncodeJSON(s.Elements())
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *GSet[T]) UnmarshalJSON(text []byte) error {
	var elements []T
	if err := json.Unmarshal(text, &elements); err != nil {
		return err
	}
	*s = s.Adding(elements...)
	return nil
}
