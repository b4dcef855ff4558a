package rules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/strict"
)

// pattern is a filter: all fields must match. It is the part of EventBridge's
// grammar that the package comment lists.
type pattern struct {
	fields []field // in the order of their names
}

// field is a name with what its value must be: an object that matches within, or a
// value that passes one of the tests.
type field struct {
	name   string
	within *pattern
	tests  []test
}

// test looks at a value; present is false where the event has none.
type test func(value any, present bool) bool

// operators are those of a test that is an object, for errors.
const operators = "prefix, suffix, equals-ignore-case, exists, anything-but, numeric"

func parsePattern(source json.RawMessage) (*pattern, error) {
	err := strict.Options{Raw: true}.Decode(source, new(json.RawMessage))
	if wrong, ok := errors.AsType[*strict.Error](err); ok {
		return nil, core.Errorf(core.CodeInvalid, "%w", wrong.Within("filter"))
	}
	d := json.NewDecoder(bytes.NewReader(source))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, at("filter", fmt.Errorf("is not JSON: %w", err))
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return nil, at("filter", fmt.Errorf("must be an object"))
	}
	return newPattern("filter", fields)
}

func newPattern(path string, fields map[string]any) (*pattern, error) {
	if len(fields) == 0 {
		return nil, at(path, fmt.Errorf("is empty, at least one field is required"))
	}
	p := &pattern{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		f, inner := field{name: name}, path+"."+name
		if strings.HasPrefix(name, "$") {
			return nil, at(inner, fmt.Errorf("is an operator that is not supported"))
		}
		switch value := fields[name].(type) {
		case map[string]any:
			within, err := newPattern(inner, value)
			if err != nil {
				return nil, err
			}
			f.within = within
		case []any:
			if len(value) == 0 {
				return nil, at(inner, fmt.Errorf("is empty, at least one value is required"))
			}
			for i, item := range value {
				one, err := newTest(inner+"["+strconv.Itoa(i)+"]", item)
				if err != nil {
					return nil, err
				}
				f.tests = append(f.tests, one)
			}
		default:
			return nil, at(inner, fmt.Errorf("must be a list of values and operators, or an object"))
		}
		p.fields = append(p.fields, f)
	}
	return p, nil
}

// newTest reads one item of a field's list.
func newTest(path string, item any) (test, error) {
	switch v := item.(type) {
	case map[string]any:
		if len(v) != 1 {
			return nil, at(path, fmt.Errorf("has %d operators, exactly one is allowed of %s", len(v), operators))
		}
		for name, operand := range v {
			return newOperator(path, name, operand)
		}
	case []any:
		return nil, at(path, fmt.Errorf("is a list within a list"))
	}
	return func(value any, present bool) bool { return present && equal(value, item) }, nil
}

func newOperator(path, name string, operand any) (test, error) {
	path += "." + name
	switch name {
	case "exists":
		want, ok := operand.(bool)
		if !ok {
			return nil, at(path, fmt.Errorf("must be true or false"))
		}
		return func(_ any, present bool) bool { return present == want }, nil
	case "numeric":
		return newNumeric(path, operand)
	case "anything-but":
		return newAnythingBut(path, operand)
	}
	compare, ok := map[string]func(value, operand string) bool{
		"prefix": strings.HasPrefix, "suffix": strings.HasSuffix, "equals-ignore-case": strings.EqualFold,
	}[name]
	if !ok {
		return nil, at(path, fmt.Errorf("is an unknown operator, allowed are %s", operators))
	}
	text, ok := operand.(string)
	if !ok {
		return nil, at(path, fmt.Errorf("must be a text"))
	}
	return func(value any, present bool) bool {
		s, is := value.(string)
		return present && is && compare(s, text)
	}, nil
}

// newAnythingBut accepts a value, a list of values, or one prefix, suffix or
// equals-ignore-case. An absent value never matches.
func newAnythingBut(path string, operand any) (test, error) {
	var but []test
	switch v := operand.(type) {
	case map[string]any:
		for name := range v {
			if len(v) != 1 || name != "prefix" && name != "suffix" && name != "equals-ignore-case" {
				return nil, at(path, fmt.Errorf("allows a value, a list of values, or one of prefix, suffix, equals-ignore-case"))
			}
		}
		one, err := newTest(path, v)
		if err != nil {
			return nil, err
		}
		but = append(but, one)
	case []any:
		for i, item := range v {
			if _, nested := item.(map[string]any); nested {
				return nil, at(path, fmt.Errorf("has an operator in its list, allowed are values"))
			}
			one, err := newTest(path+"["+strconv.Itoa(i)+"]", item)
			if err != nil {
				return nil, err
			}
			but = append(but, one)
		}
		if len(v) == 0 {
			return nil, at(path, fmt.Errorf("is empty, at least one value is required"))
		}
	default:
		but = append(but, func(value any, _ bool) bool { return equal(value, v) })
	}
	return func(value any, present bool) bool {
		return present && !slices.ContainsFunc(but, func(t test) bool { return t(value, true) })
	}, nil
}

// comparisons are those of numeric.
var comparisons = map[string]func(a, b float64) bool{
	"=":  func(a, b float64) bool { return a == b },
	"<":  func(a, b float64) bool { return a < b },
	"<=": func(a, b float64) bool { return a <= b },
	">":  func(a, b float64) bool { return a > b },
	">=": func(a, b float64) bool { return a >= b },
}

// newNumeric takes pairs of comparison and number, all of which must hold.
func newNumeric(path string, operand any) (test, error) {
	pairs, ok := operand.([]any)
	if !ok || len(pairs) == 0 || len(pairs)%2 != 0 {
		return nil, at(path, fmt.Errorf(`must be a list of comparisons and numbers, such as [">", 0, "<=", 10]`))
	}
	var all []func(float64) bool
	for i := 0; i < len(pairs); i += 2 {
		name, _ := pairs[i].(string)
		compare, known := comparisons[name]
		bound, isNumber := number(pairs[i+1])
		if !known || !isNumber {
			return nil, at(path, fmt.Errorf("has %v %v, allowed are =, <, <=, >, >= before a number", pairs[i], pairs[i+1]))
		}
		all = append(all, func(v float64) bool { return compare(v, bound) })
	}
	return func(value any, present bool) bool {
		v, is := number(value)
		return present && is && !slices.ContainsFunc(all, func(holds func(float64) bool) bool { return !holds(v) })
	}, nil
}

// number is the value of a JSON number.
func number(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

// equal compares plain values; numbers by what they are, not how they are written.
func equal(value, want any) bool {
	a, isNumber := number(value)
	b, wantsNumber := number(want)
	if isNumber && wantsNumber {
		return a == b
	}
	switch value.(type) {
	case object, list:
		return false
	}
	return value == want
}

// matches reports whether an event's value has everything that the pattern requires. If
// the value is a list, one item must match.
func (p *pattern) matches(value any) bool {
	if items, ok := value.(list); ok {
		return slices.ContainsFunc(items, p.matches)
	}
	o, _ := value.(object) // anything else has no fields
	return !slices.ContainsFunc(p.fields, func(f field) bool { return !f.matches(o) })
}

func (f field) matches(o object) bool {
	value, present := o[f.name]
	if f.within != nil {
		return f.within.matches(value)
	}
	items, ok := value.(list)
	if !ok {
		return slices.ContainsFunc(f.tests, func(t test) bool { return t(value, present) })
	}
	return slices.ContainsFunc(f.tests, func(t test) bool {
		return len(items) == 0 && t(list{}, true) || slices.ContainsFunc(items, func(item any) bool { return t(item, true) })
	})
}
