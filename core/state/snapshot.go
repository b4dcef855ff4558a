package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// errNoCall is the use of a key of [ScopeCall] with a snapshot that is bound to
// no tool call: in a phase of the whole step, for example.
var errNoCall = errors.New("the snapshot is bound to no tool call")

// Snapshot is the state at one revision. It is a value that never changes and
// costs nothing to copy. The zero Snapshot is empty, at revision 0.
//
// Values of [ScopeCall] exist once for each tool call of a step. A snapshot that
// is bound to a call by [Snapshot.ForCall] reads and changes that call's only.
type Snapshot struct {
	revision  uint64
	values    map[KeyPath]*value // shared by copies, never written
	transient map[KeyPath]*value // of transient keys; likewise
	registry  *Registry
	bound     bool
	call      int32 // when bound
}

// With returns a snapshot with the given stored values at a revision, and with the
// snapshot's others; it is bound to nothing. So a snapshot can be made from stored values.
func (s Snapshot) With(revision uint64, values map[KeyPath]json.RawMessage) Snapshot {
	next := Snapshot{revision: revision, values: make(map[KeyPath]*value, len(s.values)+len(values))}
	maps.Copy(next.values, s.values)
	for path, raw := range values {
		v := newValue(raw) // one by one, so that none keeps another's bytes in memory
		if spelled, err := canonical(raw); err == nil {
			v.raw = spelled
		} // else it is the key's error, when it is read
		next.values[path] = v
	}
	return next
}

// Revision names the state: it counts the commits that changed something that is
// stored.
func (s Snapshot) Revision() uint64 { return s.revision }

// ForCall returns the snapshot bound to a tool call, named by its index in the
// turn, from 0.
func (s Snapshot) ForCall(index int) Snapshot {
	s.bound, s.call = true, int32(index)
	return s
}

// For returns the snapshot bound to the keys of an agent: to read another key is
// an error then, where an unbound snapshot would read as if it were empty.
func (s Snapshot) For(r *Registry) Snapshot {
	s.registry = r
	return s
}

// Unbound returns the snapshot bound to no call and no agent: the next run of the
// thread may be another agent's.
func (s Snapshot) Unbound() Snapshot {
	s.bound, s.call, s.registry = false, 0, nil
	return s
}

// in returns the values of keys that are transient, or those of all others.
func (s Snapshot) in(transient bool) map[KeyPath]*value {
	if transient {
		return s.transient
	}
	return s.values
}

// Paths returns where the state has stored values, sorted: thread, run, calls.
// Those of transient keys are not among them.
func (s Snapshot) Paths() []KeyPath {
	return slices.SortedFunc(maps.Keys(s.values), KeyPath.Compare)
}

// Value returns the JSON of a stored value, which must not be changed; ok is false if it
// does not exist. It serves storage and display: code that knows the key uses [Key.Read].
func (s Snapshot) Value(path KeyPath) (value json.RawMessage, ok bool) {
	v, ok := s.values[path]
	return v.bytes(), ok
}

// Equal reports whether two snapshots have the same revision and the same stored values,
// byte for byte. Their bindings do not count.
func (s Snapshot) Equal(t Snapshot) bool {
	return s.revision == t.revision && maps.EqualFunc(s.values, t.values, func(a, b *value) bool {
		return a == b || bytes.Equal(a.raw, b.raw)
	})
}

// Size is about how much memory the stored values take, in bytes. Values that readers have
// decoded take about as much again, at most.
func (s Snapshot) Size() int {
	const entry = 64 // a path, and a value's slice, in a map
	size := 0
	for path, v := range s.values {
		size += entry + len(path.Name) + len(v.raw)
	}
	return size
}

// BeginRun returns the snapshot as [Fold.BeginRun] leaves it.
func (s Snapshot) BeginRun() Snapshot {
	if len(s.values) == 0 && len(s.transient) == 0 {
		return s.Unbound()
	}
	f := s.Fold()
	f.BeginRun()
	return f.Snapshot()
}

// BeginStep returns the snapshot as [Fold.BeginStep] leaves it.
func (s Snapshot) BeginStep() Snapshot {
	if len(s.values) == 0 && len(s.transient) == 0 {
		return s.Unbound()
	}
	f := s.Fold()
	f.BeginStep()
	return f.Snapshot()
}

// path is where the snapshot has the value of a key.
func (s Snapshot) path(name string, scope Scope) (KeyPath, error) {
	path := KeyPath{Scope: scope, Name: name}
	if scope == ScopeCall {
		if !s.bound {
			return KeyPath{}, fmt.Errorf("state key %q belongs to one tool call: %w", name, errNoCall)
		}
		path.Call = int(s.call)
	}
	return path, nil
}
