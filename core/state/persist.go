package state

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/stateerror"
	"github.com/reveille-run/reveille/core/strict"
)

// persisted is the form of one scope's values outside of a thread.
type persisted struct {
	Revision   *uint64                    `json:"revision"`
	Extensions map[string]json.RawMessage `json:"extensions"` // by key
}

// Export returns the stored values of a scope as {"revision":n,"extensions":{key:
// value}}: one text for one state. Values of unregistered keys are part of it, those of
// transient keys are not. Values of a tool call end with its step: to
// export them has code invalid. A value that was stored damaged has code corrupt.
func (s Snapshot) Export(scope Scope) ([]byte, error) {
	if err := portable(scope); err != nil {
		return nil, fmt.Errorf("exporting state: %w", err)
	}
	out := persisted{Revision: &s.revision, Extensions: map[string]json.RawMessage{}}
	for path, v := range s.values {
		if path.Scope != scope {
			continue
		}
		if !json.Valid(v.raw) {
			return nil, core.Errorf(core.CodeCorrupt, "exporting state: the value of state key %q is not JSON", path.Name)
		}
		out.Extensions[path.Name] = v.raw
	}
	return core.EncodeJSON(out)
}

// Import reads what [Snapshot.Export] wrote into a snapshot with values of that scope
// only, bound to no call. A key that is not registered, is transient or has another
// scope is an error that names it; [Registry.ImportKnown] omits it. A value that
// its key cannot decode has code corrupt; a text of another form has code invalid:
// anything but the two members is refused.
func (r *Registry) Import(data []byte, scope Scope) (Snapshot, error) {
	return r.imported(data, scope, false)
}

// ImportKnown is [Registry.Import] without the values of keys that are not registered, are
// transient or have another scope.
func (r *Registry) ImportKnown(data []byte, scope Scope) (Snapshot, error) {
	return r.imported(data, scope, true)
}

func (r *Registry) imported(data []byte, scope Scope, known bool) (Snapshot, error) {
	s, err := r.parse(data, scope, known)
	if err != nil {
		return Snapshot{}, fmt.Errorf("importing state: %w", err)
	}
	return s, nil
}

func (r *Registry) parse(data []byte, scope Scope, known bool) (Snapshot, error) {
	if err := portable(scope); err != nil {
		return Snapshot{}, err
	}
	in, err := decodePersisted(data)
	if err != nil {
		return Snapshot{}, err
	}
	s := Snapshot{revision: *in.Revision, values: make(map[KeyPath]*value, len(in.Extensions))}
	for _, name := range slices.Sorted(maps.Keys(in.Extensions)) {
		d, ok := r.definitions[name]
		if !ok || d.scope != scope || d.transient {
			if known {
				continue
			}
			return Snapshot{}, fmt.Errorf("%w %q of scope %s", stateerror.ErrUnknownKey, name, scope)
		}
		raw, err := canonical(in.Extensions[name])
		if err == nil {
			err = d.check(raw)
		}
		if err != nil {
			return Snapshot{}, err
		}
		s.values[KeyPath{Scope: scope, Name: name}] = newValue(raw)
	}
	return s, nil
}

func decodePersisted(data []byte) (persisted, error) {
	var in persisted
	if err := (strict.Options{MaxDepth: -1}).Decode(data, &in); err != nil {
		return in, core.Errorf(core.CodeInvalid, "decoding it: %w", err)
	}
	if in.Revision == nil {
		return in, core.Errorf(core.CodeInvalid, "it has no revision")
	}
	if in.Extensions == nil {
		return in, core.Errorf(core.CodeInvalid, "it has no extensions")
	}
	return in, nil
}

// portable returns why values of a scope have no form outside of their step.
func portable(scope Scope) error {
	if scope != ScopeRun && scope != ScopeThread {
		return core.Errorf(core.CodeInvalid, "values of %s cannot be exported", scope)
	}
	return nil
}
