package state

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/stateerror"
)

// Scope is how long a key's value lives.
type Scope uint8

// String returns the first word of the scope's paths.
func (s Scope) String() string {
	switch s {
	case ScopeRun:
		return "run"
	case ScopeThread:
		return "thread"
	case ScopeCall:
		return "call"
	default:
		return "scope " + strconv.Itoa(int(s))
	}
}

// The scopes.
const (
	ScopeRun    Scope = iota // until the run ends
	ScopeThread              // as long as the thread
	ScopeCall                // for one tool call, until its step ends
)

// Key names a value of type V that changes by updates of type U. Both are
// stored as JSON. Keys are declared once, as package variables, and registered
// by their Definition. The usual ones are made by a function: [Counter], [Value],
// [List], [Map], [Document], and those of package lattice.
type Key[V, U any] struct {
	Name  string // unique in a registry, and stored: renaming a key loses its values
	Scope Scope  // stored too: a key of another scope starts empty

	// Commutative keys take the updates of concurrent hooks, one after the other without a
	// conflict, in the order in which the hooks are registered. If two hooks change any
	// other key, the later one runs again, on the state that the earlier one committed.
	Commutative bool

	// Transient keeps the value out of patches, and so out of the log: it lasts until the
	// next commit of the step, or until the step is repeated. Every later hook, gate and
	// tool of that stretch reads it; a snapshot that was folded from patches has none. It
	// is for values that the phases of one inference exchange, and that can be made again:
	// it does not count for the revision.
	Transient bool

	// Retain keeps the value when [Registry.Uninstall] removes those of a plugin.
	Retain bool

	// Apply returns the value after an update. It owns both arguments. The returned value
	// is stored, so a later version of Apply changes only later values. An update that
	// waits in a tool's stored result is applied when its round closes, maybe twice: the
	// value must depend on the arguments only.
	Apply func(value V, update U) V

	change change // set by the functions that make a key; nil: computed by Apply
	weigh  bool   // a diff may be smaller than the edits of a change
}

// Read returns the key's value; an absent one is the zero V. A value is decoded once
// and then shared by all who read it: what its maps, pointers and elements lead to
// must not be changed; to append to a list, or to one in a field, is fine. A value
// that does not decode is an error with code [core.CodeCorrupt] (the type of the key
// changed, for example), and stays as it is; a key of ScopeCall needs a snapshot
// that is bound, else it is an error. In a hook, gate or tool a key that no plugin of
// the agent has registered is an error that names it.
func (k Key[V, U]) Read(s Snapshot) (V, error) {
	if s.registry != nil && !s.registry.Has(k.Name) {
		var zero V
		return zero, fmt.Errorf("reading state: %w %q", stateerror.ErrUnknownKey, k.Name)
	}
	path, err := s.path(k.Name, k.Scope)
	if err != nil {
		var zero V
		return zero, err
	}
	return read[V](s.in(k.Transient)[path], k.Name)
}

// Has reports whether the key has a value. It decodes nothing; in a snapshot that is
// bound to no call a key of ScopeCall has none.
func (k Key[V, U]) Has(s Snapshot) bool {
	path, err := s.path(k.Name, k.Scope)
	if err != nil {
		return false
	}
	_, ok := s.in(k.Transient)[path]
	return ok
}

// Update returns the command that updates the value. A U that JSON cannot express
// is the command's Err.
func (k Key[V, U]) Update(update U) Command {
	raw, err := core.EncodeJSON(update)
	if err != nil {
		return Command{Err: fmt.Errorf("encoding an update of state key %q: %w", k.Name, err)}
	}
	return Command{Batch: Batch{Mutations: []Mutation{{Key: k.Name, Update: raw}}}}
}

// Clear returns the command that removes the value; the key then reads as the zero
// V. It works on a value that does not decode, too.
func (k Key[V, U]) Clear() Command {
	return Command{Batch: Batch{Mutations: []Mutation{{Key: k.Name}}}}
}

// Set returns the command that sets the value of a key, and replaces any other, without a
// call of Apply. Unlike updates of a commutative key it conflicts with every other change
// of the key: the later of two hooks runs again. A V that JSON cannot express is the
// command's Err.
func Set[V, U any](k Key[V, U], value V) Command {
	raw, err := encodeCanonical(value)
	if err != nil {
		return Command{Err: fmt.Errorf("encoding a value of state key %q: %w", k.Name, err)}
	}
	return Command{Batch: Batch{Mutations: []Mutation{{Key: k.Name, Value: raw}}}}
}

// Definition is the key without its types, for [Registry.With].
func (k Key[V, U]) Definition() Definition {
	d := Definition{
		name: k.Name, scope: k.Scope, commutative: k.Commutative, transient: k.Transient, retain: k.Retain,
		change: k.change, check: k.check, weigh: k.weigh,
	}
	if d.change == nil && k.Apply != nil {
		d.change = k.compute
	}
	return d
}

// compute is the change of a key that is neither appending nor merging: only
// its Apply knows what comes out.
func (k Key[V, U]) compute(value, update json.RawMessage) (json.RawMessage, []edit, error) {
	v, err := decode[V](k.Name, "value", value)
	if err != nil {
		return nil, nil, err
	}
	u, err := decode[U](k.Name, "update", update)
	if err != nil {
		return nil, nil, err
	}
	next, err := encode(k.Name, "value", k.Apply(v, u))
	return next, nil, err
}

// check returns why a value is invalid for the key.
func (k Key[V, U]) check(value json.RawMessage) error {
	_, err := decode[V](k.Name, "value", value)
	return err
}

func decode[T any](name, what string, raw json.RawMessage) (T, error) {
	var value T
	if len(raw) == 0 {
		return value, nil
	}
	if err := decodeInto(raw, &value, name, what); err != nil {
		var zero T
		return zero, err
	}
	return value, nil
}

func decodeInto(raw json.RawMessage, value any, name, what string) error {
	if err := json.Unmarshal(raw, value); err != nil {
		return core.Errorf(core.CodeCorrupt, "decoding the %s of state key %q: %w", what, name, err)
	}
	return nil
}

func encode(name, what string, value any) (json.RawMessage, error) {
	raw, err := encodeCanonical(value)
	if err != nil {
		return nil, fmt.Errorf("encoding the %s of state key %q: %w", what, name, err)
	}
	return raw, nil
}

// Definition is a key as a [Registry] sees it. Only [Key.Definition] makes one
// that a registry accepts.
type Definition struct {
	name        string
	scope       Scope
	commutative bool
	transient   bool
	retain      bool
	weigh       bool
	change      change
	check       func(value json.RawMessage) error
}

// Name returns the key's name.
func (d Definition) Name() string { return d.name }

// Scope returns how long the key's value lives.
func (d Definition) Scope() Scope { return d.scope }

// Commutative reports whether concurrent hooks may all update the key.
func (d Definition) Commutative() bool { return d.commutative }

// Transient reports whether the key's value is never stored.
func (d Definition) Transient() bool { return d.transient }

// Retain reports whether the key's value stays when its plugin is uninstalled.
func (d Definition) Retain() bool { return d.retain }
