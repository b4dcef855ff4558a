package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/tool"
)

// maxToolPattern is the longest tool pattern, in bytes.
const maxToolPattern = 1 << 10

// toolPattern matches tools by name. A pattern matches a whole name; * stands for
// any characters, none included, \ takes its meaning from the character behind it,
// and every other character stands for itself. It says which tools an agent has; which
// calls a rule is about says a pattern of package pattern, which has another grammar.
type toolPattern struct {
	parts []string // what stands between the stars
}

// parseToolPattern reads a pattern. One that is empty, is longer than
// 1 KiB or ends in a single backslash is an error with code invalid.
func parseToolPattern(pattern string) (toolPattern, error) {
	if pattern == "" {
		return toolPattern{}, core.Errorf(core.CodeInvalid, "pattern is empty")
	}
	if len(pattern) > maxToolPattern {
		return toolPattern{}, core.Errorf(core.CodeInvalid, "pattern has %d bytes, at most %d are allowed", len(pattern), maxToolPattern)
	}
	var p toolPattern
	var part strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*':
			p.parts = append(p.parts, part.String())
			part.Reset()
		case '\\':
			if i++; i == len(pattern) {
				return toolPattern{}, core.Errorf(core.CodeInvalid, `pattern %q ends in a single backslash, \\ stands for one`, core.Excerpt(pattern))
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
func (p toolPattern) Match(name string) bool {
	if len(p.parts) == 0 {
		return false // of the zero value, which parseToolPattern never returns
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
		// The earliest place leaves the most for the parts behind it.
		_, rest, found := strings.Cut(name, part)
		if !found {
			return false
		}
		name = rest
	}
	return true
}

// Warning is something in a spec that has no effect and was probably meant to have
// one. In a strict spec it is an error.
type Warning struct {
	Agent   string // the spec's id
	Field   string // such as "excluded_tool_patterns"
	Message string
}

// String returns the warning as one line.
func (w Warning) String() string {
	return fmt.Sprintf("agent %q: %s %s", w.Agent, w.Field, w.Message)
}

// choosing applies a spec's catalog to the tools that there are.
type choosing struct {
	spec     *Spec
	tools    map[string]tool.Tool
	warnings []Warning
}

// choose removes from tools what the spec does not allow, and returns what in it has
// no effect. A literal name that is no tool is an error: a misspelt exclusion must
// not leave its tool in reach. Where gone is true, only exclusions are: an allowed
// tool that the program does not have any more is out of reach anyway.
func (s *Spec) choose(tools map[string]tool.Tool, gone bool) ([]Warning, error) {
	c := choosing{spec: s, tools: tools}
	allowed, err := c.names("allowed", s.AllowedTools, s.AllowedToolPatterns, gone)
	if err != nil {
		return nil, err
	}
	excluded, err := c.names("excluded", s.ExcludedTools, s.ExcludedToolPatterns, false)
	if err != nil {
		return nil, err
	}
	if s.AllowedTools == nil && s.AllowedToolPatterns == nil {
		allowed = nil
	}
	maps.DeleteFunc(tools, func(name string, _ tool.Tool) bool { return allowed != nil && !allowed[name] || excluded[name] })
	return c.warnings, nil
}

// gone are the tools that the spec names literally, to be had or to be called, and that
// are in neither of the two.
func (s *Spec) gone(own []tool.Tool, registered map[string]tool.Tool) (names []string) {
	named := slices.Clone(s.AllowedTools)
	if s.ToolChoice.Mode == model.ToolNamed {
		named = append(named, s.ToolChoice.Name)
	}
	for _, name := range named {
		if registered[name] == nil && name != tool.ReadResult && !slices.ContainsFunc(own, func(t tool.Tool) bool { return t.Spec().Name == name }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// names returns the tools that a pair of lists names, never nil.
func (c *choosing) names(which string, literals, patterns []string, gone bool) (map[string]bool, error) {
	named := map[string]bool{}
	for _, name := range literals {
		if _, ok := c.tools[name]; !ok && !gone {
			return nil, c.missing(which, name)
		}
		named[name] = true
	}
	for i, pattern := range patterns {
		parsed, err := parseToolPattern(pattern)
		if err != nil {
			return nil, err
		}
		matched := false
		for name := range c.tools {
			if parsed.Match(name) {
				named[name], matched = true, true
			}
		}
		if !matched && pattern != "*" { // which says all tools, even where there are none
			c.warn(fmt.Sprintf("%s_tool_patterns[%d]", which, i), pattern)
		}
	}
	return named, nil
}

// missing is the error of a literal that is no tool; it names the list that was
// meant, where that can be seen.
func (c *choosing) missing(which, name string) error {
	known := slices.Sorted(maps.Keys(c.tools))
	hint := ""
	switch {
	case withArguments(name):
		hint = "; " + argumentsHint
	case strings.Contains(name, "*"):
		hint = fmt.Sprintf("; patterns belong into %s_tool_patterns", which)
	}
	return core.Errorf(core.CodeNotFound, "%w%s", notFound("tool", name, known), hint)
}

func (c *choosing) warn(field, pattern string) {
	message := fmt.Sprintf("%q matches no tool", core.Excerpt(pattern))
	if withArguments(pattern) {
		message += "; " + argumentsHint
	}
	c.warnings = append(c.warnings, Warning{Agent: c.spec.ID, Field: field, Message: message})
}

const argumentsHint = "what depends on a call's arguments belongs into the section permission"

// withArguments reports whether an entry has the shape name(arguments), which is
// that of a permission rule.
func withArguments(entry string) bool {
	i := strings.IndexByte(entry, '(')
	return i > 0 && strings.HasSuffix(entry, ")")
}
