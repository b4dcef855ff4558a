package core

import (
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Frontend is what the program in front of a person brings to the run that its input
// opens. It holds for that run: a later one has what came with its own input.
type Frontend struct {
	// Tools are offered to the model after the agent's own. A call of one waits for the
	// frontend, which runs it and sends its output as a decision.
	Tools []FrontendTool `json:"tools,omitempty"`
	// Context is the content that the person sees: the model reads it after the agent's
	// system prompt, and no thread stores it as a message.
	Context []FrontendContext `json:"context,omitempty"`
	// State is a JSON object: the frontend's copy of the state that it shares with the
	// thread. When the run starts, each of its members replaces the thread's member of that
	// name, and other members of the thread's stay. nil: the thread's state stays.
	State json.RawMessage `json:"state,omitempty"`
	// Answer is the required form of the run's answer; nil: as the agent has it.
	Answer *AnswerFormat `json:"answer,omitempty"`
}

// AnswerFormat is the form of an answer that a program reads.
type AnswerFormat struct {
	Name   string          `json:"name"`   // for the provider: 1 to 64 of A-Z a-z 0-9 _ -
	Schema json.RawMessage `json:"schema"` // JSON Schema of an object
}

// FrontendTool is a tool that a frontend runs.
type FrontendTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // JSON Schema of the arguments, an object; nil: any object
}

// FrontendContext is one thing that a frontend shows, with its description.
type FrontendContext struct {
	Description string `json:"description"`
	Value       string `json:"value"`
}

// The limits of a [Frontend]. It is stored with the input, and but for its state each
// time that the run's record is.
const (
	maxFrontend        = 64 << 10 // bytes of its JSON
	maxFrontendTools   = 64
	maxFrontendContext = 64
)

// errFrontendTooLarge is returned for a [Frontend] of more than 64 KiB.
var errFrontendTooLarge = Errorf(CodeTooLarge, "frontend is larger than %d bytes", maxFrontend)

// Check validates data from outside. The code that makes tools of them checks the names of
// tools and their schemas.
func (f *Frontend) Check() error {
	if f == nil {
		return nil
	}
	if len(f.Tools) > maxFrontendTools {
		return Errorf(CodeTooLarge, "frontend has %d tools, at most %d are allowed", len(f.Tools), maxFrontendTools)
	}
	if len(f.Context) > maxFrontendContext {
		return Errorf(CodeTooLarge, "frontend has %d pieces of context, at most %d are allowed", len(f.Context), maxFrontendContext)
	}
	for i, t := range f.Tools {
		if slices.ContainsFunc(f.Tools[:i], func(o FrontendTool) bool { return o.Name == t.Name }) {
			return Errorf(CodeInvalid, "frontend: tool %q is declared twice", Excerpt(t.Name))
		}
	}
	if f.State != nil && !isObject(f.State) {
		return Errorf(CodeInvalid, "frontend: the state must be a JSON object")
	}
	if f.Answer != nil && !isObject(f.Answer.Schema) {
		return Errorf(CodeInvalid, "frontend: the schema of the answer must be a JSON object")
	}
	text, err := json.Marshal(f)
	if err != nil {
		return Errorf(CodeInvalid, "encode frontend: %w", err)
	}
	if !utf8.Valid(text) {
		return Errorf(CodeInvalid, "frontend is not UTF-8")
	}
	if len(text) > maxFrontend {
		return fmt.Errorf("%w: it has %d", errFrontendTooLarge, len(text))
	}
	return nil
}

// Stateless returns it without its state, which the start of the run consumes: nil when
// nothing remains.
func (f *Frontend) Stateless() *Frontend {
	if f == nil || len(f.Tools) == 0 && len(f.Context) == 0 && f.Answer == nil {
		return nil
	}
	return &Frontend{Tools: f.Tools, Context: f.Context, Answer: f.Answer}
}

// isObject reports whether text is a JSON object.
func isObject(text json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(text, &object) == nil && object != nil
}
