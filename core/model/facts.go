package model

import (
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
)

// Facts are the known facts of a model without a request to its provider: see package
// catalog. Zero fields are unknown.
type Facts struct {
	ContextWindow int `json:"context_window,omitempty"` // tokens of request and turn together
	// Assumed means that ContextWindow is an assumption, since nothing is known of the model.
	Assumed         bool `json:"assumed,omitempty"`
	MaxInputTokens  int  `json:"max_input_tokens,omitempty"`  // of a request, where the provider bounds them apart
	MaxOutputTokens int  `json:"max_output_tokens,omitempty"` // of one turn, reasoning included
	// TokensPerByte is how many tokens a byte of text is, about: 0.05 to 2. 0: see Ratio.
	TokensPerByte float64   `json:"tokens_per_byte,omitempty"`
	Inputs        []string  `json:"inputs,omitempty"`           // its inputs other than text: image, document, audio
	Cutoff        string    `json:"knowledge_cutoff,omitempty"` // the month in which its knowledge ends, such as 2025-01
	Reasoning     Reasoning `json:"reasoning,omitempty"`
	// Levels are the levels of reasoning that it has, from the lowest, by the provider's own
	// names: none, minimal, low, medium, high, xhigh, max. Empty: not known.
	Levels []string `json:"reasoning_levels,omitempty"`
	// PromptCache is how the provider caches the starts of requests: automatic, by itself;
	// marks, where the request marks it; none.
	PromptCache string `json:"prompt_cache,omitempty"`
	// LongInput is the length of a request's input, in tokens, above which it costs more. 0:
	// not known, or every length costs the same.
	LongInput int `json:"long_input,omitempty"`
	// NativeFormat means that the provider enforces a schema ([ResponseFormat]) while it
	// generates a response.
	NativeFormat bool `json:"native_format,omitempty"`
}

// defaultTokensPerByte is the ratio of a model whose own is not known: four bytes a token.
const defaultTokensPerByte = 0.25

// Reasoning is the way to tell a model how much to reason.
type Reasoning string

// The ways.
const (
	ReasoningNone   Reasoning = "none"   // it does not reason
	ReasoningAlways Reasoning = "always" // it reasons as it sees fit
	ReasoningLevels Reasoning = "levels" // by an [Effort] that is a level
	ReasoningBudget Reasoning = "budget" // by an [Effort] of either kind
)

// levels are all levels of reasoning that providers have, from the lowest.
var levels = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// Ratio is TokensPerByte, or 0.25.
func (f Facts) Ratio() float64 {
	if f.TokensPerByte == 0 {
		return defaultTokensPerByte
	}
	return f.TokensPerByte
}

// Reasons reports whether the model reasons before it responds to a request of the effort,
// as far as is known.
func (f Facts) Reasons(effort Effort) bool {
	switch effort {
	case "":
		return f.Reasoning != "" && f.Reasoning != ReasoningNone
	case EffortNone:
		return f.Reasoning == ReasoningAlways
	}
	return true
}

// Check returns an error with code invalid that names the fact which cannot be.
func (f Facts) Check() error {
	for _, n := range []struct {
		name  string
		value int
	}{{"context_window", f.ContextWindow}, {"max_input_tokens", f.MaxInputTokens}, {"max_output_tokens", f.MaxOutputTokens}, {"long_input", f.LongInput}} {
		if n.value < 0 {
			return core.Errorf(core.CodeInvalid, "%s is %d, want 0 (not known) or more", n.name, n.value)
		}
		if f.ContextWindow > 0 && n.value > f.ContextWindow {
			return core.Errorf(core.CodeInvalid, "%s is %d, more than the %d of context_window", n.name, n.value, f.ContextWindow)
		}
	}
	if r := f.TokensPerByte; r != 0 && (r < 0.05 || r > 2) {
		return core.Errorf(core.CodeInvalid, "tokens_per_byte is %v, allowed are 0.05 to 2", r)
	}
	for i, input := range f.Inputs {
		if err := oneOf("inputs", input, "image", "document", "audio"); err != nil {
			return err
		}
		if slices.Contains(f.Inputs[:i], input) {
			return core.Errorf(core.CodeInvalid, "inputs has %q twice", input)
		}
	}
	if _, err := time.Parse("2006-01", f.Cutoff); f.Cutoff != "" && err != nil {
		return core.Errorf(core.CodeInvalid, "knowledge_cutoff is %q, want a month such as 2025-01", core.Excerpt(f.Cutoff))
	}
	if err := oneOf("reasoning", f.Reasoning, "", ReasoningNone, ReasoningAlways, ReasoningLevels, ReasoningBudget); err != nil {
		return err
	}
	for _, level := range f.Levels {
		if err := oneOf("reasoning_levels", level, levels...); err != nil {
			return err
		}
	}
	return oneOf("prompt_cache", f.PromptCache, "", "none", "automatic", "marks")
}

// oneOf returns an error for a value that is not among the allowed ones, of which the empty
// one is not named.
func oneOf[S ~string](name string, value S, allowed ...S) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return core.Errorf(core.CodeInvalid, "%s is %q, allowed are %q", name, core.Excerpt(string(value)), slices.DeleteFunc(allowed, func(s S) bool { return s == "" }))
}
