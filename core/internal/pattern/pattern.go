package pattern

import (
	"cmp"
	"strings"
)

// Pattern matches tool calls. [Parse] compiles it once; it may be used by several
// goroutines and is copied cheaply. The zero value matches nothing.
type Pattern struct{ compiled *compiled }

type compiled struct {
	text       string // canonical
	tool       Text
	primary    *Text       // of the primary argument; nil: not asked
	conditions []Condition // all must hold
}

// Match reports whether the pattern matches a call under at least one reading of its
// arguments. Rules that deny or ask use it.
func (p Pattern) Match(c *Call) bool {
	some, _ := p.match(c)
	return some
}

// MatchEvery reports whether the pattern matches a call under every reading of its
// arguments. Rules that allow use it: a tool may take another one of two members of the
// same name than a rule has looked at.
func (p Pattern) MatchEvery(c *Call) bool {
	_, every := p.match(c)
	return every
}

func (p Pattern) match(c *Call) (some, every bool) {
	switch {
	case !p.MatchTool(c.name):
		return false, false
	case p.compiled.primary != nil:
		return p.matchPrimary(c)
	case len(p.compiled.conditions) == 0:
		return true, true
	}
	arguments, ok := c.parsed()
	if !ok {
		return false, false
	}
	every = true
	for i := range p.compiled.conditions {
		one, all := p.compiled.conditions[i].holds(arguments, p.compiled.conditions[i].path)
		if !one {
			return false, false
		}
		every = every && all
	}
	return true, every
}

func (p Pattern) matchPrimary(c *Call) (some, every bool) {
	every = true
	for _, r := range c.readings() {
		matches := p.compiled.primary.passes(r.text, false)
		some = some || matches
		every = every && matches && r.sure
	}
	if !some && c.whole && p.compiled.primary.folded != nil && c.root.kind == objectValue {
		for i := range c.root.children {
			some = some || p.compiled.primary.passes(c.root.children[i].plain(), false)
		}
	}
	return some, every
}

// MatchTool reports whether the pattern can match calls of a tool.
func (p Pattern) MatchTool(name string) bool {
	return p.compiled != nil && p.compiled.tool.Match(name)
}

// AnyArguments reports whether the pattern matches every call of the tools that it
// matches.
func (p Pattern) AnyArguments() bool {
	return p.compiled != nil && p.compiled.primary == nil && len(p.compiled.conditions) == 0
}

// String returns the pattern in its canonical form, which [Parse] reads as an equal
// pattern.
func (p Pattern) String() string {
	if p.compiled == nil {
		return ""
	}
	return p.compiled.text
}

// Equal reports whether two patterns are the same but for their spelling.
func (p Pattern) Equal(q Pattern) bool { return p.String() == q.String() }

// MarshalText implements encoding.TextMarshaler: it returns the canonical form.
func (p Pattern) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler by [Parse], so that a field of
// type Pattern of a configuration is checked where it is read.
func (p *Pattern) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*p = parsed
	return nil
}

// format returns the canonical form.
func (c *compiled) format() string {
	tool := c.tool.value
	if c.tool.kind == Regex {
		tool = "/" + tool + "/"
	}
	switch {
	case c.primary != nil:
		return tool + "(" + c.primary.value + ")"
	case len(c.conditions) == 0:
		return tool
	}
	conditions := make([]string, len(c.conditions))
	for i := range c.conditions {
		conditions[i] = c.conditions[i].String()
	}
	return tool + "(" + strings.Join(conditions, ", ") + ")"
}

// Specificity is how closely a pattern describes a call. If two differ, the one whose first
// differing field is greater is more specific.
type Specificity struct {
	Kind       Kind // of the tool
	Arguments  bool // the arguments matter
	Conditions int  // their number, without the primary argument
	Precision  int  // sum of the conditions' kinds: exact 3, glob 2, regex 1
}

// Specificity returns how specific the pattern is.
func (p Pattern) Specificity() Specificity {
	if p.compiled == nil {
		return Specificity{}
	}
	s := Specificity{Kind: p.compiled.tool.kind, Arguments: !p.AnyArguments(), Conditions: len(p.compiled.conditions)}
	for i := range p.compiled.conditions {
		s.Precision += int(p.compiled.conditions[i].want.kind)
	}
	return s
}

// Compare returns a negative number where s is less specific than other, a positive
// one where it is more, and 0 where they are equal.
func (s Specificity) Compare(other Specificity) int {
	return cmp.Or(
		cmp.Compare(s.Kind, other.Kind),
		cmp.Compare(bit(s.Arguments), bit(other.Arguments)),
		cmp.Compare(s.Conditions, other.Conditions),
		cmp.Compare(s.Precision, other.Precision),
	)
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
