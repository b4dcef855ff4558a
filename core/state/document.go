package state

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/reveille-run/reveille/core"
)

// DocumentKey is a key whose value is a JSON document, read as a V and changed by
// edits at paths. [Document] makes one; [Set] takes the Key in it.
type DocumentKey[V any] struct {
	Key[V, []Edit]
}

// Document returns a key whose updates are lists of edits. V is the type that the document
// is read as: a struct, or a map, or json.RawMessage. Edits of one update apply in order,
// all or none; one that does not fit is the command's error, and so is a document that is
// no longer a V. Its patches hold the changes of the edits.
//
//	var Plan = state.Document[map[string]any]("plan", state.ScopeThread)
//
//	command := Plan.Edit(state.At("title").Set("Move house"), state.At("tasks").Append("boxes"))
//
// Two hooks that edit one document collide, as those of any exclusive key do. Members that
// should merge are values of a lattice, declared by [LatticeAt]. To let two hooks edit such
// a document concurrently, set Commutative too.
func Document[V any](name string, scope Scope, lattices ...Lattice) DocumentKey[V] {
	d := DocumentKey[V]{Key[V, []Edit]{Name: name, Scope: scope, weigh: true}}
	d.change = func(value, update json.RawMessage) (json.RawMessage, []edit, error) {
		steps, err := decode[[]Edit](name, "update", update)
		if err != nil {
			return nil, nil, err
		}
		root := leaf(value)
		if len(value) == 0 {
			root = leaf([]byte("null"))
		}
		edits := []edit{}
		for i, e := range steps {
			made, err := (editor{root: root, lattices: lattices}).apply(e)
			if err != nil {
				return nil, nil, core.Errorf(core.CodeOf(err), "edit %d of state key %q: %s at %q: %w", i, name, e.Op, core.Excerpt(e.Path), err)
			}
			edits = append(edits, made...)
		}
		next := root.json()
		if _, err := decode[V](name, "value", next); err != nil {
			return nil, nil, core.Errorf(core.CodeInvalid, "after edits of state key %q: %w: %w", name, errWrongType, err)
		}
		return next, edits, nil
	}
	return d
}

// Edit returns the command that makes the edits, in order.
func (d DocumentKey[V]) Edit(edits ...Edit) Command { return d.Update(edits) }

// Lattice is a place of a document whose values merge.
type Lattice struct {
	path  string
	merge func(value, delta json.RawMessage) (json.RawMessage, error)
}

// LatticeAt declares that a document has a value of lattice T at a path, which
// [Path.Join] merges into: see package lattice.
func LatticeAt[T interface{ Merge(T) T }](p Path) Lattice {
	return Lattice{p.pointer, func(value, delta json.RawMessage) (json.RawMessage, error) {
		var a, b T
		if len(value) > 0 {
			if err := json.Unmarshal(value, &a); err != nil {
				return nil, core.Errorf(core.CodeInvalid, "%w: %w", errWrongType, err)
			}
		}
		if err := json.Unmarshal(delta, &b); err != nil {
			return nil, core.Errorf(core.CodeInvalid, "%w: %w", errWrongType, err)
		}
		return encodeCanonical(a.Merge(b))
	}}
}

// editor applies edits to a document.
type editor struct {
	root     *node
	lattices []Lattice
}

// apply makes one edit and returns the resulting operations: none when it changes nothing.
// After an error the document is of no use.
func (d editor) apply(e Edit) ([]edit, error) {
	tokens, err := e.tokens()
	if err != nil {
		return nil, err
	}
	if e.Op != editDelete {
		if e.Value, err = canonical(e.Value); err != nil {
			return nil, core.Errorf(core.CodeInvalid, "the value: %w", err)
		}
	}
	target, err := d.find(tokens)
	if err != nil {
		return nil, err
	}
	switch e.Op {
	case editSet:
		return d.set(tokens, e.Value)
	case editDelete:
		return d.remove(tokens)
	case editAppend:
		if target.isAbsent() {
			return d.set(tokens, slices.Concat([]byte("["), e.Value, []byte("]")))
		}
		return target.insert(e.Path, "-", e.Value)
	case editMerge:
		return d.merge(target, tokens, e)
	case editIncrement, editDecrement:
		return increase(target, e)
	case editInsert:
		if target == nil {
			return nil, errMissing
		}
		return target.insert(e.Path, strconv.Itoa(e.Index), e.Value)
	case editRemove:
		return removeElement(target, e)
	case editJoin:
		return d.join(target, tokens, e)
	default:
		return nil, core.Errorf(core.CodeInvalid, "there is no such edit")
	}
}

// find returns what is at a path; nil when nothing is.
func (d editor) find(tokens []string) (*node, error) {
	n := d.root
	for _, token := range tokens {
		if n.shape() != kindObject && n.shape() != kindArray {
			return nil, nil
		}
		if err := n.open(); err != nil {
			return nil, core.Errorf(core.CodeCorrupt, "opening the document: %w", err)
		}
		child, err := n.child(token)
		if err != nil {
			return nil, nil
		}
		n = child
	}
	return n, nil
}

// set puts a value at a path, in objects that it makes if they are missing.
func (d editor) set(tokens []string, value json.RawMessage) ([]edit, error) {
	n, at := d.root, ""
	for i, token := range tokens {
		if n.isAbsent() {
			return put(n, at, nest(tokens[i:], value)), nil
		}
		if err := n.hold(token); err != nil {
			return nil, err
		}
		at = extend(at, token)
		child := n.members[token]
		if n.kind == kindArray {
			j, _ := parseIndex(token)
			child = n.items[j]
		}
		if child == nil {
			made := nest(tokens[i+1:], value)
			n.members[token] = leaf(made)
			return []edit{{opAdd, at, made}}, nil
		}
		n = child
	}
	if string(n.json()) == string(value) {
		return nil, nil
	}
	return put(n, at, value), nil
}

// put replaces a node's value.
func put(n *node, at string, value json.RawMessage) []edit {
	*n = node{raw: value}
	return []edit{{opReplace, at, value}}
}

// nest returns the value within an object for each name.
func nest(names []string, value json.RawMessage) json.RawMessage {
	for _, name := range slices.Backward(names) {
		text, _ := core.EncodeJSON(name) // a string always encodes
		value = slices.Concat([]byte("{"), text, []byte(":"), value, []byte("}"))
	}
	return value
}

// hold opens a container that has a place for a token: any, in an object; that of an
// element, in a list.
func (n *node) hold(token string) error {
	switch n.shape() {
	case kindObject:
	case kindArray:
		if _, ok := parseIndex(token); !ok {
			return core.Errorf(core.CodeInvalid, "%w: a list has no member %q", errWrongType, core.Excerpt(token))
		}
	default:
		return core.Errorf(core.CodeInvalid, "%w: %s has no member %q", errWrongType, n.noun(), core.Excerpt(token))
	}
	if err := n.open(); err != nil {
		return core.Errorf(core.CodeCorrupt, "opening the document: %w", err)
	}
	if i, _ := parseIndex(token); n.kind == kindArray && i >= len(n.items) {
		return core.Errorf(core.CodeInvalid, "%w: index %d of a list of %d", errOutOfRange, i, len(n.items))
	}
	return nil
}

func (d editor) remove(tokens []string) ([]edit, error) {
	if len(tokens) == 0 {
		if d.root.isAbsent() {
			return nil, nil
		}
		return put(d.root, "", json.RawMessage("null")), nil
	}
	last := len(tokens) - 1
	parent, err := d.find(tokens[:last])
	if err != nil || parent == nil {
		return nil, err
	}
	if err := parent.remove(tokens[last]); err != nil {
		return nil, nil // it is not there
	}
	return []edit{{op: opRemove, path: At(tokens...).pointer}}, nil
}

func (d editor) merge(target *node, tokens []string, e Edit) ([]edit, error) {
	if leaf(e.Value).shape() != kindObject {
		return nil, core.Errorf(core.CodeInvalid, "%w: %s to merge", errWrongType, leaf(e.Value).noun())
	}
	if target.isAbsent() {
		return d.set(tokens, e.Value)
	}
	if target.shape() != kindObject {
		return nil, core.Errorf(core.CodeInvalid, "%w: %s is not an object", errWrongType, target.noun())
	}
	members := leaf(e.Value)
	if err := members.open(); err != nil {
		return nil, core.Errorf(core.CodeInvalid, "the value: %w", err)
	}
	var edits []edit
	for _, name := range slices.Sorted(maps.Keys(members.members)) {
		made, err := d.set(append(slices.Clip(tokens), name), members.members[name].raw)
		if err != nil {
			return nil, err
		}
		edits = append(edits, made...)
	}
	return edits, nil
}

func (d editor) join(target *node, tokens []string, e Edit) ([]edit, error) {
	i := slices.IndexFunc(d.lattices, func(l Lattice) bool { return l.path == e.Path })
	if i < 0 {
		return nil, errNoLattice
	}
	var value json.RawMessage
	if !target.isAbsent() {
		value = target.json()
	}
	merged, err := d.lattices[i].merge(value, e.Value)
	if err != nil {
		return nil, err
	}
	if target.isAbsent() {
		return d.set(tokens, merged)
	}
	// A lattice is as large as its history: only the new part of it is worth a record.
	var edits []edit
	for _, o := range compare(e.Path, value, merged, maxDiffDepth) {
		edits = append(edits, edit{o.Op, o.Path, o.Value})
	}
	*target = node{raw: merged}
	return edits, nil
}
