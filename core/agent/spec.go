package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// DefaultMaxRounds is the number of steps of a run whose spec says nothing.
const DefaultMaxRounds = 16

// Spec is an agent as data.
type Spec struct {
	ID           string `json:"id"`                      // see [core.CheckName]
	Description  string `json:"description,omitempty"`   // for people and other agents
	SystemPrompt string `json:"system_prompt,omitempty"` // sent with every inference, never stored in a thread
	Model        string `json:"model"`                   // id of a model of the registry

	MaxRounds   *int     `json:"max_rounds,omitempty"`  // steps of a run; nil is [DefaultMaxRounds], 0 no limit
	MaxTokens   int      `json:"max_tokens,omitempty"`  // of one answer; 0: the provider's default
	Temperature *float64 `json:"temperature,omitempty"` // nil: the provider's default

	Plugins          []string `json:"plugins,omitempty"`            // ids, in the order in which their commands commit
	ActiveHookFilter []string `json:"active_hook_filter,omitempty"` // plugins whose hooks, gates and tools are active; empty: all
	AllowedTools     []string `json:"allowed_tools,omitzero"`       // nil: all tools; empty: none
	ExcludedTools    []string `json:"excluded_tools,omitempty"`     // taken from the allowed ones
}

// DecodeSpec reads one spec from JSON, strictly: an unknown field is an error
// that names it, and so is whatever [Spec.Check] refuses. Errors have code
// invalid.
func DecodeSpec(data []byte) (Spec, error) {
	var s Spec
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil {
		return Spec{}, core.Errorf(core.CodeInvalid, "decoding an agent spec: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Spec{}, core.Errorf(core.CodeInvalid, "decoding an agent spec: more than one JSON value")
	}
	if err := s.Check(); err != nil {
		return Spec{}, err
	}
	return s, nil
}

// Check validates the spec by itself, without the registry that it is for. The
// error has code invalid and names the agent and the field.
func (s Spec) Check() error {
	if err := core.CheckName("agent id", s.ID); err != nil {
		return err
	}
	switch {
	case s.Model == "":
		return s.invalid("model is empty")
	case s.MaxRounds != nil && *s.MaxRounds < 0:
		return s.invalid("max_rounds is %d, want 0 (no limit) or more", *s.MaxRounds)
	case s.MaxTokens < 0:
		return s.invalid("max_tokens is %d, want 0 (the provider's default) or more", s.MaxTokens)
	case s.Temperature != nil && !(*s.Temperature >= 0 && !math.IsInf(*s.Temperature, 0)):
		return s.invalid("temperature is %v, want 0 or more", *s.Temperature)
	}
	for _, list := range []struct {
		field string
		names []string
	}{
		{"plugins", s.Plugins},
		{"active_hook_filter", s.ActiveHookFilter},
		{"allowed_tools", s.AllowedTools},
		{"excluded_tools", s.ExcludedTools},
	} {
		for i, name := range list.names {
			if name == "" {
				return s.invalid("%s has an empty name", list.field)
			}
			if slices.Contains(list.names[:i], name) {
				return s.invalid("%s names %q twice", list.field, core.Excerpt(name))
			}
		}
	}
	return nil
}

// Rounds is the number of steps that a run of the agent may take; 0: no limit.
func (s Spec) Rounds() int {
	if s.MaxRounds == nil {
		return DefaultMaxRounds
	}
	return *s.MaxRounds
}

func (s Spec) invalid(format string, args ...any) error {
	return core.Errorf(core.CodeInvalid, "agent %q: "+format, append([]any{s.ID}, args...)...)
}

// clone returns a spec that shares nothing with s.
func (s Spec) clone() Spec {
	if s.MaxRounds != nil {
		s.MaxRounds = new(*s.MaxRounds)
	}
	if s.Temperature != nil {
		s.Temperature = new(*s.Temperature)
	}
	s.Plugins = slices.Clone(s.Plugins)
	s.ActiveHookFilter = slices.Clone(s.ActiveHookFilter)
	s.AllowedTools = slices.Clone(s.AllowedTools)
	s.ExcludedTools = slices.Clone(s.ExcludedTools)
	return s
}
