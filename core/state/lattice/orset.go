package lattice

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// tags is a set of tags.
type tags map[core.ID]struct{}

func (t tags) has(tag core.ID) bool {
	_, ok := t[tag]
	return ok
}

// union returns the tags of both.
func (t tags) union(u tags) tags {
	all := make(tags, len(t)+len(u))
	maps.Copy(all, t)
	maps.Copy(all, u)
	return all
}

func (t tags) sorted() []core.ID {
	return slices.SortedFunc(maps.Keys(t), func(a, b core.ID) int { return bytes.Compare(a[:], b[:]) })
}

func tagsOf(ids []core.ID) tags {
	t := make(tags, len(ids))
	for _, id := range ids {
		t[id] = struct{}{}
	}
	return t
}

// ORSet is a set with removal. An element is in it as long as one of its tags has not
// been removed. Its JSON is {"added":[[element,[tag, ...]], ...],"removed":[tag, ...]},
// sorted.
type ORSet[T cmp.Ordered] struct {
	added   map[T]tags // without those that were removed
	removed tags
}

// Adding returns the set to merge so that the elements are in it. The tag must be new:
// see the package's comment. Several elements may share a tag; they are then removed
// together.
func (ORSet[T]) Adding(tag core.ID, elements ...T) ORSet[T] {
	s := ORSet[T]{added: make(map[T]tags, len(elements))}
	for _, e := range elements {
		s.added[e] = tagsOf([]core.ID{tag})
	}
	return s
}

// Removing returns the set to merge so that the elements are not in it any more, as far
// as s knows of their being added.
func (s ORSet[T]) Removing(elements ...T) ORSet[T] {
	gone := ORSet[T]{removed: tags{}}
	for _, e := range elements {
		maps.Copy(gone.removed, s.added[e])
	}
	return gone
}

// Has reports whether an element is in the set.
func (s ORSet[T]) Has(element T) bool {
	_, ok := s.added[element]
	return ok
}

// Len returns how many elements the set has.
func (s ORSet[T]) Len() int { return len(s.added) }

// Elements returns the elements, sorted.
func (s ORSet[T]) Elements() []T { return slices.Sorted(maps.Keys(s.added)) }

// Merge returns the set of what either has added and neither has seen removed.
func (s ORSet[T]) Merge(t ORSet[T]) ORSet[T] {
	merged := ORSet[T]{added: make(map[T]tags, len(s.added)+len(t.added)), removed: s.removed.union(t.removed)}
	for _, side := range []map[T]tags{s.added, t.added} {
		for element, seen := range side {
			merged.add(element, seen)
		}
	}
	return merged
}

// add adds an element with those of its tags that have not been removed.
func (s ORSet[T]) add(element T, seen tags) {
	for tag := range seen {
		if s.removed.has(tag) {
			continue
		}
		if s.added[element] == nil {
			s.added[element] = tags{}
		}
		s.added[element][tag] = struct{}{}
	}
}

type orsetJSON[T any] struct {
	Added   []addedJSON[T] `json:"added"`
	Removed []core.ID      `json:"removed"`
}

// addedJSON is [element, tags].
type addedJSON[T any] struct {
	element T
	tags    []core.ID
}

func (a addedJSON[T]) MarshalJSON() ([]byte, error) {
	return core.EncodeJSON([]any{a.element, a.tags})
}

func (a *addedJSON[T]) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&a.element, &a.tags})
}

// MarshalJSON implements json.Marshaler.
func (s ORSet[T]) MarshalJSON() ([]byte, error) {
	out := orsetJSON[T]{Added: []addedJSON[T]{}, Removed: s.removed.sorted()}
	for _, e := range s.Elements() {
		out.Added = append(out.Added, addedJSON[T]{e, s.added[e].sorted()})
	}
	if out.Removed == nil {
		out.Removed = []core.ID{}
	}
	return core.EncodeJSON(out)
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *ORSet[T]) UnmarshalJSON(text []byte) error {
	var in orsetJSON[T]
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*s = ORSet[T]{added: make(map[T]tags, len(in.Added)), removed: tagsOf(in.Removed)}
	for _, a := range in.Added {
		s.add(a.element, tagsOf(a.tags))
	}
	return nil
}
