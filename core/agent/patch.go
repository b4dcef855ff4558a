package agent

import (
	"encoding/json"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/strict"
)

// Field is one field of a [Patch]: absent (the zero value: the base's stays), null
// ([Clear]: the default takes its place) or a value ([Set]).
type Field[T any] struct {
	said  bool
	value *T // nil: null
}

// Set is a field with a value.
func Set[T any](value T) Field[T] { return Field[T]{said: true, value: &value} }

// Clear is a field that is null.
func Clear[T any]() Field[T] { return Field[T]{said: true} }

// IsZero reports whether the field is absent.
func (f Field[T]) IsZero() bool { return !f.said }

// Value returns the field's value; ok is false where it is absent or null.
func (f Field[T]) Value() (value T, ok bool) {
	if f.value == nil {
		return value, false
	}
	return *f.value, true
}

// Null reports whether the field clears the base's.
func (f Field[T]) Null() bool { return f.said && f.value == nil }

// MarshalJSON implements json.Marshaler.
func (f Field[T]) MarshalJSON() ([]byte, error) { return core.EncodeJSON(f.value) }

// UnmarshalJSON implements json.Unmarshaler, which is called for null too.
func (f *Field[T]) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*f = Clear[T]()
		return nil
	}
	var value T
	if err := strict.Decode(data, &value); err != nil {
		return err
	}
	*f = Set(value)
	return nil
}

// over lays the field over the base's.
func (f Field[T]) over(base *T) {
	if f.said {
		*base, _ = f.Value()
	}
}

// overPointer does so for a field of a spec that may be nil.
func overPointer[T any](base **T, f Field[T]) {
	if f.said {
		*base = copied(f.value)
	}
}

// Patch changes fields of a spec, see [Merge]. All of them but the id can be patched.
type Patch struct {
	Description          Field[string]                     `json:"description,omitzero"`
	SystemPrompt         Field[string]                     `json:"system_prompt,omitzero"`
	Model                Field[string]                     `json:"model,omitzero"` // never null
	MaxRounds            Field[int]                        `json:"max_rounds,omitzero"`
	Stop                 Field[[]StopSpec]                 `json:"stop,omitzero"` // the whole list
	MaxContinuations     Field[int]                        `json:"max_continuations,omitzero"`
	MaxRepairs           Field[int]                        `json:"max_repairs,omitzero"`
	Retry                Field[Retry]                      `json:"retry,omitzero"`
	MaxTokens            Field[int]                        `json:"max_tokens,omitzero"`
	Temperature          Field[float64]                    `json:"temperature,omitzero"`
	TopP                 Field[float64]                    `json:"top_p,omitzero"`
	StopSequences        Field[[]string]                   `json:"stop_sequences,omitzero"`
	ReasoningEffort      Field[model.Effort]               `json:"reasoning_effort,omitzero"`
	ResponseFormat       Field[model.ResponseFormat]       `json:"response_format,omitzero"`
	ToolChoice           Field[model.ToolChoice]           `json:"tool_choice,omitzero"`
	ProviderOptions      Field[map[string]json.RawMessage] `json:"provider_options,omitzero"` // merged by the provider's id; null ones are removed
	ExecutionMode        Field[ExecutionMode]              `json:"execution_mode,omitzero"`
	Events               Field[EventMode]                  `json:"events,omitzero"`
	Context              Field[ContextWindowPolicy]        `json:"context,omitzero"`
	Plugins              Field[[]string]                   `json:"plugins,omitzero"`
	ActiveHookFilter     Field[[]string]                   `json:"active_hook_filter,omitzero"`
	AllowedTools         Field[[]string]                   `json:"allowed_tools,omitzero"`
	AllowedToolPatterns  Field[[]string]                   `json:"allowed_tool_patterns,omitzero"`
	ExcludedTools        Field[[]string]                   `json:"excluded_tools,omitzero"`
	ExcludedToolPatterns Field[[]string]                   `json:"excluded_tool_patterns,omitzero"`
	Delegates            Field[[]string]                   `json:"delegates,omitzero"`
	Hidden               Field[bool]                       `json:"hidden,omitzero"`
	ExposedTools         Field[[]string]                   `json:"exposed_tools,omitzero"`
	Sections             Field[map[string]json.RawMessage] `json:"sections,omitzero"` // merged by name; a null one is removed
	Strict               Field[bool]                       `json:"strict,omitzero"`
}

// patchText is a patch as JSON.
type patchText struct {
	Patch
	ActivePlugins Field[[]string] `json:"active_plugins"` // another name of active_hook_filter
}

// DecodePatch reads a patch from JSON, strictly: an unknown field is an error with
// code invalid, and the id is one. What the values lead to is [Merge]'s to check.
func DecodePatch(data []byte) (Patch, error) {
	var text patchText
	if err := strict.Decode(data, &text); err != nil {
		return Patch{}, core.Errorf(core.CodeInvalid, "agent patch: %w", err)
	}
	p := text.Patch
	if text.ActivePlugins.said {
		if p.ActiveHookFilter.said {
			return Patch{}, core.Errorf(core.CodeInvalid, "agent patch: active_plugins is another name of active_hook_filter, give one of them")
		}
		p.ActiveHookFilter = text.ActivePlugins
	}
	if p.Model.Null() {
		return Patch{}, core.Errorf(core.CodeInvalid, "agent patch: model is null, an agent has one")
	}
	return p, nil
}

// Merge returns base with the patch laid over it. A field of the patch replaces the
// base's as a whole, but sections and provider options, which it replaces one by one. The
// result is checked; its errors are those of [Spec.Check].
//
// Null never brings back that an absent catalog allows every tool: where the patch
// touched allowed_tool_patterns, or took the last allowed names away, a spec that
// says neither allows none. {"allowed_tool_patterns": ["*"]} allows all again.
func Merge(base Spec, p Patch) (Spec, error) {
	s := base.normal()
	p.Description.over(&s.Description)
	p.SystemPrompt.over(&s.SystemPrompt)
	p.Model.over(&s.Model)
	overPointer(&s.MaxRounds, p.MaxRounds)
	p.Stop.over(&s.Stop)
	overPointer(&s.MaxContinuations, p.MaxContinuations)
	overPointer(&s.MaxRepairs, p.MaxRepairs)
	p.Retry.over(&s.Retry)
	p.MaxTokens.over(&s.MaxTokens)
	overPointer(&s.Temperature, p.Temperature)
	overPointer(&s.TopP, p.TopP)
	p.StopSequences.over(&s.StopSequences)
	p.ReasoningEffort.over(&s.ReasoningEffort)
	overPointer(&s.ResponseFormat, p.ResponseFormat)
	p.ToolChoice.over(&s.ToolChoice)
	p.ExecutionMode.over(&s.ExecutionMode)
	p.Events.over(&s.Events)
	overPointer(&s.Context, p.Context)
	p.Plugins.over(&s.Plugins)
	p.ActiveHookFilter.over(&s.ActiveHookFilter)
	p.Delegates.over(&s.Delegates)
	p.Hidden.over(&s.Hidden)
	p.ExposedTools.over(&s.ExposedTools)
	p.Strict.over(&s.Strict)
	p.catalog(&s)
	merge(&s.Sections, p.Sections)
	merge(&s.ProviderOptions, p.ProviderOptions)
	if err := s.Check(); err != nil {
		return Spec{}, err
	}
	return s.normal(), nil
}

// catalog lays the patch's lists of tools over the spec's.
func (p Patch) catalog(s *Spec) {
	everything := s.AllowedTools == nil && s.AllowedToolPatterns == nil
	p.AllowedTools.over(&s.AllowedTools)
	p.AllowedToolPatterns.over(&s.AllowedToolPatterns)
	p.ExcludedTools.over(&s.ExcludedTools)
	p.ExcludedToolPatterns.over(&s.ExcludedToolPatterns)
	_, named := p.AllowedTools.Value()
	if s.AllowedTools == nil && s.AllowedToolPatterns == nil && (!everything || named || p.AllowedToolPatterns.said) {
		s.AllowedTools = []string{}
	}
}

// merge lays what has names over the base's, name by name.
func merge(base *map[string]json.RawMessage, field Field[map[string]json.RawMessage]) {
	if field.Null() {
		*base = nil
	}
	changed, _ := field.Value()
	for name, value := range changed {
		if string(value) == "null" {
			delete(*base, name)
			continue
		}
		if *base == nil {
			*base = map[string]json.RawMessage{}
		}
		(*base)[name] = value
	}
}
