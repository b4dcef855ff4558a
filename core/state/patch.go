package state

import (
	"encoding/json"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// The operations of RFC 6902 that patches use.
const (
	opAdd     = "add"     // sets a member or a whole key, inserts an element
	opReplace = "replace" // what must be there already
	opRemove  = "remove"  // what must be there
)

// Operation is one step of a [Patch].
type Operation struct {
	// Op is a word of RFC 6902: "add" sets a member or a whole key, or inserts an element;
	// "replace" and "remove" change what must be there.
	Op    string          `json:"op"`
	Path  string          `json:"path"`            // a [KeyPath], and what leads into its value
	Value json.RawMessage `json:"value,omitempty"` // none for a remove
}

// UnmarshalJSON implements json.Unmarshaler. An operation that could never be
// folded is an error with code [core.CodeCorrupt].
func (o *Operation) UnmarshalJSON(text []byte) error {
	type plain Operation
	if err := json.Unmarshal(text, (*plain)(o)); err != nil {
		return core.Errorf(core.CodeCorrupt, "decoding an operation of a state patch: %w", err)
	}
	if _, _, err := parsePointer(o.Path); err != nil {
		return err
	}
	return o.check()
}

func (o Operation) check() error {
	switch o.Op {
	case opAdd, opReplace:
		if len(o.Value) == 0 {
			return core.Errorf(core.CodeCorrupt, "operation %q of a state patch at %q has no value", o.Op, core.Excerpt(o.Path))
		}
		return nil
	case opRemove:
		return nil
	default:
		return core.Errorf(core.CodeCorrupt, "operation %q of a state patch does not exist", core.Excerpt(o.Op))
	}
}

// size is how many bytes the operation takes in a record.
func (o Operation) size() int {
	path, _ := core.EncodeJSON(o.Path) // a string always encodes
	size := len(`{"op":"","path":},`) + len(o.Op) + len(path)
	if len(o.Value) > 0 {
		size += len(`,"value":`) + len(o.Value)
	}
	return size
}

// Patch is a change of the state as values: a JSON Patch of RFC 6902, limited
// to add, replace and remove. Folding it needs no code of those who made it.
// The zero Patch changes nothing.
type Patch []Operation

// size is how many bytes the operations take in a record.
func (p Patch) size() int {
	size := 0
	for _, o := range p {
		size += o.size()
	}
	return size
}

// Keys returns the keys that the patch touches, each once, in the order in
// which they are first touched. Operations with an invalid path are omitted.
func (p Patch) Keys() []KeyPath {
	var keys []KeyPath
	seen := make(map[KeyPath]bool, len(p))
	for _, o := range p {
		key, _, err := parsePointer(o.Path)
		if err == nil && !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	return keys
}

// Inverse returns the patch that leads back from what p makes of before. It
// changes no key that p does not touch. A patch that does not fit before is an
// error with code [core.CodeCorrupt].
func (p Patch) Inverse(before Snapshot) (Patch, error) {
	f := before.Fold()
	if err := f.operate(p); err != nil {
		return nil, err
	}
	after := f.Snapshot()
	var back Patch
	for _, key := range p.Keys() {
		back = append(back, difference(key, after.values[key].bytes(), before.values[key].bytes())...)
	}
	return back, nil
}

// Join returns one patch with the effect of p and then of the others, in order. If a key is
// set as a whole, only its last setting and the later operations are kept.
func (p Patch) Join(others ...Patch) Patch {
	size := len(p)
	for _, o := range others {
		size += len(o)
	}
	all := append(slices.Grow(Patch(nil), size), p...)
	for _, o := range others {
		all = append(all, o...)
	}
	if len(all) < 2 {
		return all
	}
	type history struct {
		last  int  // index of the last operation that sets the whole key, if one does
		added bool // the first operation on the key is an add of the whole
		seen  bool
	}
	histories := map[KeyPath]history{}
	keys := make([]KeyPath, len(all))
	for i, o := range all {
		key, inside, err := parsePointer(o.Path)
		if err != nil {
			return all // folding it will return the error
		}
		keys[i] = key
		h := histories[key]
		if !h.seen {
			h = history{added: len(inside) == 0 && o.Op == opAdd, seen: true}
		}
		if len(inside) == 0 && o.Op != opRemove {
			h.last = i
		}
		histories[key] = h
	}
	var joined Patch
	for i, o := range all {
		h := histories[keys[i]]
		if i < h.last {
			continue
		}
		if i == h.last && h.added {
			o.Op = opAdd // the value that a replace would have found is omitted
		}
		joined = append(joined, o)
	}
	return joined
}
