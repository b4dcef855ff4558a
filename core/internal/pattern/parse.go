package pattern

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Parse compiles a pattern; the package comment has the grammar. Its error has code invalid
// and wraps a [SyntaxError], or wraps [ErrTooLong] or [ErrRegexTooLarge]; each names the
// pattern.
func Parse(text string) (Pattern, error) {
	if len(text) > MaxLength {
		return Pattern{}, tooLong(text, "")
	}
	p := parser{text: text, end: len(strings.TrimRightFunc(text, unicode.IsSpace))}
	c, f := p.pattern()
	if f != nil {
		return Pattern{}, f.in(text, 0)
	}
	if c.text = c.format(); len(c.text) > MaxLength {
		return Pattern{}, tooLong(c.text, " in its canonical form")
	}
	return Pattern{c}, nil
}

// MustParse is Parse for patterns that are constants of a program. It panics on an
// error.
func MustParse(text string) Pattern {
	p, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return p
}

// parser reads a pattern forwards. Offsets of its faults count from the beginning of the
// text.
type parser struct {
	text string
	at   int
	end  int // where the text ends but for blanks
}

func (p *parser) rest() string { return p.text[p.at:p.end] }

func (p *parser) skipSpace() {
	p.at = p.end - len(strings.TrimLeftFunc(p.rest(), unicode.IsSpace))
}

// found names the text at the parser's place.
func (p *parser) found() string {
	if p.at == p.end {
		return "the end"
	}
	c, _ := utf8.DecodeRuneInString(p.rest())
	return fmt.Sprintf("%q", c)
}

func (p *parser) pattern() (*compiled, *fault) {
	if at := invalidUTF8(p.text); at >= 0 {
		return nil, faultf(at, "is not UTF-8")
	}
	p.skipSpace()
	if p.at == p.end {
		return nil, faultf(0, "is empty, want a tool's name such as Bash, a glob such as mcp__* or a regular expression such as /^mcp__/")
	}
	c := &compiled{}
	var f *fault
	if p.text[p.at] == '/' {
		c.tool, f = p.regexTool()
	} else {
		c.tool, f = p.plainTool()
	}
	if f != nil {
		return nil, f
	}
	p.skipSpace()
	if p.at == p.end {
		return c, nil
	}
	if p.text[p.at] != '(' {
		return nil, faultf(p.at, "%s after the tool, want ( or the end", p.found())
	}
	p.at++
	return c, p.arguments(c)
}

// regexTool reads /body/. The body ends at the first slash that is neither escaped
// nor in parentheses.
func (p *parser) regexTool() (Text, *fault) {
	begin := p.at
	depth := 0
	for p.at++; p.at < p.end; p.at++ {
		switch p.text[p.at] {
		case '\\':
			p.at++
		case '(':
			depth++
		case ')':
			depth = max(depth-1, 0)
		case '/':
			if depth > 0 {
				continue
			}
			body := p.text[begin+1 : p.at]
			if body == "" {
				return Text{}, faultf(begin, "regular expression is empty, /.*/ matches every tool")
			}
			p.at++
			t, f := newText(Regex, body)
			return t, f.shift(begin + 1)
		}
	}
	return Text{}, faultf(begin, "regular expression has no / at its end; a / within it is written \\/, a single parenthesis \\( or \\)")
}

// plainTool reads a name or a glob, which ends at a blank or a parenthesis.
func (p *parser) plainTool() (Text, *fault) {
	begin := p.at
	if n := strings.IndexFunc(p.rest(), func(c rune) bool { return c == '(' || c == ')' || unicode.IsSpace(c) }); n >= 0 {
		p.at += n
	} else {
		p.at = p.end
	}
	name := p.text[begin:p.at]
	if name == "" {
		return Text{}, faultf(begin, "%s in place of a tool, use * for every tool", p.found())
	}
	kind := Exact
	if strings.ContainsAny(name, "*?[") {
		kind = Glob
	}
	t, f := newText(kind, name)
	return t, f.shift(begin)
}

// arguments reads the text after the opening parenthesis, and checks that nothing follows
// the closing one.
func (p *parser) arguments(c *compiled) *fault {
	p.skipSpace()
	if p.named() {
		if f := p.conditions(c); f != nil {
			return f
		}
	} else if f := p.primary(c); f != nil {
		return f
	}
	p.skipSpace()
	if p.at < p.end {
		return faultf(p.at, "%s after the closing parenthesis, want the end", p.found())
	}
	return nil
}

// named reports whether the arguments begin as a condition does: with characters of
// a path and an operator, or with any other word, an operator and a quote. Whether
// the path is one is not asked here: a misspelt condition must not become a glob
// that never matches.
func (p *parser) named() bool {
	rest := p.rest()
	if n := span(rest, pathCharacters); n > 0 && !inClass(rest[:n]) {
		if _, ok := operator(strings.TrimLeftFunc(rest[n:], unicode.IsSpace)); ok {
			return true
		}
	}
	n := strings.IndexFunc(rest, func(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune("~=!\"'()", c) })
	if n <= 0 || inClass(rest[:n]) {
		return false
	}
	rest = strings.TrimLeftFunc(rest[n:], unicode.IsSpace)
	i, ok := operator(rest)
	if !ok {
		return false
	}
	rest = strings.TrimLeftFunc(rest[len(operators[i].text):], unicode.IsSpace)
	return rest != "" && (rest[0] == '"' || rest[0] == '\'')
}

// inClass reports whether what follows a text is still in brackets.
func inClass(text string) bool {
	return strings.LastIndexByte(text, '[') > strings.LastIndexByte(text, ']')
}

// operator returns the index of the operator that a text begins with.
func operator(text string) (int, bool) {
	for i, known := range operators {
		if strings.HasPrefix(text, known.text) {
			return i, true
		}
	}
	return 0, false
}

// primary reads (*) and (glob).
func (p *parser) primary(c *compiled) *fault {
	begin := p.at
	end, f := p.closing()
	if f != nil {
		return f
	}
	text := strings.TrimRightFunc(p.text[begin:end], unicode.IsSpace)
	p.at = end + 1
	switch text {
	case "":
		return faultf(begin, "nothing in the parentheses, want a glob, conditions, or (*) for any arguments")
	case "*":
		return nil
	}
	t, f := newText(Glob, text)
	c.primary = &t
	return f.shift(begin)
}

// closing returns the place of the parenthesis that closes the one before the parser's
// place. Those in a class are characters.
func (p *parser) closing() (int, *fault) {
	depth := 1
	for at := p.at; at < p.end; at++ {
		switch p.text[at] {
		case '[':
			end, f := classEnd(p.text[:p.end], at)
			if f != nil {
				return 0, f
			}
			at = end
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return at, nil
			}
		}
	}
	return 0, faultf(p.end, "no ) at the end; a single parenthesis within is written [(] or [)]")
}

// conditions reads conditions up to the closing parenthesis.
func (p *parser) conditions(c *compiled) *fault {
	for {
		p.skipSpace()
		condition, f := p.condition()
		if f != nil {
			return f
		}
		c.conditions = append(c.conditions, condition)
		p.skipSpace()
		next := p.found()
		p.at++
		switch next {
		case "')'":
			return nil
		case "','":
		default:
			return faultf(p.at-1, "%s after a condition, want , or )", next)
		}
	}
}

func (p *parser) condition() (Condition, *fault) {
	var c Condition
	var f *fault
	n := span(p.rest(), pathCharacters)
	if c.path, f = parsePath(p.rest()[:n]); f != nil {
		return c, f.shift(p.at)
	}
	p.at += n
	p.skipSpace()
	i, ok := operator(p.rest())
	if !ok {
		return c, faultf(p.at, "%s after a field, want one of ~ = =~ !~ != !=~", p.found())
	}
	op := operators[i].op
	p.at += len(operators[i].text)
	p.skipSpace()
	begin := p.at
	text, f := p.quoted(operators[i].text)
	if f != nil {
		return c, f
	}
	c.not = op.Not
	if c.want, f = newText(op.Kind, text); f != nil {
		f.offset = begin + 1 + quotedOffset(p.text[begin:p.at], f.offset)
	}
	return c, f
}

// quoted reads a value in quotes. A backslash takes the meaning from the quote that
// ends the value and from another backslash, and is itself before anything else.
func (p *parser) quoted(operator string) (string, *fault) {
	if p.at == p.end || p.text[p.at] != '"' && p.text[p.at] != '\'' {
		return "", faultf(p.at, `%s after %s, want a value in quotes; write a glob of the primary argument that starts so with [%c]`, p.found(), operator, operator[0])
	}
	begin := p.at
	mark := p.text[begin]
	var value strings.Builder
	for p.at++; p.at < p.end; p.at++ {
		switch c := p.text[p.at]; {
		case c == mark:
			p.at++
			return value.String(), nil
		case escapes(p.text[p.at:p.end], mark):
			p.at++
		}
		value.WriteByte(p.text[p.at])
	}
	return "", faultf(begin, "value has no %c at its end", mark)
}

// escapes reports whether a text begins with an escape of a value in such quotes.
func escapes(text string, mark byte) bool {
	return len(text) > 1 && text[0] == '\\' && (text[1] == '\\' || text[1] == mark)
}

// quotedOffset returns the place of the n-th byte of a value after its opening quote.
func quotedOffset(quoted string, n int) int {
	at := 1
	for range n {
		if escapes(quoted[at:], quoted[0]) {
			at++
		}
		at++
	}
	return at - 1
}
