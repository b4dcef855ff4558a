package model_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/strict"
)

func TestEffortHasOneJSONForm(t *testing.T) {
	tests := []struct {
		text   string
		want   model.Effort
		budget int
	}{
		{`"none"`, model.EffortNone, 0},
		{`"low"`, model.EffortLow, 0},
		{`"medium"`, model.EffortMedium, 0},
		{`"high"`, model.EffortHigh, 0},
		{`"max"`, model.EffortMax, 0},
		{`{"budget":2048}`, model.EffortBudget(2048), 2048},
		{`""`, "", 0},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			var got model.Effort
			if err := json.Unmarshal([]byte(test.text), &got); err != nil || got != test.want {
				t.Fatalf("got %q, %v, want %q", got, err, test.want)
			}
			if tokens, ok := got.Budget(); tokens != test.budget || ok != (test.budget > 0) {
				t.Errorf("budget %d, %v", tokens, ok)
			}
			if again, err := json.Marshal(got); err != nil || string(again) != test.text {
				t.Errorf("encodes as %s, %v", again, err)
			}
		})
	}
}

func TestEffortRefusesWhatItIsNot(t *testing.T) {
	const levels = `allowed are "none", "low", "medium", "high", "max" and {"budget": n}`
	tests := []struct{ name, text, want string }{
		{"another level", `"extreme"`, `reasoning_effort is "extreme", ` + levels},
		{"a level in capitals", `"High"`, `reasoning_effort is "High", ` + levels},
		{"a number", `5`, `reasoning_effort is 5, want a level or {"budget": n}`},
		{"no budget", `{}`, `reasoning_effort.budget is required`},
		{"something beside", `{"budget":1,"x":2}`, `unknown field "x" in reasoning_effort, allowed are budget`},
		{"a budget of nothing", `{"budget":0}`, `reasoning_effort.budget is 0, want a whole number from 1 to 1000000`},
		{"too large a budget", `{"budget":1000001}`, `reasoning_effort.budget is 1000001, want a whole number from 1 to 1000000`},
		{"null as a budget", `{"budget":null}`, `reasoning_effort.budget is null, want a whole number from 1 to 1000000`},
		{"a budget's text with a sign", `"budget:+5"`, `reasoning_effort is "budget:+5", ` + levels},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := struct {
				Effort model.Effort `json:"reasoning_effort"`
			}{model.EffortLow}
			err := strict.Decode([]byte(`{"reasoning_effort":`+test.text+`}`), &got)
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
			if core.CodeOf(err) != core.CodeInvalid || got.Effort != model.EffortLow {
				t.Errorf("code %q, value %q", core.CodeOf(err), got.Effort)
			}
		})
	}
}

func TestTheLastWriterOfAFieldOverrides(t *testing.T) {
	first := model.Override{UpstreamModel: "a", Temperature: new(0.1), MaxTokens: 10, TopP: new(0.5), ReasoningEffort: model.EffortLow}
	tests := []struct {
		name        string
		base, later model.Override
		want        model.Override
	}{
		{"nothing over something", first, model.Override{}, first},
		{"something over nothing", model.Override{}, first, first},
		{"a temperature of zero is set", first, model.Override{Temperature: new(0.0)},
			model.Override{UpstreamModel: "a", Temperature: new(0.0), MaxTokens: 10, TopP: new(0.5), ReasoningEffort: model.EffortLow}},
		{"each field by itself", first, model.Override{UpstreamModel: "b", TopP: new(1.0)},
			model.Override{UpstreamModel: "b", Temperature: new(0.1), MaxTokens: 10, TopP: new(1.0), ReasoningEffort: model.EffortLow}},
		{"the rest", first, model.Override{MaxTokens: 20, ReasoningEffort: model.EffortBudget(7)},
			model.Override{UpstreamModel: "a", Temperature: new(0.1), MaxTokens: 20, TopP: new(0.5), ReasoningEffort: model.EffortBudget(7)}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.base.Merge(test.later)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if !(model.Override{}).IsZero() || first.IsZero() {
		t.Error("IsZero is wrong")
	}
}

func TestParametersOutOfRangeAreNamed(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"nothing overridden", model.Override{}.Check(), `<nil>`},
		{"negative tokens", model.Override{MaxTokens: -1}.Check(), `max_tokens is -1, want 0 (as the agent has it) or more`},
		{"a negative temperature", model.Override{Temperature: new(-0.5)}.Check(), `temperature is -0.5, want 0 or more`},
		{"a temperature that is no number", model.Override{Temperature: new(math.NaN())}.Check(), `temperature is NaN, want 0 or more`},
		{"too large a top_p", model.Override{TopP: new(1.01)}.Check(), `top_p is 1.01, allowed are 0 to 1`},
		{"a top_p at its limit", model.Override{TopP: new(1.0)}.Check(), `<nil>`},
		{"no such effort", model.Override{ReasoningEffort: "x"}.Check(), `reasoning_effort is "x", allowed are "none", "low", "medium", "high", "max" and {"budget": n}`},
		{"no name of a format", model.ResponseFormat{Schema: json.RawMessage(`{}`)}.Check(), `response_format.name is "", want 1 to 64 of A-Z a-z 0-9 _ -`},
		{"no schema", model.ResponseFormat{Name: "a"}.Check(), `response_format.schema is missing`},
		{"a schema that is a list", model.ResponseFormat{Name: "a", Schema: json.RawMessage(` []`)}.Check(), `response_format.schema is  [], want a JSON Schema object`},
		{"a schema that is no JSON", model.ResponseFormat{Name: "a", Schema: json.RawMessage(`{`)}.Check(), `response_format.schema is {, want a JSON Schema object`},
		{"a format", model.ResponseFormat{Name: "a", Schema: json.RawMessage(`{"type":"object"}`)}.Check(), `<nil>`},
		{"no choice", model.ToolChoice{}.Check(), `<nil>`},
		{"no such mode", model.ToolChoice{Mode: "any"}.Check(), `tool_choice.mode is "any", allowed are "auto", "none", "required" and "tool"`},
		{"a tool without a name", model.ToolChoice{Mode: model.ToolNamed}.Check(), `tool_choice.name is empty, want the tool of mode "tool"`},
		{"a name without its mode", model.ToolChoice{Mode: model.ToolAuto, Name: "x"}.Check(), `tool_choice.name is "x", which only mode "tool" has`},
		{"a tool by its name", model.ToolChoice{Mode: model.ToolNamed, Name: "x"}.Check(), `<nil>`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, fmt.Sprint(test.err)); diff != "" {
				t.Error(diff)
			}
			if test.err != nil && core.CodeOf(test.err) != core.CodeInvalid {
				t.Errorf("code %q", core.CodeOf(test.err))
			}
		})
	}
}
