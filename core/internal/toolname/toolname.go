// Package toolname has the patterns by which specs allow and exclude tools.
package toolname

import (
	"strings"

	"github.com/reveille-run/reveille/core"
)

// maxPattern is the longest tool pattern, in bytes.
const maxPattern = 1 << 10

// Pattern is a pattern of tools' names. It matches a whole name; * matches any characters,
// none included, \ takes its meaning from the next character, and every other character
// matches itself. It selects the tools of an agent. The calls of a rule are selected by a
// pattern of package pattern, which has another grammar.
type Pattern struct {
	parts []string // the texts between the stars
}

// Parse reads a pattern. One that is empty, is longer than
// 1 KiB or ends in a single backslash is an error with code invalid.
func Parse(pattern string) (Pattern, error) {
	if pattern == "" {
		return Pattern{}, core.Errorf(core.CodeInvalid, "pattern is empty")
	}
	if len(pattern) > maxPattern {
		return Pattern{}, core.Errorf(core.CodeInvalid, "pattern has %d bytes, at most %d are allowed", len(pattern), maxPattern)
	}
	var p Pattern
	var part strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*':
			p.parts = append(p.parts, part.String())
			part.Reset()
		case '\\':
			if i++; i == len(pattern) {
				return Pattern{}, core.Errorf(core.CodeInvalid, `pattern %q ends in a single backslash, write \\ for one`, core.Excerpt(pattern))
			}
			part.WriteByte(pattern[i])
		default:
			part.WriteByte(c)
		}
	}
	p.parts = append(p.parts, part.String())
	return p, nil
}

// Match reports whether the pattern matches the whole name.
func (p Pattern) Match(name string) bool {
	if len(p.parts) == 0 {
		return false // of the zero value, which Parse never returns
	}
	first, last := p.parts[0], p.parts[len(p.parts)-1]
	if len(p.parts) == 1 {
		return name == first
	}
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	name = name[len(first) : len(name)-len(last)]
	for _, part := range p.parts[1 : len(p.parts)-1] {
		// The earliest place leaves the most for later parts.
		_, rest, found := strings.Cut(name, part)
		if !found {
			return false
		}
		name = rest
	}
	return true
}
