package state

import (
	"encoding/json"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// Only returns the operations on keys that keep accepts: the patch itself when it accepts
// them all. The result can be applied to [Snapshot.Document] of the same keys.
func (p Patch) Only(keep func(KeyPath) bool) Patch {
	refused := func(o Operation) bool {
		key, _, err := parsePointer(o.Path)
		return err != nil || !keep(key)
	}
	if !slices.ContainsFunc(p, refused) {
		return p
	}
	return slices.DeleteFunc(slices.Clone(p), refused)
}

// nothing is the document of no value, shared and never written.
var nothing = json.RawMessage(`{"thread":{},"run":{}}`)

// Document returns the stored values of keys that keep accepts as one JSON object,
// {"thread": {KEY: VALUE}, "run": {KEY: VALUE}}, keys sorted; values of single calls are
// omitted. Patches on those keys fit it. It must not be changed; empty reports that
// it has no value.
func (s Snapshot) Document(keep func(KeyPath) bool) (document json.RawMessage, empty bool) {
	if len(s.values) == 0 { // as in most threads: it costs nothing
		return nothing, true
	}
	b, empty := make([]byte, 0, s.DocumentSize(keep)), true
	for _, scope := range []Scope{ScopeThread, ScopeRun} {
		if scope == ScopeThread {
			b = append(b, `{"thread":{`...)
		} else {
			b = append(b, `},"run":{`...)
		}
		first := true
		for _, path := range s.Paths() {
			if path.Scope != scope || !keep(path) {
				continue
			}
			if !first {
				b = append(b, ',')
			}
			first, empty = false, false
			name, _ := core.EncodeJSON(path.Name) // a string always encodes
			b = append(append(b, name...), ':')
			b = append(b, s.values[path].bytes()...)
		}
	}
	return append(b, "}}"...), empty
}

// DocumentSize returns about how many bytes Document takes, and never fewer than all
// values and names do together. It allocates nothing.
func (s Snapshot) DocumentSize(keep func(KeyPath) bool) int {
	size := len(nothing)
	for path, v := range s.values {
		if path.Scope != ScopeCall && keep(path) {
			size += len(`"":,`) + len(path.Name) + len(v.bytes())
		}
	}
	return size
}
