package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// DefaultMaxRounds is the number of steps of a run whose spec says nothing.
const DefaultMaxRounds = 16

// Spec is an agent as data. How a tool presents itself is a [tool.Spec].
type Spec struct {
	ID           string `json:"id"`                      // see [core.CheckName]
	Description  string `json:"description,omitempty"`   // for people and other agents
	SystemPrompt string `json:"system_prompt,omitempty"` // sent with every inference, never stored in a thread
	Model        string `json:"model"`                   // id of a model of the registry

	MaxRounds   *int     `json:"max_rounds,omitempty"` // steps of a run; nil is [DefaultMaxRounds], 0 no limit
	Retry       Retry    `json:"retry,omitzero"`
	MaxTokens   int      `json:"max_tokens,omitempty"`  // of one turn; 0: the provider's default
	Temperature *float64 `json:"temperature,omitempty"` // nil: the provider's default

	MaxContinuations *int                  `json:"max_continuations,omitempty"` // of a turn that the token limit cut; nil is [DefaultMaxContinuations], 0 none
	TopP             *float64              `json:"top_p,omitempty"`             // 0 to 1; nil: the provider's default
	StopSequences    []string              `json:"stop_sequences,omitempty"`    // texts that end a turn before they are said; at most 16
	ReasoningEffort  model.Effort          `json:"reasoning_effort,omitempty"`  // empty: the provider's default
	ResponseFormat   *model.ResponseFormat `json:"response_format,omitempty"`   // nil: free text
	ToolChoice       model.ToolChoice      `json:"tool_choice,omitzero"`

	ExecutionMode ExecutionMode `json:"execution_mode,omitempty"` // of tool rounds; empty: sequential

	Plugins          []string `json:"plugins,omitempty"`            // ids, in the order in which their commands commit
	ActiveHookFilter []string `json:"active_hook_filter,omitempty"` // plugins whose hooks, gates and tools are active; empty: all
	AllowedTools     []string `json:"allowed_tools,omitzero"`       // nil: all tools; empty: none
	ExcludedTools    []string `json:"excluded_tools,omitempty"`     // taken from the allowed ones
}

// ExecutionMode says how the tool calls of one turn run.
type ExecutionMode string

// The execution modes.
const (
	// Sequential runs the calls one after the other, each on the state that those
	// before it left. Behind a suspended call the others wait.
	Sequential ExecutionMode = "sequential"
	// ParallelBatchApproval runs the calls side by side on the round's state. When
	// some wait for decisions, the round goes on when all of them are decided.
	ParallelBatchApproval ExecutionMode = "parallel_batch_approval"
	// ParallelStreaming runs the calls side by side on the round's state, and each
	// decision takes effect as it comes.
	ParallelStreaming ExecutionMode = "parallel_streaming"
)

// DefaultMaxRetries is how often a failed model call is repeated in a step whose
// spec says nothing.
const DefaultMaxRetries = 2

// Retry bounds what a step does about a model that fails for a while.
type Retry struct {
	MaxRetries *int `json:"max_retries,omitempty"` // after the first call, over all deliveries of a step; 0 to 20, nil is [DefaultMaxRetries]
}

// maxRetries bounds MaxRetries.
const maxRetries = 20

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
	case s.Retry.MaxRetries != nil && (*s.Retry.MaxRetries < 0 || *s.Retry.MaxRetries > maxRetries):
		return s.invalid("retry.max_retries is %d, allowed are 0 to %d", *s.Retry.MaxRetries, maxRetries)
	case s.ExecutionMode != "" && s.ExecutionMode != Sequential && s.ExecutionMode != ParallelBatchApproval && s.ExecutionMode != ParallelStreaming:
		return s.invalid("execution_mode is %q, allowed are %q, %q and %q", core.Excerpt(string(s.ExecutionMode)), Sequential, ParallelBatchApproval, ParallelStreaming)
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

// DefaultMaxContinuations is how often a turn goes on behind its limit of tokens.
const DefaultMaxContinuations = 2

// Continuations is how often a turn that has reached its limit of tokens goes on.
func (s Spec) Continuations() int {
	if s.MaxContinuations == nil {
		return DefaultMaxContinuations
	}
	return *s.MaxContinuations
}

// Mode is the execution mode of the agent's tool rounds.
func (s Spec) Mode() ExecutionMode {
	if s.ExecutionMode == "" {
		return Sequential
	}
	return s.ExecutionMode
}

// ModelCalls is how often a step may call its model.
func (s Spec) ModelCalls() int {
	if s.Retry.MaxRetries == nil {
		return 1 + DefaultMaxRetries
	}
	return 1 + *s.Retry.MaxRetries
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
	if s.Retry.MaxRetries != nil {
		s.Retry.MaxRetries = new(*s.Retry.MaxRetries)
	}
	s.Plugins = slices.Clone(s.Plugins)
	s.ActiveHookFilter = slices.Clone(s.ActiveHookFilter)
	s.AllowedTools = slices.Clone(s.AllowedTools)
	s.ExcludedTools = slices.Clone(s.ExcludedTools)
	return s
}
