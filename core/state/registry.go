package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
)

// ErrUnknownKey is a mutation of a key that is not registered: the plugin that
// owns it is not part of the agent. Folds never return it.
var ErrUnknownKey = errors.New("unknown state key")

// Registry is the set of keys that the commands of one agent may change; agents
// themselves are in an agent.Registry. It never changes and is
// safe for concurrent use.
type Registry struct {
	definitions map[string]Definition
}

// NewRegistry returns a registry of the keys. A name that is empty, not UTF-8
// or used twice and a key without Apply are errors that name the key.
func NewRegistry(definitions ...Definition) (*Registry, error) {
	r := &Registry{definitions: make(map[string]Definition, len(definitions))}
	for i, d := range definitions {
		if d.name == "" {
			return nil, fmt.Errorf("state key %d has no name", i)
		}
		if !utf8.ValidString(d.name) {
			return nil, fmt.Errorf("state key %q is not UTF-8", d.name)
		}
		if d.change == nil {
			return nil, fmt.Errorf("state key %q has no Apply", d.name)
		}
		if d.scope > ScopeCall || d.merge > Commutative {
			return nil, fmt.Errorf("state key %q has scope %d and merge %d, which do not exist", d.name, d.scope, d.merge)
		}
		if _, exists := r.definitions[d.name]; exists {
			return nil, fmt.Errorf("state key %q is registered twice", d.name)
		}
		r.definitions[d.name] = d
	}
	return r, nil
}

// Has reports whether the key is registered.
func (r *Registry) Has(key string) bool {
	_, ok := r.definitions[key]
	return ok
}

// Scope returns the scope of a key; ok is false when it is not registered.
func (r *Registry) Scope(key string) (scope Scope, ok bool) {
	d, ok := r.definitions[key]
	return d.scope, ok
}

// Commit applies the batch in order, all of it or nothing. It returns the next
// snapshot, bound as s is, and the patch from s to it, whose revision is the
// next one; a batch that changes nothing returns s and no patch, so that one
// revision names one state. A key that is not registered is [ErrUnknownKey]; a
// key of ScopeCall with an unbound snapshot is [ErrNoCall]; an update or a
// value that does not decode has code corrupt; a panic of Apply is an
// *env.PanicError.
func (r *Registry) Commit(s Snapshot, b Batch) (Snapshot, Patch, error) {
	touched := map[KeyPath]*draft{}
	var order []KeyPath
	for _, m := range b.Mutations {
		d, known := r.definitions[m.Key]
		if !known {
			return Snapshot{}, nil, fmt.Errorf("committing state: %w %q", ErrUnknownKey, m.Key)
		}
		path, err := s.path(d.name, d.scope)
		if err != nil {
			return Snapshot{}, nil, fmt.Errorf("committing state: %w", err)
		}
		t := touched[path]
		if t == nil {
			t = &draft{before: s.values[path], value: s.values[path], exact: true}
			touched[path] = t
			order = append(order, path)
		}
		if err := t.mutate(d, m); err != nil {
			return Snapshot{}, nil, fmt.Errorf("committing state: %w", err)
		}
	}
	var patch Patch
	for _, path := range order {
		patch = append(patch, touched[path].patch(path)...)
	}
	if len(patch) == 0 {
		return s, nil, nil
	}
	next := s
	next.revision++
	next.values = make(map[KeyPath]json.RawMessage, len(s.values)+len(order))
	maps.Copy(next.values, s.values)
	for path, t := range touched {
		if t.value == nil {
			delete(next.values, path)
		} else {
			next.values[path] = t.value
		}
	}
	return next, patch, nil
}

// draft is what a commit makes of one key.
type draft struct {
	before json.RawMessage // nil: absent
	value  json.RawMessage
	edits  []edit
	exact  bool // edits lead from before to value
}

func (t *draft) mutate(d Definition, m Mutation) error {
	switch {
	case len(m.Update) == 0 && len(m.Value) == 0:
		t.value, t.exact = nil, false
		return nil
	case len(m.Update) == 0:
		value, err := canonical(m.Value)
		if err != nil {
			return core.Errorf(core.CodeCorrupt, "decoding the value of state key %q: %w", m.Key, err)
		}
		t.value, t.exact = value, false
		return nil
	}
	err := env.Protect(func() error {
		next, edits, err := d.change(t.value, m.Update)
		if err != nil {
			return err
		}
		t.value = next
		t.edits = append(t.edits, edits...)
		t.exact = t.exact && edits != nil
		return nil
	})
	var panicked *env.PanicError
	if errors.As(err, &panicked) {
		return fmt.Errorf("applying an update of state key %q: %w", m.Key, err)
	}
	return err
}

// patch returns the edits where they are known, else the smaller of a diff and
// a replacement.
func (t *draft) patch(path KeyPath) Patch {
	if !t.exact || t.before == nil || t.value == nil {
		return difference(path, t.before, t.value)
	}
	at := path.String()
	var patch Patch
	for _, e := range t.edits {
		patch = append(patch, Operation{Op: e.op, Path: extend(at, e.token), Value: e.value})
	}
	return patch
}

// Conflict returns the first key in a's order that both batches change in a way
// that does not merge: only updates of commutative keys do. A key that is not
// registered does not merge. Both batches concern the same tool call, or none.
func (r *Registry) Conflict(a, b Batch) (key string, conflict bool) {
	for _, m := range a.Mutations {
		commutes := r.definitions[m.Key].merge == Commutative && m.merges()
		for _, n := range b.Mutations {
			if m.Key == n.Key && !(commutes && n.merges()) {
				return m.Key, true
			}
		}
	}
	return "", false
}
