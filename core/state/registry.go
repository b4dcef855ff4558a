package state

import (
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core/internal/stateerror"
)

// Registry is the set of keys that the commands of one agent may change. The zero Registry
// has none, and [Registry.With] returns one that has more. A Registry never changes and is
// safe for concurrent use.
type Registry struct {
	definitions map[string]Definition
	listeners   []listener
}

// With returns the registry with more keys. A name that is empty, not UTF-8
// or used twice and a key without Apply are errors that name the key.
func (r *Registry) With(definitions ...Definition) (*Registry, error) {
	next := &Registry{definitions: make(map[string]Definition, len(r.definitions)+len(definitions)), listeners: slices.Clip(r.listeners)}
	maps.Copy(next.definitions, r.definitions)
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
		if d.scope > ScopeCall {
			return nil, fmt.Errorf("state key %q has scope %d, which does not exist", d.name, d.scope)
		}
		if _, exists := next.definitions[d.name]; exists {
			return nil, fmt.Errorf("state key %q is registered twice", d.name)
		}
		next.definitions[d.name] = d
	}
	return next, nil
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

// Uninstall removes the values of the keys, at every scope and of every call, except those
// that are retained. It returns the next snapshot and the patch to it, as [Registry.Commit]
// does. A key that is not registered is an error, and nothing is removed.
//
// Use it to remove a plugin permanently, together with its values. Nothing calls it when an
// agent merely comes without a plugin: a [Fold] keeps the values of unknown keys, since the
// plugin may come back.
func (r *Registry) Uninstall(s Snapshot, keys ...string) (Snapshot, Patch, error) {
	for _, key := range keys {
		if !r.Has(key) {
			return Snapshot{}, nil, fmt.Errorf("uninstalling state keys: %w %q", stateerror.ErrUnknownKey, key)
		}
	}
	gone := func(path KeyPath, _ *value) bool {
		return slices.Contains(keys, path.Name) && !r.definitions[path.Name].retain
	}
	var patch Patch
	for _, path := range s.Paths() {
		if gone(path, nil) {
			patch = append(patch, Operation{Op: opRemove, Path: path.String()})
		}
	}
	next := s
	next.transient = maps.Clone(s.transient)
	maps.DeleteFunc(next.transient, gone)
	if len(patch) > 0 {
		next.revision++
		next.values = maps.Clone(s.values)
		maps.DeleteFunc(next.values, gone)
		r.notify(s, next, patch)
	}
	return next, patch, nil
}
