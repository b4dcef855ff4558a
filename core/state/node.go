package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// The reasons why an operation does not fit a value.
var (
	errNoTarget     = errors.New("nothing is there")
	errNotContainer = errors.New("neither an object nor an array is there")
	errBadIndex     = errors.New("no index of the array")
)

// node is a JSON value that can be changed in place. It stays bytes until an
// operation leads inside; then one level of it is taken apart. So a fold pays
// for what its patches touch, and an append to a long list for one element.
type node struct {
	raw     []byte // canonical; nil once the value is taken apart
	owned   bool   // no snapshot holds raw: it may grow in place
	items   []*node
	members map[string]*node
	kind    kind
}

type kind uint8

const (
	kindRaw kind = iota
	kindArray
	kindObject
)

func leaf(value []byte) *node { return &node{raw: value} }

// open takes one level of an object or array apart.
func (n *node) open() error {
	if n.kind != kindRaw {
		return nil
	}
	switch {
	case bytes.HasPrefix(n.raw, []byte("{")):
		var members map[string]json.RawMessage
		if err := json.Unmarshal(n.raw, &members); err != nil {
			return err
		}
		n.members = make(map[string]*node, len(members))
		for name, value := range members {
			n.members[name] = leaf(value)
		}
		n.kind = kindObject
	case bytes.HasPrefix(n.raw, []byte("[")):
		var items []json.RawMessage
		if err := json.Unmarshal(n.raw, &items); err != nil {
			return err
		}
		n.items = make([]*node, len(items))
		for i, value := range items {
			n.items[i] = leaf(value)
		}
		n.kind = kindArray
	default:
		return errNotContainer
	}
	n.raw = nil
	return nil
}

// child returns what a token leads to.
func (n *node) child(token string) (*node, error) {
	if err := n.open(); err != nil {
		return nil, err
	}
	if n.kind == kindObject {
		child, ok := n.members[token]
		if !ok {
			return nil, errNoTarget
		}
		return child, nil
	}
	i, ok := parseIndex(token)
	if !ok {
		return nil, errBadIndex
	}
	if i >= len(n.items) {
		return nil, errNoTarget
	}
	return n.items[i], nil
}

// add puts a value at a token, before what an array has there.
func (n *node) add(token string, value []byte) error {
	if token == "-" && bytes.HasPrefix(n.raw, []byte("[")) {
		return n.push(value)
	}
	if err := n.open(); err != nil {
		return err
	}
	if n.kind == kindObject {
		n.members[token] = leaf(value)
		return nil
	}
	i, ok := parseIndex(token)
	if token == "-" {
		i, ok = len(n.items), true
	}
	if !ok {
		return errBadIndex
	}
	if i > len(n.items) {
		return errNoTarget
	}
	n.items = slices.Insert(n.items, i, leaf(value))
	return nil
}

// push appends an element to an array that is still bytes, and begins as one.
func (n *node) push(value []byte) error {
	if n.raw[len(n.raw)-1] != ']' {
		return errNotContainer
	}
	if !n.owned {
		n.raw, n.owned = append(make([]byte, 0, 2*(len(n.raw)+len(value))), n.raw...), true
	}
	empty := len(n.raw) == 2
	n.raw = n.raw[:len(n.raw)-1]
	if !empty {
		n.raw = append(n.raw, ',')
	}
	n.raw = append(append(n.raw, value...), ']')
	return nil
}

// replace puts a value in the place of what a token leads to.
func (n *node) replace(token string, value []byte) error {
	child, err := n.child(token)
	if err != nil {
		return err
	}
	*child = node{raw: value}
	return nil
}

// remove takes away what a token leads to.
func (n *node) remove(token string) error {
	if _, err := n.child(token); err != nil {
		return err
	}
	if n.kind == kindObject {
		delete(n.members, token)
		return nil
	}
	i, _ := parseIndex(token)
	n.items = slices.Delete(n.items, i, i+1)
	return nil
}

// appendTo appends the value's canonical JSON to b.
func (n *node) appendTo(b []byte) []byte {
	switch n.kind {
	case kindObject:
		b = append(b, '{')
		for i, name := range slices.Sorted(maps.Keys(n.members)) {
			if i > 0 {
				b = append(b, ',')
			}
			text, _ := core.EncodeJSON(name) // a string always encodes
			b = append(append(b, text...), ':')
			b = n.members[name].appendTo(b)
		}
		return append(b, '}')
	case kindArray:
		b = append(b, '[')
		for i, item := range n.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.appendTo(b)
		}
		return append(b, ']')
	default:
		return append(b, n.raw...)
	}
}

// json returns the value's bytes, which a snapshot may keep: their slice has no spare
// capacity.
func (n *node) json() json.RawMessage {
	if n.kind == kindRaw && !n.owned {
		return n.raw
	}
	return slices.Clip(bytes.Clone(n.appendTo(nil)))
}
