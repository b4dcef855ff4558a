package state

import (
	"encoding/json"
	"fmt"

	"github.com/reveille-run/reveille/core"
)

// Batch is an ordered list of mutations that are applied together or not at all.
type Batch struct {
	Mutations []Mutation `json:"mutations,omitempty"`

	// Base is the revision that the batch was made for; on another one nothing of it is
	// applied. Nil: it fits every state. Hooks need none: the engine finds out by the keys
	// which of them collide.
	Base *uint64 `json:"base,omitempty"`
}

// IsZero reports whether the batch is empty, with any base.
func (b Batch) IsZero() bool { return len(b.Mutations) == 0 }

// On returns the batch for one revision only: the snapshot's.
func (b Batch) On(s Snapshot) Batch {
	base := s.revision
	b.Base = &base
	return b
}

// Touched returns the names of the keys that the batch changes, each once, in the
// order in which they are first changed.
func (b Batch) Touched() []string {
	var keys []string
	seen := make(map[string]bool, len(b.Mutations))
	for _, m := range b.Mutations {
		if !seen[m.Key] {
			seen[m.Key] = true
			keys = append(keys, m.Key)
		}
	}
	return keys
}

// add appends d's mutations to b's. A batch without a base goes with any, and
// so does an empty one.
func (b *Batch) add(d Batch) error {
	switch {
	case d.Base == nil || d.IsZero():
	case b.Base == nil || b.IsZero():
		b.Base = d.Base
	case *b.Base != *d.Base:
		return core.Errorf(core.CodeConflict, "one batch is for revision %d and another for revision %d", *b.Base, *d.Base)
	}
	b.Mutations = append(b.Mutations, d.Mutations...)
	return nil
}

// Mutation changes one key: an update for its Apply, or a whole value, or, with
// neither, a clear back to the zero value. A key of ScopeCall is that of the call
// whose snapshot the batch is committed on.
type Mutation struct {
	Key    string          `json:"key"`
	Update json.RawMessage `json:"update,omitempty"`
	Value  json.RawMessage `json:"value,omitempty"` // the new value of the key, which replaces any old one
}

// merges reports whether the mutation goes with others of a commutative key.
func (m Mutation) merges() bool { return len(m.Update) > 0 }

// Conflict returns the first key in a's order that both batches change in a way
// that does not merge: only updates of commutative keys do. A key that is not
// registered does not merge. Both batches concern the same tool call, or none.
func (r *Registry) Conflict(a, b Batch) (key string, conflict bool) {
	for _, m := range a.Mutations {
		commutes := r.definitions[m.Key].commutative && m.merges()
		for _, n := range b.Mutations {
			if m.Key == n.Key && !(commutes && n.merges()) {
				return m.Key, true
			}
		}
	}
	return "", false
}

// Merge returns one batch with the effect of concurrent batches, in order. Two that change
// a key in ways that do not merge, and two with different bases, have code conflict; a
// batch without a base merges with any.
func (r *Registry) Merge(batches ...Batch) (Batch, error) {
	var all Batch
	for _, b := range batches {
		if key, conflict := r.Conflict(b, all); conflict {
			return Batch{}, core.Errorf(core.CodeConflict, "merging batches: two batches change state key %q in ways that do not merge", key)
		}
		if err := all.add(b); err != nil {
			return Batch{}, fmt.Errorf("merging batches: %w", err)
		}
	}
	return all, nil
}
