package agent

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core/model"
)

// Spec is an agent as data. The description of a tool is a [tool.Spec].
//
// A spec with neither AllowedTools nor AllowedToolPatterns allows every tool. As soon as
// one of them is set, even to an empty list, all other tools are out of reach, except those of
// Delegates. Excluded tools are out of reach in any case.
type Spec struct {
	ID           string `json:"id"`                      // see [core.CheckName]
	Description  string `json:"description,omitempty"`   // for people and other agents
	SystemPrompt string `json:"system_prompt,omitempty"` // sent with every inference, never stored in a thread
	Model        string `json:"model"`                   // id of a model or of a pool of the registry

	MaxRounds        *int       `json:"max_rounds,omitempty"`        // steps of a run; nil is 16, 0 no limit
	Stop             []StopSpec `json:"stop,omitempty"`              // further stop policies, in this order after max_rounds
	MaxContinuations *int       `json:"max_continuations,omitempty"` // of a turn that the token limit cut; nil is 2, 0 none
	MaxRepairs       *int       `json:"max_repairs,omitempty"`       // of an answer that is not of response_format; nil is 2, 0 none
	Retry            Retry      `json:"retry,omitzero"`

	MaxTokens       int                   `json:"max_tokens,omitempty"`       // of one turn; 0: the provider's default
	Temperature     *float64              `json:"temperature,omitempty"`      // nil: the provider's default
	TopP            *float64              `json:"top_p,omitempty"`            // 0 to 1; nil: the provider's default
	StopSequences   []string              `json:"stop_sequences,omitempty"`   // texts that end a turn before they are generated; at most 16
	ReasoningEffort model.Effort          `json:"reasoning_effort,omitempty"` // empty: the provider's default
	ResponseFormat  *model.ResponseFormat `json:"response_format,omitempty"`  // nil: free text
	ToolChoice      model.ToolChoice      `json:"tool_choice,omitzero"`
	// ProviderOptions are members of a provider's own request, an object for each id of a
	// provider: those of the provider that is called are added as they are.
	ProviderOptions map[string]json.RawMessage `json:"provider_options,omitempty"`

	ExecutionMode ExecutionMode        `json:"execution_mode,omitempty"` // of tool rounds; empty: sequential
	Events        EventMode            `json:"events,omitempty"`         // of readers in other processes; empty: live where a request streams the run
	Context       *ContextWindowPolicy `json:"context,omitempty"`        // nil: the runtime's own window

	Plugins          []string `json:"plugins,omitempty"`            // ids, in the order in which their commands commit
	ActiveHookFilter []string `json:"active_hook_filter,omitempty"` // plugins whose hooks, gates and tools are active; empty: all

	AllowedTools         []string `json:"allowed_tools,omitzero"`           // names, never patterns
	AllowedToolPatterns  []string `json:"allowed_tool_patterns,omitzero"`   // such as browser_*, see the package's Tools
	ExcludedTools        []string `json:"excluded_tools,omitempty"`         // names, never patterns
	ExcludedToolPatterns []string `json:"excluded_tool_patterns,omitempty"` // such as browser_*, see the package's Tools

	// Delegates are ids of agents that this one may run: each is a tool agent_run_{id}, see
	// package core/plugins/delegate. The allowed tools need not name it, and the excluded tools
	// can.
	Delegates []string `json:"delegates,omitempty"`

	// Hidden keeps the agent out of the lists for clients, see [Exposed]. A client that
	// knows its id can still run it.
	Hidden bool `json:"hidden,omitempty"`
	// ExposedTools are tools of the agent that clients can call directly. Such a call is a
	// run of a separate agent, see [Exposed], with this one's plugins and settings, so that
	// the gates of the tool here gate it there.
	ExposedTools []string `json:"exposed_tools,omitempty"`

	Sections map[string]json.RawMessage `json:"sections,omitempty"` // settings of plugins, by the name of the section

	// Strict makes errors of what is otherwise a warning.
	Strict bool `json:"strict,omitempty"`
}

// The defaults of an empty spec.
const (
	defaultMaxRounds        = 16 // steps of a run
	defaultMaxContinuations = 2  // of a turn that the token limit cut
	defaultMaxRepairs       = 2  // of an answer, in a run
)

// ExecutionMode is how the tool calls of one turn run.
type ExecutionMode string

// The execution modes.
const (
	// Sequential runs the calls one after the other, each on the state that those before it
	// left. The calls after a suspended one wait.
	Sequential ExecutionMode = "sequential"
	// ParallelBatchApproval runs the calls concurrently on the round's state. When some
	// wait for decisions, the round continues when all of them are decided.
	ParallelBatchApproval ExecutionMode = "parallel_batch_approval"
	// ParallelStreaming runs the calls concurrently on the round's state, and each decision
	// takes effect as it comes.
	ParallelStreaming ExecutionMode = "parallel_streaming"
)

// EventMode decides which events of a turn readers in other processes receive while the
// model generates it; empty: all, once they ask for them by following the run. The process
// that calls the model shows its own readers every piece immediately.
type EventMode string

// The event modes.
const (
	// EventsLive stores the events for them from the first word, whether they listen or
	// not. It costs a write for each half second of an inference.
	EventsLive EventMode = "live"
	// EventsCommits shows other readers than the run's own stream a turn when it is committed.
	EventsCommits EventMode = "commits"
)

// Retry bounds what a step does about a model that fails for a while. A nil field
// is its default.
type Retry struct {
	MaxRetries *int `json:"max_retries,omitempty"` // after the first call, over all deliveries of a step; 0 to 20, nil is 2
	// The waits before a retry grow from these, in milliseconds: 0 (no wait) to 60,000.
	BackoffBaseMS           *int `json:"backoff_base_ms,omitempty"`            // nil is 500
	OverloadedBackoffBaseMS *int `json:"overloaded_backoff_base_ms,omitempty"` // of an overloaded provider; nil is 2,000
	// StreamIdleTimeoutMS is how long a stream may be silent until it counts as
	// interrupted, in milliseconds: 1,000 to 600,000; nil is 60,000, or
	// what the model was made with. Twice as long where the model reasons.
	StreamIdleTimeoutMS *int `json:"stream_idle_timeout_ms,omitempty"`
	// PatienceMS is how long a step continues to call a failing model while no stream
	// follows the run, in milliseconds: 0 (MaxRetries holds for every run) to
	// 86,400,000, a day. Then MaxRetries does not hold. nil is 900,000, 15 minutes, or 0
	// if MaxRetries is 0. A spec that was resolved and stored without it means 0.
	PatienceMS *int `json:"patience_ms,omitempty"`
}

// The defaults of Retry.
const (
	defaultMaxRetries            = 2
	defaultBackoffBase           = 500 * time.Millisecond
	defaultOverloadedBackoffBase = 2 * time.Second
	defaultStreamIdleTimeout     = time.Minute
	defaultPatience              = 15 * time.Minute
)

// Backoff is the base of the waits between retries.
func (r Retry) Backoff() time.Duration { return milliseconds(r.BackoffBaseMS, defaultBackoffBase) }

// OverloadedBackoff is the base of the waits for a provider that is overloaded.
func (r Retry) OverloadedBackoff() time.Duration {
	return milliseconds(r.OverloadedBackoffBaseMS, defaultOverloadedBackoffBase)
}

// StreamIdleTimeout is how long a stream may be silent.
func (r Retry) StreamIdleTimeout() time.Duration {
	return milliseconds(r.StreamIdleTimeoutMS, defaultStreamIdleTimeout)
}

// Patience is how long a step continues to call a failing model while no stream follows
// the run; 0: MaxRetries holds. Call it on a resolved spec: until then, nil is 0.
func (r Retry) Patience() time.Duration { return milliseconds(r.PatienceMS, 0) }

// Resolved returns r with an explicit PatienceMS, so that the meaning of a stored spec does
// not change with the default.
func (r Retry) Resolved() Retry {
	if r.PatienceMS == nil {
		patience := int(defaultPatience.Milliseconds())
		if or(r.MaxRetries, defaultMaxRetries) == 0 {
			patience = 0
		}
		r.PatienceMS = &patience
	}
	return r
}

func milliseconds(n *int, otherwise time.Duration) time.Duration {
	if n == nil {
		return otherwise
	}
	return time.Duration(*n) * time.Millisecond
}

// Rounds is the number of steps that a run of the agent may take; 0: no limit.
func (s Spec) Rounds() int { return or(s.MaxRounds, defaultMaxRounds) }

// RoundLimit is the stop policy of the spec's max_rounds, which is the first.
func (s Spec) RoundLimit() StopPolicy { return maxRounds(s.Rounds()) }

// Continuations is how often a turn that the token limit cut is continued; 0: never.
func (s Spec) Continuations() int { return or(s.MaxContinuations, defaultMaxContinuations) }

// Repairs is how often a run asks its model to mend an answer; 0: never.
func (s Spec) Repairs() int { return or(s.MaxRepairs, defaultMaxRepairs) }

// ModelCalls is how often a step may call its model.
func (s Spec) ModelCalls() int { return 1 + or(s.Retry.MaxRetries, defaultMaxRetries) }

// Mode is the execution mode of the agent's tool rounds.
func (s Spec) Mode() ExecutionMode {
	if s.ExecutionMode == "" {
		return Sequential
	}
	return s.ExecutionMode
}

// SectionNames returns the names of the spec's sections, sorted.
func (s Spec) SectionNames() []string { return slices.Sorted(maps.Keys(s.Sections)) }

func or[N int | float64](n *N, otherwise N) N {
	if n == nil {
		return otherwise
	}
	return *n
}

// clone returns a spec that shares nothing with s.
func (s Spec) clone() Spec {
	for _, n := range []**int{&s.MaxRounds, &s.MaxContinuations, &s.MaxRepairs, &s.Retry.MaxRetries, &s.Retry.BackoffBaseMS, &s.Retry.OverloadedBackoffBaseMS, &s.Retry.StreamIdleTimeoutMS, &s.Retry.PatienceMS} {
		*n = copied(*n)
	}
	s.Temperature, s.TopP = copied(s.Temperature), copied(s.TopP)
	for _, names := range []*[]string{
		&s.StopSequences, &s.Plugins, &s.ActiveHookFilter, &s.AllowedTools, &s.AllowedToolPatterns,
		&s.ExcludedTools, &s.ExcludedToolPatterns, &s.Delegates, &s.ExposedTools,
	} {
		*names = slices.Clone(*names)
	}
	s.Stop = slices.Clone(s.Stop)
	if s.ResponseFormat != nil {
		s.ResponseFormat = copied(s.ResponseFormat)
		s.ResponseFormat.Schema = slices.Clone(s.ResponseFormat.Schema)
	}
	if s.Context != nil {
		s.Context = s.Context.clone()
	}
	s.Sections, s.ProviderOptions = cloned(s.Sections), cloned(s.ProviderOptions)
	return s
}

func cloned(texts map[string]json.RawMessage) map[string]json.RawMessage {
	if texts == nil {
		return nil
	}
	c := make(map[string]json.RawMessage, len(texts))
	for name, text := range texts {
		c[name] = slices.Clone(text)
	}
	return c
}

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}
