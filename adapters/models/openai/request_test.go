package openai

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

var temperature = 0.0

var bodies = []struct {
	name    string
	request model.Request
	dialect Dialect
	want    string
}{
	{
		name: "what bounds the turn",
		request: model.Request{
			Model: "m", Messages: []core.Message{
				{Role: core.RoleSystem, Content: []core.Block{{Type: core.BlockText, Text: "It is noon."}}},
				core.UserMessage("hi").WithID("1"),
			},
			Tools: []model.ToolDefinition{{Name: "now"}}, TopP: new(0.5), StopSequences: []string{"END"}, ReasoningEffort: model.EffortMax,
			ResponseFormat: &model.ResponseFormat{Name: "reply", Schema: json.RawMessage(`{"type":"object","properties":{}, "additionalProperties":false}`), Strict: true},
			ToolChoice:     model.ToolChoice{Mode: model.ToolNamed, Name: "now"},
		},
		dialect: DialectOpenAI,
		want: `{"model":"m","messages":[{"role":"system","content":"It is noon."},{"role":"user","content":"hi"}],` +
			`"tools":[{"type":"function","function":{"name":"now","parameters":{"type":"object","properties":{}}}}],` +
			`"top_p":0.5,"stop":["END"],"reasoning_effort":"xhigh",` +
			`"response_format":{"type":"json_schema","json_schema":{"name":"reply","schema":{"type":"object","properties":{},"additionalProperties":false},"strict":true}},` +
			`"tool_choice":{"type":"function","function":{"name":"now"}},"stream":true,"stream_options":{"include_usage":true}}`,
	},
	{
		name: "a mode of tools, and none of them",
		request: model.Request{
			Model: "m", Messages: []core.Message{core.UserMessage("hi").WithID("1")},
			Tools: []model.ToolDefinition{{Name: "now"}}, ReasoningEffort: model.EffortLow, ToolChoice: model.ToolChoice{Mode: model.ToolRequired},
		},
		dialect: DialectOpenAI,
		want: `{"model":"m","messages":[{"role":"user","content":"hi"}],` +
			`"tools":[{"type":"function","function":{"name":"now","parameters":{"type":"object","properties":{}}}}],` +
			`"reasoning_effort":"low","tool_choice":"required","stream":true,"stream_options":{"include_usage":true}}`,
	},
	{
		name: "a choice without tools",
		request: model.Request{
			Model: "m", Messages: []core.Message{core.UserMessage("hi").WithID("1")}, ToolChoice: model.ToolChoice{Mode: model.ToolRequired},
		},
		dialect: DialectOpenAI,
		want:    `{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true}}`,
	},
	{
		name: "a whole conversation",
		request: model.Request{
			Model:  "m",
			System: "Be <brief> & kind.",
			Messages: []core.Message{
				core.UserMessage("add").WithID("1"),
				{
					Role: core.RoleAssistant,
					Content: []core.Block{
						{Type: core.BlockReasoning, Text: "hm", Echo: json.RawMessage(`"sig"`)},
						{Type: core.BlockText, Text: "One "}, {Type: core.BlockText, Text: "moment."},
					},
					ToolCalls: []core.ToolCall{
						{ID: "c1", Name: "add", Arguments: json.RawMessage(`{"a": 1}`)},
						{ID: "c2", Name: "add", Arguments: json.RawMessage(`"{\"a\": 1"`)},
					},
				},
				{Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: "c1", Name: "add", Data: json.RawMessage(`{"sum":1}`)}},
				{Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: "c2", Name: "add", Message: "not JSON", IsError: true}},
				{Role: core.RoleAssistant, ToolCalls: []core.ToolCall{{ID: "c3", Name: "now"}}},
				{Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: "c3", Name: "now", Data: json.RawMessage(`5`)}},
				{Role: core.RoleAssistant},
			},
			Tools: []model.ToolDefinition{
				{Name: "add", Description: "Adds.", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}}}`)},
				{Name: "now"},
			},
			MaxTokens:   100,
			Temperature: &temperature,
		},
		dialect: DialectCompatible,
		want: `{"model":"m","messages":[` +
			`{"role":"system","content":"Be <brief> & kind."},` +
			`{"role":"user","content":"add"},` +
			`{"role":"assistant","content":"One moment.","tool_calls":[` +
			`{"id":"c1_0","type":"function","function":{"name":"add","arguments":"{\"a\": 1}"}},` +
			`{"id":"c1_1","type":"function","function":{"name":"add","arguments":"{\"invalid_arguments\":\"{\\\"a\\\": 1\"}"}}]},` +
			`{"role":"tool","content":"{\"sum\":1}","tool_call_id":"c1_0"},` +
			`{"role":"tool","content":"not JSON","tool_call_id":"c1_1"},` +
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c4_0","type":"function","function":{"name":"now","arguments":"{}"}}]},` +
			`{"role":"tool","content":"5","tool_call_id":"c4_0"}],` +
			`"tools":[` +
			`{"type":"function","function":{"name":"add","description":"Adds.","parameters":{"type":"object","properties":{"a":{"type":"integer"}}}}},` +
			`{"type":"function","function":{"name":"now","parameters":{"type":"object","properties":{}}}}],` +
			`"max_tokens":100,"temperature":0,"stream":true,"stream_options":{"include_usage":true}}`,
	},
	{
		name:    "the token limit as OpenAI spells it",
		request: model.Request{Model: "o", Messages: []core.Message{core.UserMessage("hi").WithID("1")}, MaxTokens: 7},
		dialect: DialectOpenAI,
		want:    `{"model":"o","messages":[{"role":"user","content":"hi"}],"max_completion_tokens":7,"stream":true,"stream_options":{"include_usage":true}}`,
	},
}

func TestRequestBody(t *testing.T) {
	for _, test := range bodies {
		t.Run(test.name, func(t *testing.T) {
			got, err := encode(test.request, kins[test.dialect])
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRequestsWithoutAWireForm(t *testing.T) {
	tests := []struct {
		name    string
		request model.Request
		want    string
	}{
		{"no model", model.Request{}, "openai: the request names no model"},
		{"a budget of reasoning", model.Request{Model: "m", ReasoningEffort: model.EffortBudget(1000)}, `openai: reasoning effort "budget:1000" is not supported by this API, which has levels`},
		{"unknown role", model.Request{Model: "m", Messages: []core.Message{{ID: "7", Role: "critic"}}}, `openai: message "7" has the role "critic"`},
		{"no result", model.Request{Model: "m", Messages: []core.Message{{ID: "7", Role: core.RoleTool}}}, `openai: tool message "7" has no result`},
		{"bad schema", model.Request{Model: "m", Tools: []model.ToolDefinition{{Name: "t", Parameters: json.RawMessage(`{`)}}},
			`openai: the parameters of tool "t" are {, want a JSON Schema object`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := encode(test.request, kins[DialectCompatible])
			var e *model.Error
			if !errors.As(err, &e) || e.Kind != model.KindInvalid || e.Message != test.want {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
