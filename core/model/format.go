package model

import (
	"bytes"
	"encoding/json"

	"github.com/reveille-run/reveille/core"
)

// ResponseFormat makes the model respond with JSON of a schema instead of free text.
type ResponseFormat struct {
	Name   string          `json:"name"`             // name of the schema, for the provider: 1 to 64 of A-Z a-z 0-9 _ -
	Schema json.RawMessage `json:"schema"`           // JSON Schema of an object
	Strict bool            `json:"strict,omitempty"` // the provider enforces the schema, where it can; a null may then mean an absent optional member
}

// Check returns an error with code invalid for a name that providers refuse, or a
// schema that is not the object of one. Whether the schema's keywords make sense is
// not looked at here.
func (f ResponseFormat) Check() error {
	if !plainName(f.Name) {
		return core.Errorf(core.CodeInvalid, "response_format.name is %q, want 1 to 64 of A-Z a-z 0-9 _ -", core.Excerpt(f.Name))
	}
	if len(f.Schema) == 0 {
		return core.Errorf(core.CodeInvalid, "response_format.schema is missing")
	}
	if !json.Valid(f.Schema) || bytes.TrimSpace(f.Schema)[0] != '{' {
		return core.Errorf(core.CodeInvalid, "response_format.schema is %s, want a JSON Schema object", core.Excerpt(string(f.Schema)))
	}
	return nil
}

// plainName reports whether every provider accepts the name.
func plainName(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '_' && c != '-' {
			return false
		}
	}
	return len(name) >= 1 && len(name) <= 64
}

// ToolMode decides whether the model may, must or must not call tools.
type ToolMode string

// The tool modes.
const (
	ToolAuto     ToolMode = "auto"     // as the model sees fit
	ToolNone     ToolMode = "none"     // no calls, although the model sees the tools
	ToolRequired ToolMode = "required" // at least one call of any tool
	ToolNamed    ToolMode = "tool"     // a call of the tool that ToolChoice.Name names
)

// ToolChoice bounds the model's choice of tools. The zero value is the provider's
// default, which is auto where there are tools.
type ToolChoice struct {
	Mode ToolMode `json:"mode,omitempty"`
	Name string   `json:"name,omitempty"` // name of the tool; only with mode tool
}

// IsZero reports whether nothing is chosen.
func (c ToolChoice) IsZero() bool { return c == ToolChoice{} }

// Check returns an error with code invalid for an unknown mode, and a name that is
// missing or has no meaning.
func (c ToolChoice) Check() error {
	switch c.Mode {
	case "", ToolAuto, ToolNone, ToolRequired:
		if c.Name != "" {
			return core.Errorf(core.CodeInvalid, `tool_choice.name is %q, which only mode "tool" has`, core.Excerpt(c.Name))
		}
	case ToolNamed:
		if c.Name == "" {
			return core.Errorf(core.CodeInvalid, `tool_choice.name is empty, want the tool of mode "tool"`)
		}
	default:
		return core.Errorf(core.CodeInvalid, `tool_choice.mode is %q, allowed are "auto", "none", "required" and "tool"`, core.Excerpt(string(c.Mode)))
	}
	return nil
}
