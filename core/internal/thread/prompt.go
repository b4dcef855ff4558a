package thread

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/reveille-run/reveille/core"
)

// PromptRecord is the payload of P#<hash>: the mostly stable part of a model's request,
// as the adapter received it. Its turns name the hash: see [Entry].Prompt. It is put once
// and never changes, so that equal prompts of a thread are one record. No program writes
// one yet.
type PromptRecord struct {
	System string       `json:"system,omitempty"`
	Tools  []PromptTool `json:"tools,omitempty"` // in the order of the request
}

// PromptTool is the definition of a tool as a model received it.
type PromptTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // JSON Schema, stored without white space between its parts
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
	p, err := decode[PromptRecord](r, "prompt", payload)
	if err != nil {
		return p, err
	}
	if got := promptHash(payload); got != hash {
		return PromptRecord{}, core.Errorf(core.CodeCorrupt, "decode prompt: its hash is %s, and not %s", got, core.Excerpt(hash))
	}
	return p, nil
}

func promptHash(payload []byte) string {
	sum := sha256.Sum256(payload)
	return hex.EncodeToString(sum[:16])
}
