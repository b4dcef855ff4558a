package model

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
)

// Model streams one inference. The sequence yields deltas in order and stops
// after the first error. Implementations are safe for concurrent use, make one
// attempt and leave retries to the caller.
type Model interface {
	Stream(ctx context.Context, request Request) iter.Seq2[Delta, error]
}

// Request is one inference. Its slices are shared with the run and must not be changed.
type Request struct {
	Step        int              // of the run, from 1, that asks for its turn; 0: a request of no step, such as one for a summary
	Model       string           // the provider's name of the model
	Origin      string           // the provider and Model, as provider/name: echoes with another origin are not for it
	System      string           // the agent's system prompt, and what plugins add to it
	Messages    []core.Message   // every tool call has its one result; those of core.RoleSystem are plugins'
	Tools       []ToolDefinition // sorted by name
	MaxTokens   int              // 0: the provider's default
	Temperature *float64         // nil: the provider's default
	TopP        *float64         // nil: the provider's default

	ReasoningEffort Effort
	// Levels are the levels of reasoning of the model, as in [Facts]; empty: unknown. See
	// [Request.Level].
	Levels         []string
	StopSequences  []string        // texts before which the turn ends
	ResponseFormat *ResponseFormat // nil: free text
	ToolChoice     ToolChoice

	// Inputs are the inputs of the model other than text, as in [Facts]; nil: unknown. See
	// [Request.Accepts].
	Inputs []string

	// ProviderOptions are members of the provider's own request, by their names there: a
	// JSON object, which the adapter adds unchanged. A member that the adapter sets by
	// itself is an error. Empty: none.
	ProviderOptions json.RawMessage
	// NoPromptCache marks nothing for the provider's cache. A cache that needs no marks
	// works anyway.
	NoPromptCache bool

	// StreamIdleTimeout is how long the provider may send nothing until the stream
	// counts as interrupted, or, before its first delta, as timed out. Adapters that
	// reach over a network keep to it. 0: the adapter's own.
	StreamIdleTimeout time.Duration
}

// Accepts reports whether the model accepts files of a media type in the results of tools,
// as far as it is known. Adapters send text as text to every model.
func (r *Request) Accepts(mediaType string) bool {
	if r.Inputs == nil {
		return true
	}
	switch kind, rest, _ := strings.Cut(strings.ToLower(mediaType), "/"); {
	case kind == "text", kind == "video", strings.HasPrefix(rest, "json"):
		return true
	case kind == "image", kind == "audio":
		return slices.Contains(r.Inputs, kind)
	}
	return slices.Contains(r.Inputs, "document")
}

// Checker is a model that knows, without asking its provider, what it cannot express.
type Checker interface {
	// Check returns an error with code invalid that names what of a request, which has no
	// messages, has no form in the provider's protocol: a name of a tool, a schema, an
	// effort, an option. It makes no request.
	Check(request Request) error
}

// ToolDefinition describes a tool to the model; what runs is a tool.Tool.
type ToolDefinition struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of the arguments object
}

// DeltaType is the kind of a delta.
type DeltaType uint8

// The delta types.
const (
	DeltaText         DeltaType = iota + 1 // Text is appended to the turn's text; Echo ends the block
	DeltaReasoning                         // Text is appended to the reasoning; Echo ends the block
	DeltaToolStart                         // call Index starts: CallID (may be empty), Name, and Echo where the provider signs calls
	DeltaToolArgument                      // Text is appended to the arguments of call Index
	DeltaUsage                             // Usage so far; the last one counts
	DeltaStop                              // the stream is complete
	DeltaAnnotation                        // Annotation cites a source of the turn's text; its offsets are bytes of all Text of DeltaText in this stream so far
)

// Delta is one piece of a turn.
type Delta struct {
	Type   DeltaType
	Text   string
	Index  int // of the tool call, from 0
	CallID string
	Name   string
	Echo   json.RawMessage
	Usage  core.Usage
	Stop   core.StopReason

	Annotation *core.Annotation
}
