package wire

import (
	"errors"
	"testing"

	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/secret"
)

func TestARefusalSaysHowLongARequestMayBe(t *testing.T) {
	tests := []struct {
		message string
		status  int
		want    int
	}{
		{"This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion).", 400, 16384},
		{"request (13392 tokens) exceeds the available context size (8192 tokens), try increasing it", 400, 8192},
		{"the model is loaded with context length of only 7866 tokens, which is not enough", 400, 7866},
		{"The decoder prompt (length 9000) is longer than the maximum model length of 4096.", 400, 4096},
		{"This model's maximum prompt length is 131072 but the request contains 200000 tokens.", 400, 131072},
		{"prompt is too long: 210000 tokens > 200000 maximum", 400, 200000},
		{"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 400, 1048576},
		{"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length", 400, 32768},
		{"your request exceeds the context window of 200,000 tokens", 400, 200000},
		{"maximum context length is 255 tokens", 400, 0},
		{"maximum context length is 256 tokens", 400, 256},
		{"maximum context length is 100000000 tokens", 400, 100000000},
		{"maximum context length is 100000001 tokens", 400, 0},
		{"maximum context length is 99999999999999999999 tokens", 400, 0},
		{"maximum context length is exceeded", 400, 0},
		{"prompt is too long", 400, 0},
		{"", 413, 0},
		{"the request exceeds limit of 4096 requests, a quota", 429, 0}, // of another kind
	}
	for _, tt := range tests {
		var got *model.Error
		if !errors.As(Failure{Status: tt.status, Message: tt.message}.named("a", secret.String{}), &got) || got.Limit != tt.want {
			t.Errorf("%q: limit %d, want %d", tt.message, got.Limit, tt.want)
		}
	}
	for said, want := range map[int]int{-1: 2048, 0: 2048, 255: 2048, 256: 256, 4096: 4096, 100_000_000: 100_000_000, 100_000_001: 2048} {
		var got *model.Error
		f := Failure{Kind: model.KindOverflow, Message: "maximum context length is 2048 tokens", Limit: said}
		if !errors.As(f.named("a", secret.String{}), &got) || got.Limit != want {
			t.Errorf("a field of %d: limit %d, want %d", said, got.Limit, want)
		}
	}
}
