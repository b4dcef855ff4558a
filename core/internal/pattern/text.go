package pattern

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// Kind is how a text is compared. A higher kind is more specific.
type Kind uint8

// The kinds.
const (
	Regex Kind = 1 // a search for a regular expression of package regexp; unanchored, case-sensitive
	Glob  Kind = 2 // the whole text, with the wildcards *, ? and [..]; case-sensitive
	Exact Kind = 3 // the whole text, byte by byte
)

// String returns exact, glob or regex.
func (k Kind) String() string {
	switch k {
	case Exact:
		return "exact"
	case Glob:
		return "glob"
	case Regex:
		return "regex"
	}
	return "none"
}

// Text matches texts. It is compiled once, may be used by several goroutines and
// allocates nothing. The zero value matches nothing.
type Text struct {
	kind   Kind
	value  string
	number string // value as a canonical number, where it is exact and one
	glob   glob
	regex  *regexp.Regexp
	folded *folded // nil: it does not match loosely
}

// NewText compiles a text of a kind. A value that is longer than [MaxLength], is not UTF-8
// or is invalid for its kind is an error that names it.
func NewText(kind Kind, value string) (Text, error) {
	if len(value) > MaxLength {
		return Text{}, tooLong(value, "")
	}
	t, f := newText(kind, value)
	if f != nil {
		return Text{}, f.in(value, 0)
	}
	return t, nil
}

func newText(kind Kind, value string) (Text, *fault) {
	t := Text{kind: kind, value: value}
	if at := invalidUTF8(value); at >= 0 {
		return Text{}, faultf(at, "is not UTF-8")
	}
	var f *fault
	switch kind {
	case Exact:
		if isNumber(value) {
			t.number = canonicalNumber(value)
		}
	case Glob:
		t.glob, f = compileGlob(value)
	case Regex:
		t.regex, f = compileRegex(value)
	default:
		f = faultf(0, "unknown kind %d, want exact, glob or regex", kind)
	}
	return t, f
}

// compileRegex refuses large programs. Package regexp does not report how large one is, so
// it is compiled here first.
func compileRegex(text string) (*regexp.Regexp, *fault) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, regexFault(text, err)
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, regexFault(text, err)
	}
	if len(program.Inst) > MaxRegex {
		return nil, &fault{limit: ErrRegexTooLarge}
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil, regexFault(text, err)
	}
	return compiled, nil
}

func regexFault(text string, err error) *fault {
	var detail *syntax.Error
	if errors.As(err, &detail) {
		return faultf(0, "regular expression %q: %s: %q", around(text, 0), detail.Code, around(detail.Expr, 0))
	}
	return faultf(0, "regular expression %q: %s", around(text, 0), err)
}

// invalidUTF8 returns where a text stops being UTF-8, -1 where it does not.
func invalidUTF8(text string) int {
	if utf8.ValidString(text) {
		return -1
	}
	for i, c := range text {
		if _, width := utf8.DecodeRuneInString(text[i:]); c == utf8.RuneError && width == 1 {
			return i
		}
	}
	return -1
}

// Kind returns how the text is compared.
func (t Text) Kind() Kind { return t.kind }

// String returns the text as it was given.
func (t Text) String() string { return t.value }

// Match reports whether a text is the exact one, matches the glob from end to end,
// or contains a match of the regular expression.
func (t Text) Match(text string) bool {
	switch t.kind {
	case Exact:
		return text == t.value
	case Glob:
		return t.glob.match(text)
	case Regex:
		return t.regex.MatchString(text)
	}
	return false
}

// passes reports whether a text matches or, where not is true, does not; one that
// matches loosely passes if either of its forms does.
func (t *Text) passes(text string, not bool) bool {
	return t.Match(text) != not || t.folded != nil && t.folded.match(t.kind, text) != not
}

// valuePasses is passes for a JSON value: an exact number matches however either of
// them is spelled.
func (t *Text) valuePasses(v *value, not bool) bool {
	if v.kind == numberValue && t.number != "" {
		return (v.text == t.number) != not
	}
	return t.passes(v.plain(), not)
}

// sameName reports whether a member's name may be that of a field, as far as a rule against
// it is concerned. encoding/json ignores case when it decodes into a field, and a loose
// text ignores more.
func (t *Text) sameName(member, field string) bool {
	return strings.EqualFold(member, field) || t.folded != nil && t.folded.fold(member) == t.folded.fold(field)
}
