package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/field"
	"github.com/reveille-run/reveille/core/internal/toolcall"
	"github.com/reveille-run/reveille/core/internal/toolname"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/tool"
)

// Warning is something in a spec that has no effect and was probably meant to have
// one. In a strict spec it is an error.
type Warning struct {
	Agent   string // the spec's id
	Field   string // such as "excluded_tool_patterns"
	Message string
	// Day is the day from which it holds, such as 2026-12-01; empty: it holds now.
	Day string
}

// String returns the warning as one line.
func (w Warning) String() string {
	return fmt.Sprintf("agent %q: %s %s", w.Agent, w.Field, w.Message)
}

// choosing applies a spec's catalog to the tools that there are.
type choosing struct {
	spec     *agent.Spec
	tools    map[string]tool.Tool
	warnings []Warning
}

// choose removes from tools those that the spec does not allow, and returns the entries of
// it that have no effect. A literal name without a tool is an error: a misspelt exclusion
// must not leave its tool in reach. If gone is true, only exclusions are: an allowed tool
// that the program does not have any more is out of reach anyway. The tools of delegates are
// allowed by the spec's delegates.
func choose(s *agent.Spec, tools map[string]tool.Tool, delegates []string, gone bool) ([]Warning, error) {
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
	} else {
		for _, name := range delegates {
			allowed[name] = true
		}
	}
	maps.DeleteFunc(tools, func(name string, _ tool.Tool) bool { return allowed != nil && !allowed[name] || excluded[name] })
	return c.warnings, nil
}

// gone are the tools that the spec names literally, to be had or to be called, and that
// are in neither of the two.
func gone(s *agent.Spec, own []tool.Tool, registered map[string]tool.Tool) (names []string) {
	named := slices.Clone(s.AllowedTools)
	if s.ToolChoice.Mode == model.ToolNamed {
		named = append(named, s.ToolChoice.Name)
	}
	for _, name := range named {
		if registered[name] == nil && name != toolcall.ReadResult && !slices.ContainsFunc(own, func(t tool.Tool) bool { return t.Spec().Name == name }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// names returns the tools that a pair of lists names, never nil.
func (c *choosing) names(which string, literals, patterns []string, gone bool) (map[string]bool, error) {
	named := map[string]bool{}
	for i, name := range literals {
		if _, ok := c.tools[name]; !ok && !gone {
			return nil, field.At(item(which+"_tools", i), c.missing(which, name))
		}
		named[name] = true
	}
	for i, pattern := range patterns {
		parsed, err := toolname.Parse(pattern)
		if err != nil {
			return nil, err
		}
		matched := false
		for name := range c.tools {
			if parsed.Match(name) {
				named[name], matched = true, true
			}
		}
		if !matched && pattern != "*" { // which means all tools, even if there are no tools
			c.warn(fmt.Sprintf("%s_tool_patterns[%d]", which, i), pattern)
		}
	}
	return named, nil
}

// missing is the error of a literal without a tool; it names the list that was meant, where
// that can be seen.
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
