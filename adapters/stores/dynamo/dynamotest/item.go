package dynamotest

import (
	"encoding/json"
	"strings"
)

// wireItem is an item in DynamoDB's JSON.
type wireItem map[string]json.RawMessage

// wireValue is one attribute, of the types that package dynamo writes.
type wireValue struct {
	S *string
	N *string
	B []byte
	M wireItem // three bytes, and one more for each of its members
}

func (w wireItem) value(name string) (wireValue, bool) {
	var v wireValue
	raw, ok := w[name]
	return v, ok && json.Unmarshal(raw, &v) == nil
}

func (w wireItem) text(name string) string {
	if v, _ := w.value(name); v.S != nil {
		return *v.S
	}
	return ""
}

// size is the item's size in bytes as DynamoDB counts it: attribute names and
// values.
func (w wireItem) size() int {
	size := 0
	for name := range w {
		size += len(name)
		switch v, _ := w.value(name); {
		case v.S != nil:
			size += len(*v.S)
		case v.N != nil:
			size += numberSize(*v.N)
		case v.B != nil:
			size += len(v.B)
		case v.M != nil:
			size += 3 + len(v.M) + v.M.size()
		default:
			size++ // a boolean
		}
	}
	return size
}

func (w wireItem) seen() seen {
	return seen{size: w.size(), keys: [...]string{w.pair("g", "d"), w.pair("w", "o"), w.pair("l", "m")}}
}

// pair is the key of an index, empty when the item has no entry there.
func (w wireItem) pair(hash, sorted string) string {
	if w[hash] == nil || w[sorted] == nil {
		return ""
	}
	return string(w[hash]) + string(w[sorted])
}

// numberSize is one byte, and one more for every two significant digits, and
// one for a minus sign. Leading and trailing zeros do not count.
func numberSize(decimal string) int {
	digits := strings.TrimPrefix(decimal, "-")
	sign := len(decimal) - len(digits)
	return 1 + (len(strings.Trim(digits, "0"))+1)/2 + sign
}
