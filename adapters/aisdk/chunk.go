package aisdk

import (
	"bytes"
	"encoding/json"
)

// chunk is one item of the stream. Each type uses some of the fields; all of
// them are in the field set of 6.0.0.
type chunk struct {
	Type           string          `json:"type"`
	MessageID      string          `json:"messageId,omitempty"`
	ID             string          `json:"id,omitempty"`
	Delta          string          `json:"delta,omitempty"`
	ToolCallID     string          `json:"toolCallId,omitempty"`
	ApprovalID     string          `json:"approvalId,omitempty"`
	ToolName       string          `json:"toolName,omitempty"`
	InputTextDelta string          `json:"inputTextDelta,omitempty"`
	Input          json.RawMessage `json:"input,omitempty"`
	Output         json.RawMessage `json:"output,omitempty"`
	ErrorText      string          `json:"errorText,omitempty"`
	FinishReason   string          `json:"finishReason,omitempty"`
}

// done ends a stream. It is not JSON.
var done = []byte("[DONE]")

// encode marshals without HTML escapes, as the official server does.
func (c chunk) encode() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(c); err != nil { // a payload that is no JSON
		c.Input, c.Output = quoted(c.Input), quoted(c.Output)
		b.Reset()
		_ = e.Encode(c) // strings and valid JSON always marshal
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// quoted makes a JSON string of text that is no JSON.
func quoted(raw json.RawMessage) json.RawMessage {
	if raw == nil || json.Valid(raw) {
		return raw
	}
	text, _ := json.Marshal(string(raw)) // a string always marshals
	return text
}

// orElse returns raw, or the given JSON when raw is absent: a required key
// must not vanish.
func orElse(raw json.RawMessage, json string) json.RawMessage {
	if len(raw) == 0 {
		return []byte(json)
	}
	return raw
}
