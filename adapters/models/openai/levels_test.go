package openai

import (
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

func TestModelsThatKnowFewerLevels(t *testing.T) {
	const (
		none, low, high, most = model.EffortNone, model.EffortLow, model.EffortHigh, model.EffortMax
		without               = ` takes no reasoning_effort: leave it out`
	)
	usual, minimal, extra := []string{"low", "medium", "high"}, []string{"minimal", "low", "medium", "high"}, []string{"none", "low", "medium", "high", "xhigh"}
	tests := []struct {
		dialect Dialect
		model   string
		levels  []string // of the catalog
		effort  model.Effort
		want    string // of reasoning_effort; "" it is not sent; "!" and the end of an error
	}{
		{DialectOpenAI, "gpt-5-mini", nil, low, "low"}, // without a catalog, the levels of the server
		{DialectOpenAI, "gpt-5-mini", nil, none, "none"},
		{DialectOpenAI, "gpt-5-mini", nil, most, "xhigh"},
		{DialectGroq, "openai/gpt-oss-20b", nil, most, "high"},
		{DialectOpenAI, "gpt-5-mini", minimal, none, "minimal"},
		{DialectOpenAI, "gpt-5-mini", minimal, low, "low"},
		{DialectOpenAI, "gpt-5-mini", minimal, most, "high"},
		{DialectOpenAI, "gpt-5.5", extra, none, "none"},
		{DialectOpenAI, "gpt-5.5", extra, most, "xhigh"},
		{DialectOpenAI, "gpt-6-astra", []string{"low", "medium", "high", "xhigh", "max"}, none, "low"},
		{DialectOpenAI, "gpt-6-astra", []string{"low", "medium", "high", "xhigh", "max"}, most, "max"},
		{DialectOpenAI, "gpt-5.4-pro", []string{"medium", "high", "xhigh"}, none, "medium"},
		{DialectOpenAI, "gpt-5.4-pro", []string{"medium", "high", "xhigh"}, low, "medium"},
		{DialectOpenAI, "gpt-5-pro", []string{"high"}, low, "high"},
		{DialectAzure, "gpt-5-mini", minimal, none, "minimal"},
		{DialectGroq, "openai/gpt-oss-20b", usual, none, "low"},
		{DialectGroq, "openai/gpt-oss-120b", usual, most, "high"},
		{DialectMistral, "mistral-medium-latest", []string{"none", "high"}, low, "high"},
		{DialectMistral, "mistral-medium-latest", []string{"none", "high"}, none, "none"},
		{DialectDeepSeek, "deepseek-v4-pro", []string{"low", "high", "max"}, model.EffortMedium, "high"},
		{DialectDeepSeek, "deepseek-v4-pro", []string{"low", "high", "max"}, most, "max"},
		{DialectZAI, "glm-5.2", []string{"high", "xhigh"}, low, "high"},
		{DialectZAI, "glm-5.2", []string{"high", "xhigh"}, most, "xhigh"},
		{DialectXAI, "grok-4.5", usual, most, "high"},
		{DialectXAI, "grok-4.5", usual, none, "low"},
		{DialectXAI, "grok-4-fast", nil, low, "!" + without},
		{DialectXAI, "grok-4-fast", nil, none, "!" + without},
		{DialectXAI, "grok-4-0709", nil, high, "!" + without},
		{DialectXAI, "grok-4-fast-non-reasoning", nil, none, ""},
		{DialectXAI, "grok-4-fast-non-reasoning", nil, low, `! takes "none"`},
		{DialectXAI, "grok-4.3", nil, none, "none"},
		{DialectXAI, "grok-4.5", nil, most, "high"},
		{DialectXAI, "grok-4.20-multi-agent", nil, low, "low"},
	}
	for _, tt := range tests {
		t.Run(string(tt.dialect)+" "+tt.model+" "+string(tt.effort), func(t *testing.T) {
			m, err := openChat(Options{Dialect: tt.dialect, BaseURL: "https://x.example/v1"})
			if err != nil {
				t.Fatal(err)
			}
			request := model.Request{Model: tt.model, ReasoningEffort: tt.effort, Levels: tt.levels}
			err = m.Check(request)
			if tt.want != "" && tt.want[0] == '!' {
				want := `openai: reasoning_effort is "` + string(tt.effort) + `", the model "` + tt.model + `"` + tt.want[1:]
				if core.CodeOf(err) != core.CodeInvalid || err.Error() != want {
					t.Errorf("error %v, want %s", err, want)
				}
				return
			}
			end := `,"stream":true}`
			if m.kin.usage {
				end = `,"stream":true,"stream_options":{"include_usage":true}}`
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
