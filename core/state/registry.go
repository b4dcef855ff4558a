package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/reveille-run/reveille/core/env"
)

// ErrUnknownKey is a mutation of a key that is not registered: the plugin that
// owns it is not part of the agent. [Registry.Replay] never returns it.
var ErrUnknownKey = errors.New("unknown state key")

// Registry is the set of keys that a state may have. It never changes and is
// safe for concurrent use.
type Registry struct {
	definitions map[string]Definition
}

// NewRegistry returns a registry of the keys. A name that is empty or used
// twice and a key without Apply are errors that name the key.
func NewRegistry(definitions ...Definition) (*Registry, error) {
	r := &Registry{definitions: make(map[string]Definition, len(definitions))}
	for i, d := range definitions {
		if d.name == "" {
			return nil, fmt.Errorf("state key %d has no name", i)
		}
		if d.apply == nil {
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

// Commit applies the batch in order, all of it or nothing, and raises the
// revision by one. An empty batch returns the snapshot unchanged. A key that
// is not registered is [ErrUnknownKey]; an update or a value that does not
// decode has code corrupt; a panic of Apply is an *env.PanicError.
func (r *Registry) Commit(s Snapshot, b Batch) (Snapshot, error) {
	for _, m := range b.Mutations {
		if !r.Has(m.Key) {
			return Snapshot{}, fmt.Errorf("committing state: %w %q", ErrUnknownKey, m.Key)
		}
	}
	return r.Replay(s, b)
}

// Replay is Commit for a stored batch: keys that the code no longer knows are
// skipped, and the revision rises all the same.
func (r *Registry) Replay(s Snapshot, b Batch) (Snapshot, error) {
	if b.IsZero() {
		return s, nil
	}
	next := Snapshot{revision: s.revision + 1, values: make(map[string]json.RawMessage, len(s.values)+len(b.Mutations))}
	maps.Copy(next.values, s.values)
	for _, m := range b.Mutations {
		d, known := r.definitions[m.Key]
		if !known {
			continue
		}
		if err := d.mutate(next.values, m); err != nil {
			return Snapshot{}, fmt.Errorf("committing state: %w", err)
		}
	}
	return next, nil
}

func (d Definition) mutate(values map[string]json.RawMessage, m Mutation) error {
	if len(m.Update) == 0 {
		delete(values, m.Key)
		return nil
	}
	err := env.Protect(func() error {
		raw, err := d.apply(values[m.Key], m.Update)
		if err == nil {
			values[m.Key] = raw
		}
		return err
	})
	var panicked *env.PanicError
	if errors.As(err, &panicked) {
		return fmt.Errorf("applying an update of state key %q: %w", m.Key, err)
	}
	return err
}

// BeginRun drops the values that belong to an earlier run or its calls. The
// revision stays, since nothing is stored for it. Values of unknown keys stay
// too: they belong to the plugins of another agent on the thread.
func (r *Registry) BeginRun(s Snapshot) Snapshot {
	return r.drop(s, func(scope Scope) bool { return scope != ScopeThread })
}

// BeginStep drops the values that belong to an earlier step's tool calls. The
// revision stays.
func (r *Registry) BeginStep(s Snapshot) Snapshot {
	return r.drop(s, func(scope Scope) bool { return scope == ScopeCall })
}

func (r *Registry) drop(s Snapshot, gone func(Scope) bool) Snapshot {
	var kept map[string]json.RawMessage
	for key := range s.values {
		if d, known := r.definitions[key]; known && gone(d.scope) {
			if kept == nil {
				kept = maps.Clone(s.values)
			}
			delete(kept, key)
		}
	}
	if kept == nil {
		return s
	}
	return Snapshot{revision: s.revision, values: kept}
}

// Conflict returns the first key in a's order that both batches change and
// that does not merge. A key that is not registered does not merge.
func (r *Registry) Conflict(a, b Batch) (key string, conflict bool) {
	for _, m := range a.Mutations {
		if r.definitions[m.Key].merge == Commutative {
			continue
		}
		for _, n := range b.Mutations {
			if m.Key == n.Key {
				return m.Key, true
			}
		}
	}
	return "", false
}
