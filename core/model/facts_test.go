package model_test

import (
	"fmt"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

func TestFactsThatCannotBe(t *testing.T) {
	tests := []struct {
		facts model.Facts
		want  string
	}{
		{model.Facts{}, "<nil>"},
		{model.Facts{
			ContextWindow: 100, MaxInputTokens: 100, MaxOutputTokens: 100, TokensPerByte: 0.05, Inputs: []string{"image", "document", "audio"},
			Cutoff: "2025-12", Reasoning: "always", PromptCache: "marks", NativeFormat: true,
		}, "<nil>"},
		{model.Facts{MaxOutputTokens: 100, TokensPerByte: 2}, "<nil>"},
		{model.Facts{ContextWindow: -1}, "context_window is -1, want 0 (not known) or more"},
		{model.Facts{MaxInputTokens: -1}, "max_input_tokens is -1, want 0 (not known) or more"},
		{model.Facts{MaxOutputTokens: -1}, "max_output_tokens is -1, want 0 (not known) or more"},
		{model.Facts{ContextWindow: 99, MaxInputTokens: 100}, "max_input_tokens is 100, more than the 99 of context_window"},
		{model.Facts{ContextWindow: 99, MaxOutputTokens: 100}, "max_output_tokens is 100, more than the 99 of context_window"},
		{model.Facts{TokensPerByte: 0.04}, "tokens_per_byte is 0.04, allowed are 0.05 to 2"},
		{model.Facts{TokensPerByte: 2.1}, "tokens_per_byte is 2.1, allowed are 0.05 to 2"},
		{model.Facts{TokensPerByte: -1}, "tokens_per_byte is -1, allowed are 0.05 to 2"},
		{model.Facts{Inputs: []string{"video"}}, `inputs is "video", allowed are ["image" "document" "audio"]`},
		{model.Facts{Inputs: []string{""}}, `inputs is "", allowed are ["image" "document" "audio"]`},
		{model.Facts{Inputs: []string{"image", "image"}}, `inputs has "image" twice`},
		{model.Facts{Cutoff: "2025-13"}, `knowledge_cutoff is "2025-13", want a month such as 2025-01`},
		{model.Facts{Reasoning: "hard"}, `reasoning is "hard", allowed are ["none" "always" "levels" "budget"]`},
		{model.Facts{PromptCache: "yes"}, `prompt_cache is "yes", allowed are ["none" "automatic" "marks"]`},
	}
	for _, test := range tests {
		err := test.facts.Check()
		if got := fmt.Sprint(err); got != test.want {
			t.Errorf("%+v: %s, want %s", test.facts, got, test.want)
		}
		if err != nil && core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("%v has code %q", err, core.CodeOf(err))
		}
	}
}

func TestARatioHasADefault(t *testing.T) {
	if got := (model.Facts{}).Ratio(); got != 0.25 {
		t.Errorf("the default is %v", got)
	}
	if got := (model.Facts{TokensPerByte: 0.5}).Ratio(); got != 0.5 {
		t.Errorf("its own is %v", got)
	}
}
