package pattern

import (
	"encoding/json"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// Op is a condition's operator.
type Op struct {
	Kind Kind
	Not  bool // the value must not match
}

// operators are the spellings, longer ones before those that they begin with.
var operators = []struct {
	text string
	op   Op
}{
	{"!=~", Op{Regex, true}}, {"!~", Op{Glob, true}}, {"!=", Op{Exact, true}},
	{"=~", Op{Regex, false}}, {"~", Op{Glob, false}}, {"=", Op{Exact, false}},
}

// String returns ~, =, =~, !~, != or !=~.
func (o Op) String() string {
	for _, known := range operators {
		if known.op == o {
			return known.text
		}
	}
	return ""
}

// Condition is a requirement for one field of a JSON value. It holds if any of the
// values that its path leads to passes, also where the operator is a negative one;
// if the path leads to none, it does not hold. It is compiled once and may be used
// by several goroutines. The zero value never holds.
type Condition struct {
	path path
	not  bool
	want Text
}

// NewCondition compiles a condition, such as error.code, {Exact, false} and 403. A
// path or a value that does not parse is an error that names it.
func NewCondition(field string, op Op, want string) (Condition, error) {
	if len(field) > MaxLength {
		return Condition{}, tooLong(field, "")
	}
	steps, f := parsePath(field)
	if f != nil {
		return Condition{}, f.in(field, 0)
	}
	text, err := NewText(op.Kind, want)
	if err != nil {
		return Condition{}, err
	}
	return Condition{path: steps, not: op.Not, want: text}, nil
}

// Match reports whether the condition holds for a JSON value. It never holds for a text
// that is not JSON.
func (c Condition) Match(document json.RawMessage) bool {
	v, ok := parseValue(document)
	if !ok || c.want.kind == 0 {
		return false
	}
	some, _ := c.holds(&v, c.path)
	return some
}

// String returns the condition in the form of a pattern.
func (c Condition) String() string {
	if c.want.kind == 0 {
		return ""
	}
	return c.path.String() + " " + Op{c.want.kind, c.not}.String() + " " + quote(c.want.value)
}

// holds reports whether the condition holds for the values at the rest of a path: under
// some reading of members that may be taken for one another, and under every reading.
func (c *Condition) holds(v *value, rest path) (some, every bool) {
	if len(rest) == 0 {
		passes := c.want.valuePasses(v, c.not)
		return passes, passes && !v.repeated
	}
	switch s := rest[0]; {
	case s.kind == nameStep && v.kind == objectValue:
		return c.holdsNamed(v, s.name, rest[1:])
	case s.kind == anyNameStep && v.kind == objectValue, s.kind == anyIndexStep && v.kind == arrayValue:
		for i := range v.children {
			one, all := c.holds(&v.children[i], rest[1:])
			some = some || one
			if every = all && !v.twin(i); every {
				return true, true
			}
		}
	case s.kind == indexStep && v.kind == arrayValue && s.index < len(v.children):
		return c.holds(&v.children[s.index], rest[1:])
	}
	return some, false
}

// holdsNamed is holds for an object's members of a name: also those whose name
// differs in case alone, which encoding/json decodes into the same field.
func (c *Condition) holdsNamed(v *value, name string, rest path) (some, every bool) {
	found := false
	every = true
	for i := range v.children {
		member := &v.children[i]
		if member.name != name && !c.want.sameName(member.name, name) {
			continue
		}
		found = found || member.name == name
		one, all := c.holds(member, rest)
		some = some || one
		every = every && all
	}
	return some, some && every && found
}

// quote returns a value in the quotes that it contains fewer of. A backslash is
// doubled only where it would be read as the beginning of an escape, so that the result is
// never longer than the parsed text.
func quote(text string) string {
	mark := byte('"')
	if strings.Count(text, "'") < strings.Count(text, `"`) {
		mark = '\''
	}
	b := make([]byte, 0, len(text)+len(`""`))
	b = append(b, mark)
	for i := range len(text) {
		last := i+1 == len(text)
		if text[i] == mark || text[i] == '\\' && (last || text[i+1] == '\\' || text[i+1] == mark) {
			b = append(b, '\\')
		}
		b = append(b, text[i])
	}
	return string(append(b, mark))
}

// tooLong is the error of a text that exceeds the limit; note follows its length.
func tooLong(text, note string) error {
	return core.Errorf(core.CodeTooLarge, "pattern %q has %d bytes%s: %w", core.Excerpt(text), len(text), note, ErrTooLong)
}
