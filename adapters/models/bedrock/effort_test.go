package bedrock

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core/model"
)

// Claude takes no level above high while it is kept from thinking.
func TestTheLevelOfAModelThatIsKeptFromThinking(t *testing.T) {
	for level, want := range map[string]string{"": "", "low": "low", "high": "high", "xhigh": "high", "max": "high"} {
		if got := kinOf("anthropic.claude-opus-5").unthinking(thought{level: level}); got.level != want || got.fields == nil {
			t.Errorf("%q becomes %q with the fields %s, want %q and fields", level, got.level, got.fields, want)
		}
	}
}

func TestEfforts(t *testing.T) {
	const opus46, opus48, opus5, opus55, nova2, oss = "global.anthropic.claude-opus-4-6-v1", "anthropic.claude-opus-4-8", "anthropic.claude-opus-5", "anthropic.claude-opus-5-5", "us.amazon.nova-2-lite-v1:0", "openai.gpt-oss-120b-1:0"
	tests := []struct {
		model  string
		levels string // of the catalog; empty: none are known
		effort model.Effort
		limit  int
		want   string // the fields, a space, the level; or the error
	}{
		{sonnet, "", "", 0, ` `},
		{sonnet, "", model.EffortNone, 0, ` `},
		{sonnet, "", model.EffortLow, 0, `{"thinking":{"type":"enabled","budget_tokens":2048}} `},
		{sonnet, "", model.EffortMax, 0, `{"thinking":{"type":"enabled","budget_tokens":32000}} `},
		{sonnet, "", model.EffortHigh, 4000, `{"thinking":{"type":"enabled","budget_tokens":3000}} `},
		{sonnet, "", model.EffortHigh, 1000, ` `},
		{sonnet, "", model.EffortBudget(5000), 0, `{"thinking":{"type":"enabled","budget_tokens":5000}} `},
		{sonnet, "", model.EffortBudget(1023), 0, `bedrock: a reasoning effort of 1023 tokens, Claude takes 1024 or more`},
		{sonnet, "", model.EffortBudget(4000), 4000, `bedrock: max_tokens is 4000, want more than the 4000 tokens of the reasoning effort`},
		{"anthropic.claude-3-7-sonnet-20250219-v1:0", "", model.EffortMedium, 0, `{"thinking":{"type":"enabled","budget_tokens":8192}} `},
		{"anthropic.claude-3-5-sonnet-20241022-v2:0", "", model.EffortLow, 0, `bedrock: reasoning effort "low" is not known for the model "anthropic.claude-3-5-sonnet-20241022-v2:0"; use provider option additionalModelRequestFields as its maker documents`},
		{opus46, "", model.EffortMax, 0, `{"thinking":{"type":"adaptive"}} max`},
		{opus46, "", model.EffortBudget(2000), 0, `{"thinking":{"type":"enabled","budget_tokens":2000}} `},
		{opus48, "", model.EffortLow, 0, `{"thinking":{"type":"adaptive","display":"summarized"}} low`},
		{opus48, "", model.EffortBudget(2000), 0, `bedrock: the model "anthropic.claude-opus-4-8" takes levels of reasoning effort, not a budget`},
		{opus5, "", model.EffortNone, 0, `{"thinking":{"type":"disabled"}} `},
		{nova2, "", model.EffortNone, 0, `{"reasoningConfig":{"type":"disabled"}} `},
		{nova2, "", model.EffortMax, 0, `{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"high"}} `},
		{"amazon.nova-lite-v1:0", "", model.EffortNone, 0, ` `},
		{oss, "", model.EffortMedium, 0, `{"reasoning_effort":"medium"} `},
		{oss, "", model.EffortMax, 0, `{"reasoning_effort":"high"} `},
		{oss, "", model.EffortNone, 0, `bedrock: reasoning effort "none" is not known for the model "openai.gpt-oss-120b-1:0"; use provider option additionalModelRequestFields as its maker documents`},
		{opus55, "", model.EffortNone, 0, `{"thinking":{"type":"adaptive","display":"summarized"}} low`},
		{opus55, "medium high", model.EffortNone, 0, `{"thinking":{"type":"adaptive","display":"summarized"}} medium`},
		{opus55, "medium high", model.EffortLow, 0, `{"thinking":{"type":"adaptive","display":"summarized"}} medium`},
		{opus55, "low medium high xhigh max", model.EffortMax, 0, `{"thinking":{"type":"adaptive","display":"summarized"}} max`},
		{opus55, "low medium high xhigh", model.EffortMax, 0, `{"thinking":{"type":"adaptive","display":"summarized"}} xhigh`},
		{opus5, "low medium high", model.EffortNone, 0, `{"thinking":{"type":"disabled"}} `},
		{opus46, "low medium high max", model.EffortMax, 0, `{"thinking":{"type":"adaptive"}} max`},
		{opus46, "low medium high", model.EffortMax, 0, `{"thinking":{"type":"adaptive"}} high`},
		{opus46, "low medium high", model.EffortNone, 0, ` `},
		{"anthropic.claude-mythos-preview", "", model.EffortNone, 0, ` `},
		{sonnet, "low medium high", model.EffortMax, 0, `{"thinking":{"type":"enabled","budget_tokens":32000}} `},
		{nova2, "low medium", model.EffortMax, 0, `{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"medium"}} `},
		{nova2, "low medium high", model.EffortLow, 0, `{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"low"}} `},
		{nova2, "low medium high", model.EffortNone, 0, `{"reasoningConfig":{"type":"disabled"}} `},
		{nova2, "low medium high", model.EffortBudget(2000), 0, `bedrock: reasoning effort "budget:2000" is not known for the model "us.amazon.nova-2-lite-v1:0"; use provider option additionalModelRequestFields as its maker documents`},
		{oss, "low medium high", model.EffortNone, 0, `{"reasoning_effort":"low"} `},
		{oss, "low medium high", model.EffortMax, 0, `{"reasoning_effort":"high"} `},
		{oss, "medium high max", model.EffortMax, 0, `{"reasoning_effort":"max"} `},
		{oss, "medium high", model.EffortLow, 0, `{"reasoning_effort":"medium"} `},
		{"zai.glm-5", "low medium high", model.EffortLow, 0, `bedrock: reasoning effort "low" is not known for the model "zai.glm-5"; use provider option additionalModelRequestFields as its maker documents`},
		{"arn:aws:bedrock:us-east-1:1:application-inference-profile/abc", "", model.EffortNone, 0, ` `},
	}
	for _, test := range tests {
		t.Run(test.model+" "+test.levels+" "+string(test.effort), func(t *testing.T) {
			input, err := frame(model.Request{Model: test.model, ReasoningEffort: test.effort, Levels: strings.Fields(test.levels), MaxTokens: test.limit}, loop{})
			got := fmt.Sprint(err)
			if err == nil {
				got = " "
				if input.AdditionalModelRequestFields != nil {
					text, _ := input.AdditionalModelRequestFields.MarshalSmithyDocument()
					got = string(text) + got
				}
				if input.OutputConfig != nil {
					got += *input.OutputConfig.Effort
				}
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
