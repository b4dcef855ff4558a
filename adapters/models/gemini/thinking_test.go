package gemini

import (
	"encoding/json"
	"testing"

	"github.com/reveille-run/reveille/core/model"
)

func TestGenerations(t *testing.T) {
	tests := []struct {
		name string
		want generation
	}{
		{"gemini-3-pro-preview", generation{3, 0}},
		{"gemini-3.1-flash-lite", generation{3, 1}},
		{"gemini-2.5-flash-preview-09-2025", generation{2, 5}},
		{"gemini-2.0-flash", generation{2, 0}},
		{"models/gemini-3.8-flash", generation{3, 8}},
		{"publishers/google/models/gemini-1.5-pro-latest", generation{1, 5}},
		{"gemini-10", generation{10, 0}},
		{"gemini-flash-latest", newest},
		{"gemini-flash-lite-latest", newest},
		{"gemini-exp-1206", generation{}},
		{"gemini-", generation{}},
		{"tunedModels/mine", generation{}},
		{"gemma-3-27b", generation{}},
	}
	for _, test := range tests {
		if got := generationOf(test.name); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
	if !newest.signs() || newest.budgets() || (generation{2, 5}).signs() || (generation{2, 0}).budgets() {
		t.Error("what a generation wants is wrong")
	}
}

// The levels and their numbers of tokens are those of the provider's documentation of
// thinking and of its OpenAI endpoint.
func TestEffortsHaveTheFormOfTheModel(t *testing.T) {
	all := []string{"minimal", "low", "medium", "high"}
	tests := []struct {
		model  string
		levels []string // of the catalog
		effort model.Effort
		want   string
	}{
		{"gemini-3-flash-preview", nil, "", `null`},
		{"gemini-2.5-flash", nil, "", `null`},
		{"gemini-2.0-flash", nil, model.EffortNone, `null`},
		{"gemini-3-flash-preview", all, model.EffortNone, `{"thinkingLevel":"MINIMAL"}`},
		{"gemini-3-flash-preview", all, model.EffortMax, `{"includeThoughts":true,"thinkingLevel":"HIGH"}`},
		{"gemini-3-pro-preview", []string{"low", "high"}, model.EffortMedium, `{"includeThoughts":true,"thinkingLevel":"HIGH"}`},
		{"gemini-3-pro-preview", []string{"low", "high"}, model.EffortNone, `{"thinkingLevel":"LOW"}`},
		{"gemini-4-hydrogen", []string{"low", "medium", "high", "xhigh"}, model.EffortMax, `{"includeThoughts":true,"thinkingLevel":"XHIGH"}`},
		{"gemini-2.5-flash", []string{"low"}, model.EffortHigh, `{"includeThoughts":true,"thinkingBudget":24576}`},
		{"gemini-3.5-flash", nil, model.EffortNone, `{"thinkingLevel":"LOW"}`},
		{"gemini-3.1-pro-preview", nil, model.EffortNone, `{"thinkingLevel":"LOW"}`},
		{"gemini-3.7-flash", nil, model.EffortNone, `{"thinkingLevel":"LOW"}`},
		{"gemini-flash-latest", nil, model.EffortNone, `{"thinkingLevel":"LOW"}`},
		{"gemini-4-flash", nil, model.EffortNone, `{"thinkingLevel":"LOW"}`},
		{"gemini-3-flash-preview", nil, model.EffortLow, `{"includeThoughts":true,"thinkingLevel":"LOW"}`},
		{"gemini-3-flash-preview", nil, model.EffortMedium, `{"includeThoughts":true,"thinkingLevel":"MEDIUM"}`},
		{"gemini-3-flash-preview", nil, model.EffortHigh, `{"includeThoughts":true,"thinkingLevel":"HIGH"}`},
		{"gemini-3-flash-preview", nil, model.EffortMax, `{"includeThoughts":true,"thinkingLevel":"HIGH"}`},
		{"gemini-3-flash-preview", nil, model.EffortBudget(700), `{"includeThoughts":true,"thinkingBudget":700}`},
		{"gemini-2.5-flash", nil, model.EffortNone, `{"thinkingBudget":0}`},
		{"gemini-2.5-flash", nil, model.EffortLow, `{"includeThoughts":true,"thinkingBudget":1024}`},
		{"gemini-2.5-flash", nil, model.EffortMedium, `{"includeThoughts":true,"thinkingBudget":8192}`},
		{"gemini-2.5-flash", nil, model.EffortHigh, `{"includeThoughts":true,"thinkingBudget":24576}`},
		{"gemini-2.5-flash", nil, model.EffortMax, `{"includeThoughts":true,"thinkingBudget":24576}`},
		{"gemini-2.5-flash", nil, model.EffortBudget(700), `{"includeThoughts":true,"thinkingBudget":700}`},
		{"gemini-2.5-pro", nil, model.EffortNone, `{"includeThoughts":true,"thinkingBudget":128}`},
		{"gemini-2.5-pro", nil, model.EffortMax, `{"includeThoughts":true,"thinkingBudget":32768}`},
	}
	for _, test := range tests {
		t.Run(test.model+" "+string(test.effort), func(t *testing.T) {
			config, err := thinking(model.Request{Model: test.model, ReasoningEffort: test.effort, Levels: test.levels})
			if got, _ := json.Marshal(config); err != nil || string(got) != test.want {
				t.Errorf("got %s, %v, want %s", got, err, test.want)
			}
		})
	}
	for _, name := range []string{"gemini-2.0-flash", "gemma-3-27b"} {
		for _, effort := range []model.Effort{model.EffortHigh, model.EffortBudget(5)} {
			if config, err := thinking(model.Request{Model: name, ReasoningEffort: effort}); err == nil {
				t.Errorf("%s of %s is %+v", effort, name, config)
			}
		}
	}
}
