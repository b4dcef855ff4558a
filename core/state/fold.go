package state

import (
	"maps"

	"github.com/reveille-run/reveille/core"
)

// Fold builds a snapshot from the patches of a log. It calls no code of those
// who made them, and takes time in proportion to the patches, not to the values
// that they change. After an error it is of no use any more. It is not safe for
// concurrent use. [Snapshot.Fold] makes one.
type Fold struct {
	// Skip reports whether a key already has its value after the record at hand; the
	// record's change of it is skipped then. It serves snapshots that were stored key by
	// key, each at a different time. Nil skips nothing.
	Skip func(KeyPath) bool

	revision uint64
	values   map[KeyPath]*value
	shared   bool              // a snapshot holds values too
	nodes    map[KeyPath]*node // values that are being changed; those in values are out of date
}

// Fold returns a fold that continues from the snapshot. Values of transient keys are
// not part of it.
func (s Snapshot) Fold() *Fold {
	return &Fold{revision: s.revision, values: s.values, shared: true}
}

// Apply folds the patch that led to a revision; an empty one changes nothing, at any
// revision. A patch that does not fit the present state, and one whose revision is not
// later than the fold's (with Skip, older ones are expected), are errors with code
// [core.CodeCorrupt].
func (f *Fold) Apply(p Patch, revision uint64) error {
	if len(p) == 0 {
		return nil
	}
	if f.Skip == nil && revision <= f.revision {
		return core.Errorf(core.CodeCorrupt, "folding state: a patch to revision %d follows revision %d", revision, f.revision)
	}
	if err := f.operate(p); err != nil {
		return err
	}
	f.revision = max(f.revision, revision)
	return nil
}

// BeginRun drops the values of an earlier run and its calls. The revision
// stays: the state of a thread between two runs is the one that the first left.
func (f *Fold) BeginRun() {
	f.drop(func(key KeyPath) bool { return key.Scope != ScopeThread })
}

// BeginStep drops the values of an earlier step's tool calls. The revision
// stays.
func (f *Fold) BeginStep() {
	f.drop(func(key KeyPath) bool { return key.Scope == ScopeCall })
}

func (f *Fold) drop(gone func(KeyPath) bool) {
	for key := range f.values {
		if gone(key) && !f.skips(key) {
			f.own()
			delete(f.values, key)
			delete(f.nodes, key)
		}
	}
}

// Revision is that of the patch folded last.
func (f *Fold) Revision() uint64 { return f.revision }

// Snapshot returns what has been folded so far, bound to no call. It encodes
// the values that changed since the last one. The fold can go on.
func (f *Fold) Snapshot() Snapshot {
	if len(f.nodes) > 0 {
		f.own()
		for key, n := range f.nodes {
			f.values[key] = newValue(n.json())
		}
		clear(f.nodes)
	}
	f.shared = true
	return Snapshot{revision: f.revision, values: f.values}
}

func (f *Fold) skips(key KeyPath) bool { return f.Skip != nil && f.Skip(key) }

// own makes values the fold's alone.
func (f *Fold) own() {
	if !f.shared {
		return
	}
	f.values, f.shared = maps.Clone(f.values), false
	if f.values == nil {
		f.values = map[KeyPath]*value{}
	}
}

func (f *Fold) operate(p Patch) error {
	for i, o := range p {
		if err := f.apply(o); err != nil {
			return core.Errorf(core.CodeCorrupt, "folding operation %d of a state patch: %w", i, err)
		}
	}
	return nil
}

func (f *Fold) apply(o Operation) error {
	key, inside, err := parsePointer(o.Path)
	if err != nil {
		return err
	}
	if f.skips(key) {
		return nil
	}
	if err := o.check(); err != nil {
		return err
	}
	if o.Op != opRemove {
		if o.Value, err = canonical(o.Value); err != nil {
			return refused(o, err)
		}
	}
	if len(inside) == 0 {
		return f.set(key, o)
	}
	whole, present := f.values[key]
	if !present {
		return refused(o, errNoTarget)
	}
	n := f.nodes[key]
	if n == nil {
		n = leaf(whole.raw)
		if f.nodes == nil { // most folds change no value inside
			f.nodes = map[KeyPath]*node{}
		}
		f.nodes[key] = n
	}
	last := len(inside) - 1
	for _, token := range inside[:last] {
		if n, err = n.child(token); err != nil {
			return refused(o, err)
		}
	}
	switch o.Op {
	case opAdd:
		err = n.add(inside[last], o.Value)
	case opReplace:
		err = n.replace(inside[last], o.Value)
	default:
		err = n.remove(inside[last])
	}
	if err != nil {
		return refused(o, err)
	}
	return nil
}

// set changes a key as a whole.
func (f *Fold) set(key KeyPath, o Operation) error {
	if _, present := f.values[key]; !present && o.Op != opAdd {
		return refused(o, errNoTarget)
	}
	f.own()
	delete(f.nodes, key)
	if o.Op == opRemove {
		delete(f.values, key)
	} else {
		f.values[key] = newValue(o.Value)
	}
	return nil
}

func refused(o Operation, err error) error {
	return core.Errorf(core.CodeCorrupt, "%s at %q: %w", o.Op, core.Excerpt(o.Path), err)
}
