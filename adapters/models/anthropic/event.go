package anthropic

import (
	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
)

// event is the data of one event of a stream. Unknown fields are ignored.
type event struct {
	Type    string `json:"type"`
	Message struct {
		ID    string `json:"id"`
		Usage *usage `json:"usage"`
	} `json:"message"`
	Index   int        `json:"index"` // of the block
	Content eventBlock `json:"content_block"`
	Delta   eventDelta `json:"delta"`
	Usage   *usage     `json:"usage"`
}

// eventBlock is a block that begins.
type eventBlock struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
	Data      string `json:"data"`
	ID        string `json:"id"`
	Name      string `json:"name"`
	Input     input  `json:"input"`

	Citations wire.Loose[[]citation] `json:"citations"` // of a text, from servers that send blocks whole
}

// eventDelta is a piece of a block, or the end of the message.
type eventDelta struct {
	Type       string `json:"type"`
	Text       string `json:"text"`
	Thinking   string `json:"thinking"`
	Signature  string `json:"signature"`
	Arguments  string `json:"partial_json"`
	StopReason string `json:"stop_reason"`

	Citation wire.Loose[citation] `json:"citation"`
}

// input is a call's arguments in the event that begins it: {} from Anthropic itself, all
// of them from some servers. Its text is empty for no argument.
type input string

// UnmarshalJSON implements json.Unmarshaler.
func (i *input) UnmarshalJSON(b []byte) error {
	if text := string(b); text != "{}" && text != "null" {
		*i = input(text)
	}
	return nil
}

// usage is a report, all counts so far; what it leaves out has not changed.
type usage struct {
	Input      *int `json:"input_tokens"` // without what the cache has or gets
	Output     *int `json:"output_tokens"`
	CacheRead  *int `json:"cache_read_input_tokens"`
	CacheWrite *int `json:"cache_creation_input_tokens"`
	Created    struct {
		Hour *int `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	Details struct {
		Thinking *int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// counts are the latest reports together.
type counts struct{ input, output, cacheRead, cacheWrite, hour, thinking int }

func (c *counts) take(u *usage) {
	for _, count := range []struct {
		to   *int
		said *int
	}{
		{&c.input, u.Input}, {&c.output, u.Output}, {&c.cacheRead, u.CacheRead},
		{&c.cacheWrite, u.CacheWrite}, {&c.thinking, u.Details.Thinking}, {&c.hour, u.Created.Hour},
	} {
		if count.said != nil {
			*count.to = *count.said
		}
	}
}

// core returns the counts as the vocabulary has them: Input with what the cache gave and
// got.
func (c counts) core() core.Usage {
	return core.Usage{
		Input: c.input + c.cacheRead + c.cacheWrite, Output: c.output,
		CacheRead: c.cacheRead, CacheWrite: c.cacheWrite, Reasoning: c.thinking, CacheWriteHour: min(c.hour, c.cacheWrite),
	}
}
