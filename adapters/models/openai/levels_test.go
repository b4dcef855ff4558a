package openai

import (
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

func TestModelsThatKnowFewerLevels(t *testing.T) {
	const (
		none, low, high, most = model.EffortNone, model.EffortLow, model.EffortHigh, model.EffortMax
		end                   = `,"stream":true,"stream_options":{"include_usage":true}}`
		some                  = ` takes "low", "medium", "high", "max"`
		without               = ` takes no reasoning_effort: leave it out`
	)
	tests := []struct {
		dialect Dialect
		model   string
		effort  model.Effort
		want    string // of reasoning_effort; "" it is not sent; "!" and the end of an error
	}{
		{DialectOpenAI, "gpt-5", none, "!" + some},
		{DialectOpenAI, "gpt-5-2025-08-07", none, "!" + some},
		{DialectOpenAI, "gpt-5-mini", none, "!" + some},
		{DialectOpenAI, "gpt-5-mini", low, "low"},
		{DialectOpenAI, "gpt-5-mini", most, "high"},
		{DialectOpenAI, "gpt-5-nano-2025-08-07", most, "high"},
		{DialectOpenAI, "gpt-5-mini", model.EffortBudget(2000), "!" + some},
		{DialectOpenAI, "o4-mini", none, "!" + some},
		{DialectOpenAI, "ft:o4-mini-2025-04-16:acme::x1", none, "!" + some},
		{DialectOpenAI, "gpt-5.1", none, "none"},
		{DialectOpenAI, "gpt-5.1-2025-11-13", most, "high"},
		{DialectOpenAI, "gpt-5.1-codex-max", most, "xhigh"},
		{DialectOpenAI, "gpt-5.2", none, "none"},
		{DialectOpenAI, "gpt-5.4-mini", most, "xhigh"},
		{DialectOpenAI, "gpt-5-mini-next", none, "none"},
		{DialectAzure, "gpt-5-mini", none, "none"}, // a deployment of any model
		{DialectCompatible, "gpt-5-mini", none, "none"},
		{DialectGroq, "openai/gpt-oss-20b", none, "!" + some},
		{DialectGroq, "openai/gpt-oss-120b", most, "high"},
		{DialectGroq, "openai/gpt-oss-120b", high, "high"},
		{DialectGroq, "qwen/qwen3-32b", none, "none"},
		{DialectVLLM, "openai/gpt-oss-20b", none, "none"},
		{DialectXAI, "grok-4-fast", low, "!" + without},
		{DialectXAI, "grok-4-fast", none, "!" + without},
		{DialectXAI, "grok-4-0709", high, "!" + without},
		{DialectXAI, "grok-4-fast-non-reasoning", none, ""},
		{DialectXAI, "grok-4-fast-non-reasoning", low, `! takes "none"`},
		{DialectXAI, "grok-4.3", none, "none"},
		{DialectXAI, "grok-4.5", most, "high"},
		{DialectXAI, "grok-4.20-multi-agent", low, "low"},
	}
	for _, tt := range tests {
		t.Run(string(tt.dialect)+" "+tt.model+" "+string(tt.effort), func(t *testing.T) {
			m, err := openChat(Options{Dialect: tt.dialect, BaseURL: "https://x.example/v1"})
			if err != nil {
				t.Fatal(err)
			}
			request := model.Request{Model: tt.model, ReasoningEffort: tt.effort}
			err = m.Check(request)
			if tt.want != "" && tt.want[0] == '!' {
				want := `openai: reasoning_effort is "` + string(tt.effort) + `", the model "` + tt.model + `"` + tt.want[1:]
				if core.CodeOf(err) != core.CodeInvalid || err.Error() != want {
					t.Errorf("error %v, want %s", err, want)
				}
				return
			}
			got, failed := encode(request, m.kin)
			want := `{"model":"` + tt.model + `","messages":null` + end
			if tt.want != "" {
				want = `{"model":"` + tt.model + `","messages":null,"reasoning_effort":"` + tt.want + `"` + end
			}
			if err != nil || failed != nil || string(got) != want {
				t.Errorf("%s, %v, %v\nwant %s", got, err, failed, want)
			}
		})
	}
}
