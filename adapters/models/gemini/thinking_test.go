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
// thinking and of its OpenAI endpoint; which models refuse MINIMAL is what they said.
func TestEffortsHaveTheFormOfTheModel(t *testing.T) {
	tests := []struct {
		model  string
		effort model.Effort
		want   string
	}{
		{"gemini-3-flash-preview", "", `null`},
		{"gemini-2.5-flash", "", `null`},
		{"gemini-2.0-flash", model.EffortNone, `null`},
		{"gemini-3-flash-preview", model.EffortNone, `{"thinkingLevel":"MINIMAL"}`},
		{"gemini-3.5-flash", model.EffortNone, `{"thinkingLevel":"MINIMAL"}`},
		{"gemini-3.1-pro-preview", model.EffortNone, `{"thinkingLevel":"LOW"}`},
		{"gemini-3.7-flash", model.EffortNone, `{"thinkingLevel":"LOW"}`},
		{"gemini-flash-latest", model.EffortNone, `{"thinkingLevel":"LOW"}`},
		{"gemini-4-flash", model.EffortNone, `{"thinkingLevel":"LOW"}`},
		{"gemini-3-flash-preview", model.EffortLow, `{"includeThoughts":true,"thinkingLevel":"LOW"}`},
		{"gemini-3-flash-preview", model.EffortMedium, `{"includeThoughts":true,"thinkingLevel":"MEDIUM"}`},
		{"gemini-3-flash-preview", model.EffortHigh, `{"includeThoughts":true,"thinkingLevel":"HIGH"}`},
		{"gemini-3-flash-preview", model.EffortMax, `{"includeThoughts":true,"thinkingLevel":"HIGH"}`},
		{"gemini-3-flash-preview", model.EffortBudget(700), `{"includeThoughts":true,"thinkingBudget":700}`},
		{"gemini-2.5-flash", model.EffortNone, `{"thinkingBudget":0}`},
		{"gemini-2.5-flash", model.EffortLow, `{"includeThoughts":true,"thinkingBudget":1024}`},
		{"gemini-2.5-flash", model.EffortMedium, `{"includeThoughts":true,"thinkingBudget":8192}`},
		{"gemini-2.5-flash", model.EffortHigh, `{"includeThoughts":true,"thinkingBudget":24576}`},
		{"gemini-2.5-flash", model.EffortMax, `{"includeThoughts":true,"thinkingBudget":24576}`},
		{"gemini-2.5-flash", model.EffortBudget(700), `{"includeThoughts":true,"thinkingBudget":700}`},
		{"gemini-2.5-pro", model.EffortNone, `{"includeThoughts":true,"thinkingBudget":128}`},
		{"gemini-2.5-pro", model.EffortMax, `{"includeThoughts":true,"thinkingBudget":32768}`},
	}
	for _, test := range tests {
		t.Run(test.model+" "+string(test.effort), func(t *testing.T) {
			config, err := thinking(test.effort, test.model)
			if got, _ := json.Marshal(config); err != nil || string(got) != test.want {
				t.Errorf("got %s, %v, want %s", got, err, test.want)
			}
		})
	}
	for _, name := range []string{"gemini-2.0-flash", "gemma-3-27b"} {
		for _, effort := range []model.Effort{model.EffortHigh, model.EffortBudget(5)} {
			if config, err := thinking(effort, name); err == nil {
				t.Errorf("%s of %s is %+v", effort, name, config)
			}
		}
	}
}
