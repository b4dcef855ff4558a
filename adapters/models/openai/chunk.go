package openai

import (
	"bytes"
	"encoding/json"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
)

// chunk is the data of one event of a stream. Fields that servers add are
// ignored.
type chunk struct {
	Object  string          `json:"object"`
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`

	Citations wire.Loose[[]looseText]    `json:"citations"`      // Perplexity, xAI: addresses
	Results   wire.Loose[[]searchResult] `json:"search_results"` // Perplexity
}

// isError reports whether a chunk is an error in a stream that began well.
func (c *chunk) isError() bool {
	return len(c.Error) > 0 && !bytes.Equal(c.Error, []byte("null")) || c.Object == "error"
}

type choice struct {
	Index        int    `json:"index"`
	Delta        delta  `json:"delta"`
	FinishReason string `json:"finish_reason"`
}

type delta struct {
	Content          pieces      `json:"content"`
	Refusal          string      `json:"refusal"`
	ReasoningContent string      `json:"reasoning_content"` // DeepSeek, Z.ai, llama.cpp
	Reasoning        looseText   `json:"reasoning"`         // Groq, OpenRouter, Ollama, vLLM
	ReasoningDetails []detail    `json:"reasoning_details"` // OpenRouter
	ToolCalls        []callDelta `json:"tool_calls"`
	Annotations      annotations `json:"annotations"`
}

// reasoning is the same text once when a server sends it under both names.
func (d delta) reasoning() string {
	if d.ReasoningContent != "" {
		return d.ReasoningContent
	}
	return string(d.Reasoning)
}

type callDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string       `json:"name"`
		Arguments fragmentText `json:"arguments"`
	} `json:"function"`
}

// pieces are the content of a message: a text, or with Mistral parts of it and of
// reasoning.
type pieces []piece

type piece struct {
	thought bool
	text    string
}

// UnmarshalJSON implements json.Unmarshaler. Parts that are neither are ignored.
func (p *pieces) UnmarshalJSON(b []byte) error {
	if !bytes.HasPrefix(b, []byte("[")) {
		var text string
		if err := json.Unmarshal(b, &text); err != nil {
			return err
		}
		*p = pieces{{text: text}}
		return nil
	}
	var parts []struct {
		Type     string    `json:"type"`
		Text     looseText `json:"text"`
		Thinking []struct {
			Text looseText `json:"text"`
		} `json:"thinking"`
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	for _, part := range parts {
		if part.Type == "text" {
			*p = append(*p, piece{text: string(part.Text)})
		}
		for _, thought := range part.Thinking {
			*p = append(*p, piece{thought: true, text: string(thought.Text)})
		}
	}
	return nil
}

// looseText is a string; any other JSON is taken for no text.
type looseText string

// UnmarshalJSON implements json.Unmarshaler.
func (t *looseText) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		*t = looseText(text)
	}
	return nil
}

// fragmentText is a piece of JSON text in a string; some servers send the
// object itself instead.
type fragmentText string

// UnmarshalJSON implements json.Unmarshaler.
func (t *fragmentText) UnmarshalJSON(b []byte) error {
	switch {
	case bytes.HasPrefix(b, []byte(`"`)):
		var text string
		if err := json.Unmarshal(b, &text); err != nil {
			return err
		}
		*t = fragmentText(text)
	case string(b) != "null":
		*t = fragmentText(b)
	}
	return nil
}

type usage struct {
	Prompt        int `json:"prompt_tokens"`
	Completion    int `json:"completion_tokens"`
	Total         int `json:"total_tokens"`
	CacheHit      int `json:"prompt_cache_hit_tokens"` // DeepSeek
	PromptDetails struct {
		Cached     int `json:"cached_tokens"`
		CacheWrite int `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// core returns the counts as the vocabulary has them: Input with what the cache
// gave, Output with the reasoning. xAI leaves the reasoning out of
// completion_tokens, which its total shows.
func (u usage) core() core.Usage {
	out := core.Usage{
		Input:      u.Prompt,
		Output:     u.Completion,
		CacheRead:  max(u.PromptDetails.Cached, u.CacheHit),
		CacheWrite: u.PromptDetails.CacheWrite,
		Reasoning:  u.CompletionDetails.Reasoning,
	}
	if u.Total == u.Prompt+u.Completion+out.Reasoning {
		out.Output += out.Reasoning
	}
	return out
}
