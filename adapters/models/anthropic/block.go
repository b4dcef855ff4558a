package anthropic

import "encoding/json"

// message is one message of the conversation on the wire. The roles alternate.
type message struct {
	Role    string `json:"role"`
	Content []any  `json:"content"` // of *block, or a json.RawMessage that goes back as it came
}

// block is one piece of a message, or of the system prompt.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	Source    any             `json:"source,omitempty"` // of an image or a document
	Title     string          `json:"title,omitempty"`
	ID        string          `json:"id,omitempty"` // of a call
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"` // of a result
	Content   any             `json:"content,omitempty"`     // of a result: a text, or []any with files
	IsError   bool            `json:"is_error,omitempty"`
	Cache     *cacheControl   `json:"cache_control,omitempty"`

	volatile bool // may be absent in the next request: no cache mark is on it or after it
}

// The kinds of sources of a block.
type (
	bytesSource struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      []byte `json:"data"` // base64
	}
	textSource struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	}
	urlSource struct {
		Type string `json:"type"`
		URL  string `json:"url"`
	}
)

// The roles of a message, and of the blocks those that are looked for.
const (
	roleUser      = "user"
	roleAssistant = "assistant"
	typeText      = "text"
	typeResult    = "tool_result"
)
