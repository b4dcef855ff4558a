package model

import (
	"math"

	"github.com/reveille-run/reveille/core"
)

// Override changes parameters of one inference. A field that is not set (nil, zero or
// empty) stays as the agent has it.
type Override struct {
	// UpstreamModel is the provider's name of another model of the same provider;
	// no other provider is chosen by it.
	UpstreamModel   string   `json:"upstream_model,omitempty"`
	Temperature     *float64 `json:"temperature,omitempty"`
	MaxTokens       int      `json:"max_tokens,omitempty"`
	TopP            *float64 `json:"top_p,omitempty"`
	ReasoningEffort Effort   `json:"reasoning_effort,omitempty"`
}

// Merge returns o with every field that later sets: the last writer of a field counts.
func (o Override) Merge(later Override) Override {
	if later.UpstreamModel != "" {
		o.UpstreamModel = later.UpstreamModel
	}
	if later.Temperature != nil {
		o.Temperature = later.Temperature
	}
	if later.MaxTokens != 0 {
		o.MaxTokens = later.MaxTokens
	}
	if later.TopP != nil {
		o.TopP = later.TopP
	}
	if later.ReasoningEffort != "" {
		o.ReasoningEffort = later.ReasoningEffort
	}
	return o
}

// Apply sets in the request the fields that o sets, and keeps the rest.
func (o Override) Apply(r *Request) {
	as := Override{
		UpstreamModel: r.Model, Temperature: r.Temperature, MaxTokens: r.MaxTokens, TopP: r.TopP, ReasoningEffort: r.ReasoningEffort,
	}.Merge(o)
	r.Model, r.Temperature, r.MaxTokens, r.TopP, r.ReasoningEffort = as.UpstreamModel, as.Temperature, as.MaxTokens, as.TopP, as.ReasoningEffort
}

// IsZero reports whether nothing is set.
func (o Override) IsZero() bool { return o == Override{} }

// Check returns an error with code invalid that names the first field out of its
// range.
func (o Override) Check() error {
	if o.MaxTokens < 0 {
		return core.Errorf(core.CodeInvalid, "max_tokens is %d, want 0 (as the agent has it) or more", o.MaxTokens)
	}
	if t := o.Temperature; t != nil && !(*t >= 0 && !math.IsInf(*t, 0)) { // how far up a provider goes is its own affair
		return core.Errorf(core.CodeInvalid, "temperature is %v, want 0 or more", *t)
	}
	if p := o.TopP; p != nil && !(*p >= 0 && *p <= 1) {
		return core.Errorf(core.CodeInvalid, "top_p is %v, allowed are 0 to 1", *p)
	}
	return o.ReasoningEffort.Check()
}
