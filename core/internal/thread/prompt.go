package thread

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/reveille-run/reveille/core"
)

// PromptRecord is the payload of P#<hash>: the mostly stable part of a model's request,
// as the adapter received it. Its turns name the hash: see [Entry].Prompt. It is put once
// and never changes, so that equal prompts of a thread are one record.
type PromptRecord struct {
	System  string          `json:"system,omitempty"`
	Tools   []PromptTool    `json:"tools,omitempty"`           // in the order of the request
	Context []core.Message  `json:"context,omitempty"`         // plugins' messages before the conversation, without their run
	Format  *PromptFormat   `json:"response_format,omitempty"` // nil: free text
	Stop    []string        `json:"stop_sequences,omitempty"`
	Options json.RawMessage `json:"provider_options,omitempty"` // see Exact
	Inputs  *[]string       `json:"inputs,omitempty"`           // of the model, other than text; nil: unknown
	NoCache bool            `json:"no_prompt_cache,omitempty"`
	Idle    int64           `json:"idle,omitempty"` // how long the stream may be silent, nanoseconds

	OptionsText string `json:"provider_options_text,omitempty"` // see Exact

	Limit   int `json:"limit,omitempty"`    // of the request, in tokens; 0: not known
	PerByte int `json:"per_byte,omitempty"` // what a byte is estimated at, in thousandths of a token
}

// PromptTool is the definition of a tool as a model received it.
type PromptTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // JSON Schema, stored without white space between its parts
	Text        string          `json:"parameters_text,omitempty"`
}

// PromptFormat is the form that a model's answer was to have.
type PromptFormat struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema,omitempty"`
	Text   string          `json:"schema_text,omitempty"` // see Exact
	Strict bool            `json:"strict,omitempty"`
}

// Sent is the part of a turn's request that neither the log nor its [PromptRecord] has.
// The zero Sent is a request of the conversation alone.
type Sent struct {
	MaxTokens   int      `json:"max_tokens,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"top_p,omitempty"`
	Effort      string   `json:"reasoning_effort,omitempty"`
	ToolMode    string   `json:"tool_mode,omitempty"`
	ToolName    string   `json:"tool_name,omitempty"`
	Origin      string   `json:"origin,omitempty"` // if a plugin changed it
	// Reads reports that shortened results named the tool that reads them.
	Reads bool `json:"reads,omitempty"`
	// After are the messages after the conversation, without their run: the words of a turn
	// that was resumed, the request to resume, and plugins' context of the step.
	After []core.Message `json:"after,omitempty"`
	// Parts are the messages that plugins' transforms made of all the others; nil: the same.
	Parts []SentPart `json:"parts,omitzero"`
	// Stored is the hash of the record P# that has all this instead; empty: this is it.
	Stored string `json:"stored,omitempty"`
	// Missing is why the request is not stored, one of the Sent constants; empty: it is.
	Missing string `json:"missing,omitempty"`
}

// SentPart is a message that a transform made, or a stretch of those that it received.
type SentPart struct {
	Message *core.Message `json:"message,omitempty"` // nil: a stretch
	From    int           `json:"from,omitempty"`
	Count   int           `json:"count,omitempty"`
}

// Why a request is not stored.
const (
	SentTooLarge   = "too_large"   // the store, or MaxSent, has no room for it
	SentNotEncoded = "not_encoded" // a part of it, such as a tool's schema, has no stored form
)

const (
	// MaxSent bounds each record that a request adds, in bytes.
	MaxSent = 256 << 10
	// MaxSentInline bounds a Sent in the record of its turn, in bytes; a larger one has its
	// own record.
	MaxSentInline = 2 << 10
)

// IsZero reports whether there is nothing to store.
func (s *Sent) IsZero() bool {
	return s.MaxTokens == 0 && s.Temperature == nil && s.TopP == nil && s.Effort == "" && s.ToolMode == "" && s.ToolName == "" &&
		s.Origin == "" && !s.Reads && len(s.After) == 0 && s.Parts == nil && s.Stored == "" && s.Missing == ""
}

// Exact returns JSON in the form that a record keeps: as it is, if encoding leaves its bytes
// alone, else as a text.
func Exact(raw json.RawMessage) (kept json.RawMessage, text string) {
	if len(raw) == 0 {
		return nil, ""
	}
	var compact bytes.Buffer
	if json.Compact(&compact, raw) == nil && bytes.Equal(compact.Bytes(), raw) {
		return raw, ""
	}
	return nil, string(raw)
}

// Given returns JSON as it was before [Exact].
func Given(kept json.RawMessage, text string) json.RawMessage {
	if text != "" {
		return json.RawMessage(text)
	}
	return kept
}

// EncodePrompt returns the stored form of a prompt and its hash: 32 hex digits. Equal
// prompts have equal bytes.
func (r Records) EncodePrompt(p *PromptRecord) (payload []byte, hash string, err error) {
	if payload, err = r.encode("prompt", p); err != nil {
		return nil, "", err
	}
	return payload, promptHash(payload), nil
}

// DecodePrompt reads a stored prompt; errors as for DecodeEntry. If its content does not
// match its name, the error is core.CodeCorrupt.
func (r Records) DecodePrompt(hash string, payload []byte) (PromptRecord, error) {
	return named[PromptRecord](r, "prompt", hash, payload)
}

// EncodeSent is EncodePrompt for a Sent that its turn's record has no room for.
func (r Records) EncodeSent(s *Sent) (payload []byte, hash string, err error) {
	if payload, err = r.encode("request", s); err != nil {
		return nil, "", err
	}
	return payload, promptHash(payload), nil
}

// DecodeSent is DecodePrompt for what EncodeSent returned.
func (r Records) DecodeSent(hash string, payload []byte) (Sent, error) {
	return named[Sent](r, "request", hash, payload)
}

// named decodes a record that has the hash of its payload as its name.
func named[T any](r Records, what, hash string, payload []byte) (v T, err error) {
	if v, err = decode[T](r, what, payload); err != nil {
		return v, err
	}
	if got := promptHash(payload); got != hash {
		var none T
		return none, core.Errorf(core.CodeCorrupt, "decode %s: its hash is %s, and not %s", what, got, core.Excerpt(hash))
	}
	return v, nil
}

func promptHash(payload []byte) string {
	sum := sha256.Sum256(payload)
	return hex.EncodeToString(sum[:16])
}
