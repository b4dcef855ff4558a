package pattern

import (
	"regexp"
	"strings"
	"unicode"
)

// Loose returns the pattern for rules that must not be evaded: it also matches texts that
// differ from a match only in the differences that fold removes, such as upper and lower
// case or the forms of a Unicode character. The loose pattern matches everything that the
// pattern matches, and a negative condition holds if it holds for either form.
//
// Texts, globs and the names of a path's fields are folded like the values; classes of a
// glob and regular expressions ignore case, and are compared with folded values, but are
// not folded themselves. If the primary argument is unknown, a glob of it matches any
// member of the arguments. Names of tools stay as they are: no model chooses them. Ask it
// for [Pattern.Match] only.
func (p Pattern) Loose(fold func(string) string) Pattern {
	if p.compiled == nil {
		return p
	}
	c := *p.compiled
	if c.primary != nil {
		c.primary = c.primary.loosened(fold)
	}
	c.conditions = make([]Condition, len(p.compiled.conditions))
	for i, condition := range p.compiled.conditions {
		condition.want = *condition.want.loosened(fold)
		c.conditions[i] = condition
	}
	return Pattern{&c}
}

// folded is the second form of a text that matches loosely.
type folded struct {
	fold  func(string) string
	exact string
	glob  glob
	regex *regexp.Regexp // nil: the expression has no second form
}

func (t Text) loosened(fold func(string) string) *Text {
	f := &folded{fold: fold}
	switch t.kind {
	case Exact:
		f.exact = fold(t.value)
	case Glob:
		f.glob = t.glob.folded(fold)
	case Regex:
		f.regex, _ = regexp.Compile("(?i:" + t.value + ")")
	}
	t.folded = f
	return &t
}

// match is Text.Match for the folded forms of both.
func (f *folded) match(kind Kind, text string) bool {
	text = f.fold(text)
	switch kind {
	case Exact:
		return text == f.exact
	case Glob:
		return f.glob.match(text)
	case Regex:
		return f.regex != nil && f.regex.MatchString(text)
	}
	return false
}

// folded returns the glob of folded texts. Wildcards and classes stay where they are.
func (g glob) folded(fold func(string) string) glob {
	pieces := make([]piece, len(g.pieces))
	for i, p := range g.pieces {
		if p.items == nil {
			pieces[i] = piece{literal: fold(p.literal)}
			continue
		}
		var run strings.Builder
		var items []item
		flush := func() {
			for _, c := range fold(run.String()) {
				items = append(items, item{char: c})
			}
			run.Reset()
		}
		for _, it := range p.items {
			switch {
			case it.class != nil:
				flush()
				loose := *it.class
				loose.anyCase = true
				items = append(items, item{class: &loose})
			case it.char == anyChar:
				flush()
				items = append(items, it)
			default:
				run.WriteRune(it.char)
			}
		}
		flush()
		pieces[i] = piece{items: items}
	}
	return glob{pieces}
}

// has reports whether one of the class's ranges has a character.
func (s *class) has(c rune) bool {
	for _, r := range s.ranges {
		if r[0] <= c && c <= r[1] {
			return true
		}
	}
	return false
}

// match reports whether the class matches a character. One that ignores case matches if
// it matches the character in any case, negated or not.
func (s *class) match(c rune) bool {
	if s.has(c) != s.negated {
		return true
	}
	if !s.anyCase || c < 0 {
		return false
	}
	for other := unicode.SimpleFold(c); other != c; other = unicode.SimpleFold(other) {
		if s.has(other) != s.negated {
			return true
		}
	}
	return false
}
