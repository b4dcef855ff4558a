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
	Dynamic        bool            `json:"dynamic,omitempty"`
	Preliminary    bool            `json:"preliminary,omitempty"`
	ErrorText      string          `json:"errorText,omitempty"`
	FinishReason   string          `json:"finishReason,omitempty"`
	Data           any             `json:"data,omitempty"` // of a data chunk
	Transient      bool            `json:"transient,omitempty"`
	attachment
}

// done ends a stream. It is not JSON.
var done = []byte("[DONE]")

// chunks encodes the payloads of one event into one buffer, which the next event
// uses again: a stream has thousands of chunks.
type chunks struct {
	buffer bytes.Buffer
	json   *json.Encoder
	chunk  chunk    // being encoded: it lies here, so that encoding it allocates nothing
	out    [][]byte // payloads, which lie in the buffer
}

// reset forgets the payloads, whose bytes are used again.
func (c *chunks) reset() {
	if c.json == nil {
		c.json = json.NewEncoder(&c.buffer)
		c.json.SetEscapeHTML(false) // as the official server does
	}
	c.buffer.Reset()
	c.out = c.out[:0]
}

func (c *chunks) emit(one chunk) {
	begin := c.buffer.Len()
	c.chunk = one
	if err := c.json.Encode(&c.chunk); err != nil { // a malformed payload; nothing was written
		c.chunk.Input, c.chunk.Output = quoted(one.Input), quoted(one.Output)
		_ = c.json.Encode(&c.chunk) // strings and valid JSON always marshal
	}
	c.out = append(c.out, bytes.TrimSuffix(c.buffer.Bytes()[begin:], []byte("\n")))
}

// quoted makes a JSON string of malformed JSON.
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
