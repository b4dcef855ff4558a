package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/field"
	"github.com/reveille-run/reveille/core/internal/finalanswer"
	"github.com/reveille-run/reveille/core/internal/toolname"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
)

func excerpt[S ~string](text S) string { return core.Excerpt(string(text)) }

func (s *Spec) invalid(name, format string, args ...any) error {
	return field.Invalid("agent", s.ID, name, format, args...)
}

// Bounds of numbers in specs.
const (
	maxRetries       = 20
	maxContinuations = 20
	maxRepairs       = 10
	maxBackoffMS     = 60_000
	maxPatienceMS    = 86_400_000
	minStreamIdleMS  = 1_000
	maxStreamIdleMS  = 600_000
	maxStopSequences = 16
	maxStopSequence  = 256 // bytes of one
)

// Check validates the spec by itself, without the registry that it is for. The
// error has code invalid and names the agent and the field.
func (s Spec) Check() error {
	if err := field.CheckID("agent", s.ID); err != nil {
		return err
	}
	if s.Model == "" {
		return s.invalid("model", "is empty")
	}
	for _, check := range []func(*Spec) error{
		(*Spec).checkLimits, (*Spec).checkRequest, (*Spec).checkPatterns, (*Spec).checkNames, (*Spec).checkSections, (*Spec).checkOptions,
	} {
		if err := check(&s); err != nil {
			return err
		}
	}
	if s.Context != nil {
		return s.Context.check(&s)
	}
	return nil
}

// checkLimits looks at the numbers that bound a run.
func (s *Spec) checkLimits() error {
	if n := s.Rounds(); n < 0 {
		return s.invalid("max_rounds", "is %d, want 0 (no limit) or more", n)
	}
	for _, n := range []struct {
		field       string
		value       int
		least, most int
	}{
		{"max_continuations", s.Continuations(), 0, maxContinuations},
		{"max_repairs", s.Repairs(), 0, maxRepairs},
		{"retry.max_retries", or(s.Retry.MaxRetries, 0), 0, maxRetries},
		{"retry.backoff_base_ms", or(s.Retry.BackoffBaseMS, 0), 0, maxBackoffMS},
		{"retry.overloaded_backoff_base_ms", or(s.Retry.OverloadedBackoffBaseMS, 0), 0, maxBackoffMS},
		{"retry.patience_ms", or(s.Retry.PatienceMS, 0), 0, maxPatienceMS},
		{"retry.stream_idle_timeout_ms", or(s.Retry.StreamIdleTimeoutMS, minStreamIdleMS), minStreamIdleMS, maxStreamIdleMS},
	} {
		if n.value < n.least || n.value > n.most {
			return s.invalid(n.field, "is %d, allowed are %d to %d", n.value, n.least, n.most)
		}
	}
	for i, p := range s.Stop {
		if err := p.Check(); err != nil {
			at := fmt.Sprintf("stop[%d]", i)
			return field.Said("agent", s.ID, at, at+": "+err.Error())
		}
	}
	switch s.ExecutionMode {
	case "", Sequential, ParallelBatchApproval, ParallelStreaming:
	default:
		return s.invalid("execution_mode", "is %q, allowed are %q, %q and %q", excerpt(s.ExecutionMode), Sequential, ParallelBatchApproval, ParallelStreaming)
	}
	switch s.Events {
	case "", EventsLive, EventsCommits:
		return nil
	}
	return s.invalid("events", "is %q, allowed are %q and %q", excerpt(s.Events), EventsLive, EventsCommits)
}

// checkRequest checks the fields of an inference's request.
func (s *Spec) checkRequest() error {
	if s.MaxTokens < 0 {
		return s.invalid("max_tokens", "is %d, want 0 (the provider's default) or more", s.MaxTokens)
	}
	if n := len(s.StopSequences); n > maxStopSequences {
		return s.invalid("stop_sequences", "has %d texts, at most %d are allowed", n, maxStopSequences)
	}
	for i, text := range s.StopSequences {
		if text == "" || len(text) > maxStopSequence {
			return s.invalid(fmt.Sprintf("stop_sequences[%d]", i), "has %d bytes, allowed are 1 to %d", len(text), maxStopSequence)
		}
	}
	for _, f := range []struct {
		name string
		err  error
	}{
		{"temperature", model.Override{Temperature: s.Temperature}.Check()},
		{"top_p", model.Override{TopP: s.TopP}.Check()},
		{"reasoning_effort", s.ReasoningEffort.Check()},
		{"tool_choice", s.ToolChoice.Check()},
		{"response_format", s.checkFormat()},
	} {
		if f.err != nil { // its text begins with the name
			return field.Said("agent", s.ID, f.name, f.err.Error())
		}
	}
	return nil
}

func (s *Spec) checkFormat() error {
	if s.ResponseFormat == nil {
		return nil
	}
	return finalanswer.CheckFormat(s.ResponseFormat) // answers are checked against its schema
}

// checkNames looks at the lists of names. Whether they name something is the
// registry's to say.
func (s *Spec) checkNames() error {
	for _, list := range []struct {
		field string
		names []string
	}{
		{"plugins", s.Plugins},
		{"active_hook_filter", s.ActiveHookFilter},
		{"allowed_tools", s.AllowedTools},
		{"excluded_tools", s.ExcludedTools},
		{"allowed_tool_patterns", s.AllowedToolPatterns},
		{"excluded_tool_patterns", s.ExcludedToolPatterns},
		{"delegates", s.Delegates},
		{"exposed_tools", s.ExposedTools},
	} {
		seen := make(map[string]bool, len(list.names))
		for _, name := range list.names {
			if name == "" {
				return s.invalid(list.field, "has an empty name")
			}
			if seen[name] {
				return s.invalid(list.field, "names %q twice", core.Excerpt(name))
			}
			seen[name] = true
		}
	}
	return nil
}

func (s *Spec) checkPatterns() error {
	for _, list := range []struct {
		field    string
		patterns []string
	}{
		{"allowed_tool_patterns", s.AllowedToolPatterns},
		{"excluded_tool_patterns", s.ExcludedToolPatterns},
	} {
		for i, pattern := range list.patterns {
			if _, err := toolname.Parse(pattern); err != nil {
				at := fmt.Sprintf("%s[%d]", list.field, i)
				return field.Said("agent", s.ID, at, at+": "+err.Error())
			}
		}
	}
	return nil
}

// checkSections looks at names and syntax; what a section may say is its plugin's
// to know.
func (s *Spec) checkSections() error {
	for _, name := range s.SectionNames() {
		if err := core.CheckName("section name", name); err != nil {
			return field.Said("agent", s.ID, "sections", "sections: "+err.Error())
		}
		value := s.Sections[name]
		if err := (plugin.Setting{Name: name, Value: value}).Check(); err != nil {
			return s.invalid("sections."+name, "cannot be set: %v", err)
		}
		if !json.Valid(value) || string(bytes.TrimSpace(value)) == "null" {
			return s.invalid("sections."+name, "is %s, want a JSON value that is not null", core.Excerpt(string(value)))
		}
	}
	return nil
}

// checkOptions looks at names and syntax. Whether a provider has such a member is the
// provider's to say, and whether it can be given its adapter's.
func (s *Spec) checkOptions() error {
	for _, id := range slices.Sorted(maps.Keys(s.ProviderOptions)) {
		if err := core.CheckName("provider id", id); err != nil {
			return field.Said("agent", s.ID, "provider_options", "provider_options: "+err.Error())
		}
		if value := s.ProviderOptions[id]; !isObject(value) {
			return s.invalid("provider_options."+id, "is %s, want an object", core.Excerpt(string(value)))
		}
	}
	return nil
}

func isObject(value json.RawMessage) bool {
	return json.Valid(value) && bytes.TrimSpace(value)[0] == '{'
}
