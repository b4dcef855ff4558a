package state

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// Snapshot is the state at one revision. It is a value that never changes and
// costs nothing to copy. The zero Snapshot is empty, at revision 0.
type Snapshot struct {
	revision uint64
	values   map[string]json.RawMessage // shared by copies, never written
}

// Restore returns a snapshot of stored values; it keeps the map, which must
// not be changed afterwards.
func Restore(revision uint64, values map[string]json.RawMessage) Snapshot {
	return Snapshot{revision: revision, values: values}
}

// Revision counts the commits that led here.
func (s Snapshot) Revision() uint64 { return s.revision }

// Raw returns the stored JSON of a key, which must not be changed; ok is false
// when the key has no value.
func (s Snapshot) Raw(key string) (raw json.RawMessage, ok bool) {
	raw, ok = s.values[key]
	return raw, ok
}

// Keys returns the names of the keys that have a value, sorted.
func (s Snapshot) Keys() []string {
	return slices.Sorted(maps.Keys(s.values))
}

// Equal reports whether two snapshots have the same revision and the same
// stored bytes.
func (s Snapshot) Equal(t Snapshot) bool {
	return s.revision == t.revision && maps.EqualFunc(s.values, t.values, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
}

// At returns the snapshot with another revision: for several commits that are
// stored as one.
func (s Snapshot) At(revision uint64) Snapshot {
	s.revision = revision
	return s
}
