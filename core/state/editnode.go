package state

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// shape is the kind of container that a node is, whether it has been opened or not;
// kindRaw: none.
func (n *node) shape() kind {
	switch {
	case n.kind != kindRaw:
		return n.kind
	case n.raw[0] == '{':
		return kindObject
	case n.raw[0] == '[':
		return kindArray
	default:
		return kindRaw
	}
}

// isAbsent reports whether the value is missing, or null, which means the same.
func (n *node) isAbsent() bool { return n == nil || n.kind == kindRaw && isNull(n.raw) }

// noun is what a reader calls the value.
func (n *node) noun() string {
	switch n.shape() {
	case kindObject:
		return "an object"
	case kindArray:
		return "a list"
	}
	switch n.raw[0] {
	case '"':
		return "a text"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}

// insert puts an element into a list, at an index or, by "-", at the end.
func (n *node) insert(at, token string, value json.RawMessage) ([]edit, error) {
	if n.shape() != kindArray {
		return nil, core.Errorf(core.CodeInvalid, "%w: %s is not a list", errWrongType, n.noun())
	}
	if err := n.add(token, value); err != nil {
		return nil, core.Errorf(core.CodeInvalid, "%w: index %s of a list of %d", errOutOfRange, token, len(n.items))
	}
	return []edit{{opAdd, extend(at, token), value}}, nil
}

// removeElement removes the first element of a list that is equal to the edit's.
func removeElement(target *node, e Edit) ([]edit, error) {
	if target == nil {
		return nil, errMissing
	}
	if target.shape() != kindArray {
		return nil, core.Errorf(core.CodeInvalid, "%w: %s is not a list", errWrongType, target.noun())
	}
	if err := target.open(); err != nil {
		return nil, core.Errorf(core.CodeCorrupt, "opening the document: %w", err)
	}
	for i, item := range target.items {
		if string(item.json()) != string(e.Value) {
			continue
		}
		token := strconv.Itoa(i)
		if err := target.remove(token); err != nil {
			return nil, err
		}
		return []edit{{op: opRemove, path: extend(e.Path, token)}}, nil
	}
	return nil, nil
}

// increase adds to or subtracts from a number.
func increase(target *node, e Edit) ([]edit, error) {
	switch {
	case target == nil:
		return nil, errMissing
	case target.noun() != "a number":
		return nil, core.Errorf(core.CodeInvalid, "%w: %s is not a number", errWrongType, target.noun())
	case leaf(e.Value).noun() != "a number":
		return nil, core.Errorf(core.CodeInvalid, "%w: %s is not an amount", errWrongType, leaf(e.Value).noun())
	}
	sum, err := add(string(target.raw), string(e.Value), e.Op == editDecrement)
	if err != nil {
		return nil, err
	}
	if string(sum) == string(target.raw) {
		return nil, nil
	}
	return put(target, e.Path, sum), nil
}

// add returns the sum of two JSON numbers, or their difference. Integers stay exact;
// anything else is reckoned in 64-bit floats.
func add(a, b string, negative bool) (json.RawMessage, error) {
	tooLarge := core.Errorf(core.CodeInvalid, "%w: %s and %s", errOutOfRange, core.Excerpt(a), core.Excerpt(b))
	if !strings.ContainsAny(a+b, ".eE") {
		x, errX := strconv.ParseInt(a, 10, 64)
		y, errY := strconv.ParseInt(b, 10, 64)
		if errX != nil || errY != nil {
			return nil, tooLarge
		}
		sum := x + y
		over := (sum > x) != (y > 0)
		if negative {
			sum = x - y
			over = (sum < x) != (y > 0)
		}
		if over {
			return nil, tooLarge
		}
		return strconv.AppendInt(nil, sum, 10), nil
	}
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	if negative {
		y = -y
	}
	if errX != nil || errY != nil || math.IsInf(x+y, 0) {
		return nil, tooLarge
	}
	return core.EncodeJSON(x + y)
}
