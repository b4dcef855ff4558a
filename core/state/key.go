package state

import (
	"encoding/json"
	"fmt"

	"github.com/reveille-run/reveille/core"
)

// Scope says how long a key's value lives.
type Scope uint8

// The scopes.
const (
	ScopeRun    Scope = iota // until the run ends
	ScopeThread              // as long as the thread
	ScopeCall                // for one step's tool calls
)

// Merge says whether two concurrent hooks may change the same key.
type Merge uint8

// The merges. Exclusive keys make the later of two hooks run again on what the
// earlier one committed; Commutative keys take both updates in order.
const (
	Exclusive Merge = iota
	Commutative
)

// Key names a value of type V that changes by updates of type U. Both are
// stored as JSON. Keys are declared once, as package variables, and registered
// by their Definition.
type Key[V, U any] struct {
	Name  string // unique in a registry, and stored: renaming a key loses its values
	Scope Scope
	Merge Merge

	// Apply answers the value after an update. It must depend on its arguments
	// only, since folding the stored updates repeats it. It owns both arguments.
	Apply func(value V, update U) V
}

// Read decodes the key's value; an absent one is the zero V. The value is the
// caller's own copy. A value that does not decode is an error with code
// [core.CodeCorrupt].
func (k Key[V, U]) Read(s Snapshot) (V, error) {
	raw, _ := s.Raw(k.Name)
	return decode[V](k.Name, "value", raw)
}

// Update appends an update to the command. The only error is a U that JSON
// cannot express; the command is unchanged then.
func (k Key[V, U]) Update(c *Command, update U) error {
	raw, err := core.EncodeJSON(update)
	if err != nil {
		return fmt.Errorf("encoding an update of state key %q: %w", k.Name, err)
	}
	c.Batch.Mutations = append(c.Batch.Mutations, Mutation{Key: k.Name, Update: raw})
	return nil
}

// Clear appends the removal of the value to the command; the key then reads as
// the zero V.
func (k Key[V, U]) Clear(c *Command) {
	c.Batch.Mutations = append(c.Batch.Mutations, Mutation{Key: k.Name})
}

// Definition is the key without its types, for [NewRegistry].
func (k Key[V, U]) Definition() Definition {
	d := Definition{name: k.Name, scope: k.Scope, merge: k.Merge}
	if k.Apply != nil {
		d.apply = k.apply
	}
	return d
}

func (k Key[V, U]) apply(value, update json.RawMessage) (json.RawMessage, error) {
	v, err := decode[V](k.Name, "value", value)
	if err != nil {
		return nil, err
	}
	u, err := decode[U](k.Name, "update", update)
	if err != nil {
		return nil, err
	}
	raw, err := core.EncodeJSON(k.Apply(v, u))
	if err != nil {
		return nil, fmt.Errorf("encoding the value of state key %q: %w", k.Name, err)
	}
	return raw, nil
}

func decode[T any](name, what string, raw json.RawMessage) (T, error) {
	var value T
	if len(raw) == 0 {
		return value, nil
	}
	if err := json.Unmarshal(raw, &value); err != nil {
		var zero T
		return zero, core.Errorf(core.CodeCorrupt, "decoding the %s of state key %q: %w", what, name, err)
	}
	return value, nil
}

// Definition is a key as a [Registry] sees it. Only [Key.Definition] makes one
// that a registry accepts.
type Definition struct {
	name  string
	scope Scope
	merge Merge
	apply func(value, update json.RawMessage) (json.RawMessage, error)
}

// Name returns the key's name.
func (d Definition) Name() string { return d.name }

// Scope returns how long the key's value lives.
func (d Definition) Scope() Scope { return d.scope }

// Merge returns whether concurrent updates are compatible.
func (d Definition) Merge() Merge { return d.merge }
