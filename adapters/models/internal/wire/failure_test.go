package wire

import (
	"net/http"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core/model"
)

func TestWhatServersSayOfATooLongPrompt(t *testing.T) {
	for _, said := range []string{
		"This model's maximum context length is 8192 tokens.",                                                     // OpenAI
		"prompt is too long: 205000 tokens > 200000 maximum",                                                      // Anthropic
		"This model's maximum prompt length is 131072 but the request contains 136973 tokens.",                    // xAI
		"Prompt exceeds max length",                                                                               // Z.ai
		"Too many input tokens. Max input tokens: 8192, request input token count: 9279",                          // Bedrock
		"The prompt (total length 40000) is longer than the maximum model length of 32768.",                       // vLLM
		"the request exceeds the available context size. try increasing the context size or enable context shift", // llama.cpp
	} {
		for _, status := range []int{0, 400, 422} {
			if got := KindOf(status, said); got != model.KindOverflow {
				t.Errorf("%d %q is %s", status, said, got)
			}
		}
	}
	if got := KindOf(400, "max_tokens is too large: 99999"); got != model.KindInvalid {
		t.Errorf("a limit that is no prompt's is %s", got)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	tests := []struct {
		name, seconds, millis string
		want                  time.Duration
	}{
		{"none", "", "", 0},
		{"seconds", "7", "", 7 * time.Second},
		{"fraction", "0.25", "", 250 * time.Millisecond},
		{"date", "Sat, 21 Nov 2026 10:00:30 GMT", "", 30 * time.Second},
		{"date in the past", "Sat, 21 Nov 2026 09:00:00 GMT", "", 0},
		{"far date", "Sat, 21 Nov 2099 09:00:00 GMT", "", 24 * time.Hour},
		{"negative", "-3", "", 0},
		{"huge", "1e300", "", 24 * time.Hour},
		{"not a number", "NaN", "", 0},
		{"nonsense", "soon", "", 0},
		{"milliseconds", "7", "1500", 1500 * time.Millisecond},
		{"bad milliseconds", "7", "x", 7 * time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := http.Header{}
			h.Set("Retry-After", test.seconds)
			h.Set("Retry-After-Ms", test.millis)
			if got := RetryAfter(h, now); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
