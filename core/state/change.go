package state

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// change applies an update to a key's value, both as JSON; an absent value is
// nil. The edits lead from one value to the other, where that is known without
// comparing them; nil means that it is not.
type change func(value, update json.RawMessage) (next json.RawMessage, edits []edit, err error)

// edit is an operation inside a key's value.
type edit struct {
	op    string
	path  string // from the value on, as a JSON pointer; empty: the value itself
	value json.RawMessage
}

// appendElement is the change of a key whose updates append one element each: neither a
// commit nor a fold decodes the list.
func appendElement[E any](key string) change {
	return func(value, update json.RawMessage) (json.RawMessage, []edit, error) {
		decoded, err := decode[E](key, "update", update)
		if err != nil {
			return nil, nil, err
		}
		element, err := encode(key, "update", decoded)
		if err != nil {
			return nil, nil, err
		}
		if isNull(value) {
			return slices.Concat([]byte("["), element, []byte("]")), nil, nil
		}
		begun, isList := bytes.CutSuffix(value, []byte("]"))
		if !isList || value[0] != '[' {
			return nil, nil, core.Errorf(core.CodeCorrupt, "decoding the value of state key %q: it is not a list", key)
		}
		comma := []byte(",")
		if len(begun) == 1 {
			comma = nil
		}
		return slices.Concat(begun, comma, element, []byte("]")), []edit{{opAdd, "/-", element}}, nil
	}
}

// setMembers is the change of a key whose updates set and remove members of an
// object.
func setMembers[M any](key string) change {
	return func(value, update json.RawMessage) (json.RawMessage, []edit, error) {
		members, err := decode[map[string]M](key, "update", update)
		if err != nil {
			return nil, nil, err
		}
		object := leaf(value)
		fresh := isNull(value)
		if fresh {
			object = leaf([]byte("{}"))
		}
		if err := object.open(); err != nil || object.kind != kindObject {
			return nil, nil, core.Errorf(core.CodeCorrupt, "decoding the value of state key %q: it is not an object", key)
		}
		edits := []edit{}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			member, err := encode(key, "update", members[name])
			if err != nil {
				return nil, nil, err
			}
			if e, changes := object.set(name, member); changes {
				edits = append(edits, e)
			}
		}
		if fresh {
			edits = nil // the object itself is new
		}
		return object.json(), edits, nil
	}
}

// set sets or, by null, removes a member of an open object.
func (n *node) set(name string, value json.RawMessage) (made edit, changes bool) {
	was, present := n.members[name]
	switch {
	case isNull(value):
		delete(n.members, name)
		return edit{op: opRemove, path: extend("", name)}, present
	case !present:
		made.op = opAdd
	case bytes.Equal(was.raw, value):
		return edit{}, false
	default:
		made.op = opReplace
	}
	n.members[name] = leaf(value)
	made.path, made.value = extend("", name), value
	return made, true
}

func isNull(value json.RawMessage) bool { return len(value) == 0 || string(value) == "null" }
