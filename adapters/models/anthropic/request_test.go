package anthropic

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

func said(role core.Role, text string) core.Message {
	return core.Message{Role: role, Content: []core.Block{{Type: core.BlockText, Text: text}}}
}

func result(call, text string) core.Message {
	return core.Message{Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: call, Name: "add", Message: text}}
}

func resultOf(call, text string, failed bool, content ...core.Block) core.Message {
	m := result(call, text)
	m.ToolResult.IsError, m.ToolResult.Content = failed, content
	return m
}

func file(media, name, data, url string) core.Block {
	return core.Block{Type: core.BlockFile, MediaType: media, Filename: name, Data: []byte(data), URL: url}
}

// bodies are shaped after the reference of the Messages API.
var bodies = []struct {
	name    string
	request model.Request
	want    string
}{
	{
		name: "a whole conversation",
		request: model.Request{
			Model: "claude-sonnet-4-0", System: "Be <brief> & kind.", MaxTokens: 100, Temperature: new(0.0), TopP: new(0.5), StopSequences: []string{"END"},
			Messages: []core.Message{
				said(core.RoleUser, "add"),
				{
					Role:    core.RoleAssistant,
					Content: []core.Block{{Type: core.BlockReasoning, Text: "hm"}, {Type: core.BlockText, Text: "One "}, {Type: core.BlockText, Text: "moment."}},
					ToolCalls: []core.ToolCall{
						{ID: "x", Name: "add", Arguments: json.RawMessage(`{"b": 1,"a": 2}`)},
						{ID: "y", Name: "no such/tool ü", Arguments: json.RawMessage(`"{\"a\": 1"`)},
						{ID: "z", Name: ""},
					},
				},
				result("x", "3"),
				{Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: "y", Name: "add", Message: "not JSON", IsError: true}},
				result("z", " "),
				said(core.RoleUser, "go on"),
			},
			Tools: []model.ToolDefinition{
				{Name: "add", Description: "Adds.", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}}}`)}, {Name: "now"},
			},
			ToolChoice:      model.ToolChoice{Mode: model.ToolNamed, Name: "add"},
			ProviderOptions: json.RawMessage(`{"top_k": 5, "metadata": {"user_id": "u"}}`),
		},
		want: `{"model":"claude-sonnet-4-0","max_tokens":100,"tools":[` +
			`{"name":"add","description":"Adds.","input_schema":{"type":"object","properties":{"a":{"type":"integer"}}}},` +
			`{"name":"now","input_schema":{"type":"object","properties":{}},"cache_control":{"type":"ephemeral"}}],` +
			`"system":[{"type":"text","text":"Be <brief> & kind.","cache_control":{"type":"ephemeral"}}],` +
			`"messages":[{"role":"user","content":[{"type":"text","text":"add","cache_control":{"type":"ephemeral"}}]},` +
			`{"role":"assistant","content":[{"type":"text","text":"One "},{"type":"text","text":"moment."},` +
			`{"type":"tool_use","id":"c1_0","name":"add","input":{"b":1,"a":2}},` +
			`{"type":"tool_use","id":"c1_1","name":"no_such_tool__","input":{"invalid_arguments":"{\"a\": 1"}},` +
			`{"type":"tool_use","id":"c1_2","name":"_","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1_0","content":"3"},` +
			`{"type":"tool_result","tool_use_id":"c1_1","content":"not JSON","is_error":true},` +
			`{"type":"tool_result","tool_use_id":"c1_2"},` +
			`{"type":"text","text":"go on","cache_control":{"type":"ephemeral"}}]}],` +
			`"tool_choice":{"type":"tool","name":"add"},"stop_sequences":["END"],"temperature":0,"top_p":0.5,"stream":true,` +
			`"metadata":{"user_id":"u"},"top_k":5}`,
	},
	{
		name: "files",
		request: model.Request{
			Model: "claude-haiku-4-5", NoPromptCache: true, Messages: []core.Message{{Role: core.RoleUser, Content: []core.Block{
				file("image/png", "", "1", ""), file("image/svg+xml", "", "", "https://example.com/a.svg"), file("application/pdf", "a.pdf", "2", ""),
				file("application/pdf", "", "", "https://example.com/b.pdf"), file("text/csv; charset=utf-8", "a.csv", "a,b", ""), file("application/json", "", "{}", ""),
				{Type: core.BlockText, Text: "What is it?"},
			}}},
		},
		want: `{"model":"claude-haiku-4-5","max_tokens":32000,"messages":[{"role":"user","content":[` +
			`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"MQ=="}},` +
			`{"type":"image","source":{"type":"url","url":"https://example.com/a.svg"}},` +
			`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"Mg=="},"title":"a.pdf"},` +
			`{"type":"document","source":{"type":"url","url":"https://example.com/b.pdf"}},` +
			`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"a,b"},"title":"a.csv"},` +
			`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"{}"}},` +
			`{"type":"text","text":"What is it?"}]}],"stream":true}`,
	},
	{
		name: "files in results",
		request: model.Request{
			Model: "claude-haiku-4-5", NoPromptCache: true, Messages: []core.Message{
				said(core.RoleUser, "a"),
				{Role: core.RoleAssistant, ToolCalls: []core.ToolCall{{ID: "x", Name: "now"}, {ID: "y", Name: "now"}, {ID: "z", Name: "now"}}},
				resultOf("x", "Two.", false, file("image/png", "", "1", ""), core.Block{Type: core.BlockText, Text: "and"}, file("application/pdf", "a.pdf", "2", "")),
				resultOf("y", "", false, file("image/gif", "", "3", ""), file("audio/wav", "", "4", "")),
				resultOf("z", "no", true, file("image/png", "", "5", "")),
				said(core.RoleUser, "b"),
			},
		},
		want: `{"model":"claude-haiku-4-5","max_tokens":32000,"tools":[{"name":"now","input_schema":{"type":"object","properties":{}}}],` +
			`"messages":[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[` +
			`{"type":"tool_use","id":"c1_0","name":"now","input":{}},{"type":"tool_use","id":"c1_1","name":"now","input":{}},{"type":"tool_use","id":"c1_2","name":"now","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1_0","content":[{"type":"text","text":"Two."},` +
			`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"MQ=="}},{"type":"text","text":"and"},` +
			`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"Mg=="},"title":"a.pdf"}]},` +
			`{"type":"tool_result","tool_use_id":"c1_1","content":[{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"Mw=="}},` +
			`{"type":"text","text":"[Omitted: a file of type audio/wav, which this model does not accept.]"}]},` +
			`{"type":"tool_result","tool_use_id":"c1_2","content":"no","is_error":true},` +
			`{"type":"text","text":"Files of the result of add:"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"NQ=="}},` +
			`{"type":"text","text":"b"}]}],"tool_choice":{"type":"none"},"stream":true}`,
	},
	{
		name: "files in results of a model that accepts none",
		request: model.Request{
			Model: "claude-haiku-4-5", NoPromptCache: true, Inputs: []string{}, Messages: []core.Message{
				{Role: core.RoleAssistant, ToolCalls: []core.ToolCall{{ID: "x", Name: "now"}}},
				resultOf("x", "One.", false, file("image/png; a=b", "", "1", "")),
			},
		},
		want: `{"model":"claude-haiku-4-5","max_tokens":32000,"tools":[{"name":"now","input_schema":{"type":"object","properties":{}}}],` +
			`"messages":[{"role":"user","content":[{"type":"text","text":"[What was said before is left out here.]"}]},` +
			`{"role":"assistant","content":[{"type":"tool_use","id":"c0_0","name":"now","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c0_0","content":"One.\n[Omitted: a file of type image/png, which this model does not accept.]"}]}],` +
			`"tool_choice":{"type":"none"},"stream":true}`,
	},
	{
		name: "plugins' context, and sides that speak twice",
		request: model.Request{
			Model: "m", System: "Be brief.", MaxTokens: 5,
			Messages: []core.Message{
				said(core.RoleSystem, "You are in Oslo."), said(core.RoleSystem, " "),
				said(core.RoleUser, "a"), said(core.RoleUser, " \n"), said(core.RoleUser, "b"),
				{Role: core.RoleAssistant, Content: []core.Block{{Type: core.BlockText, Text: " "}}},
				said(core.RoleAssistant, "c"), said(core.RoleSystem, "between"), said(core.RoleAssistant, "d"),
				{Role: core.RoleAssistant, ToolCalls: []core.ToolCall{{ID: "x", Name: "add"}}},
				said(core.RoleSystem, "early"), result("x", "1"), said(core.RoleSystem, "It is noon."),
			},
			ToolChoice: model.ToolChoice{Mode: model.ToolRequired},
		},
		want: `{"model":"m","max_tokens":5,"tools":[{"name":"add","input_schema":{"type":"object","properties":{}},"cache_control":{"type":"ephemeral"}}],` +
			`"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}},{"type":"text","text":"You are in Oslo."}],` +
			`"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},` +
			`{"role":"assistant","content":[{"type":"text","text":"c"}]},` +
			`{"role":"user","content":[{"type":"text","text":"between","cache_control":{"type":"ephemeral"}}]},` +
			`{"role":"assistant","content":[{"type":"text","text":"d"},{"type":"tool_use","id":"c9_0","name":"add","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c9_0","content":"1"},` +
			`{"type":"text","text":"early","cache_control":{"type":"ephemeral"}},{"type":"text","text":"It is noon."}]}],` +
			`"tool_choice":{"type":"none"},"stream":true}`,
	},
	{
		name: "calls without tools",
		request: model.Request{
			Model: "m", MaxTokens: 5, NoPromptCache: true, Messages: []core.Message{
				said(core.RoleUser, "a"),
				{Role: core.RoleAssistant, ToolCalls: []core.ToolCall{{ID: "x", Name: "now"}, {ID: "y", Name: "add"}, {ID: "z", Name: "now"}}},
				result("x", "1"), result("y", "2"), result("z", "3"),
			},
		},
		want: `{"model":"m","max_tokens":5,"tools":[{"name":"add","input_schema":{"type":"object","properties":{}}},{"name":"now","input_schema":{"type":"object","properties":{}}}],` +
			`"messages":[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[` +
			`{"type":"tool_use","id":"c1_0","name":"now","input":{}},{"type":"tool_use","id":"c1_1","name":"add","input":{}},{"type":"tool_use","id":"c1_2","name":"now","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1_0","content":"1"},{"type":"tool_result","tool_use_id":"c1_1","content":"2"},` +
			`{"type":"tool_result","tool_use_id":"c1_2","content":"3"}]}],"tool_choice":{"type":"none"},"stream":true}`,
	},
	{
		name: "a window that begins with the model",
		request: model.Request{
			Model: "claude-3-5-haiku-latest", NoPromptCache: true, Messages: []core.Message{said(core.RoleAssistant, "Yes."), said(core.RoleUser, "No.")},
			Tools: []model.ToolDefinition{{Name: "now"}}, ToolChoice: model.ToolChoice{Mode: model.ToolNone}, Temperature: new(1.0), TopP: new(1.0),
		},
		want: `{"model":"claude-3-5-haiku-latest","max_tokens":8192,"tools":[{"name":"now","input_schema":{"type":"object","properties":{}}}],` +
			`"messages":[{"role":"user","content":[{"type":"text","text":"[What was said before is left out here.]"}]},` +
			`{"role":"assistant","content":[{"type":"text","text":"Yes."}]},{"role":"user","content":[{"type":"text","text":"No."}]}],` +
			`"tool_choice":{"type":"none"},"stream":true}`,
	},
	{
		name: "a format beside an effort",
		request: model.Request{
			Model: "claude-opus-5-5", NoPromptCache: true, Messages: []core.Message{said(core.RoleUser, "hi")}, ReasoningEffort: model.EffortHigh,
			Temperature: new(1.0), TopP: new(1.0), Tools: []model.ToolDefinition{{Name: "now"}}, ToolChoice: model.ToolChoice{Mode: model.ToolRequired},
			ResponseFormat: &model.ResponseFormat{Name: "reply", Schema: json.RawMessage(`{"type":"object","additionalProperties":false}`), Strict: true},
		},
		want: `{"model":"claude-opus-5-5","max_tokens":32000,"tools":[{"name":"now","input_schema":{"type":"object","properties":{}}}],` +
			`"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"tool_choice":{"type":"auto"},` +
			`"thinking":{"type":"adaptive","display":"summarized"},` +
			`"output_config":{"effort":"high","format":{"type":"json_schema","schema":{"type":"object","additionalProperties":false}}},"stream":true}`,
	},
}

func TestRequestBody(t *testing.T) {
	for _, test := range bodies {
		t.Run(test.name, func(t *testing.T) {
			got, err := encode(test.request, false)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got.body)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRequestsWithoutAWireForm(t *testing.T) {
	hi := []core.Message{said(core.RoleUser, "hi")}
	with := func(name string, change func(*model.Request)) model.Request {
		r := model.Request{Model: name, Messages: hi}
		change(&r)
		return r
	}
	both := func(r *model.Request) { r.Temperature, r.TopP = new(0.5), new(0.9) }
	sent := func(b core.Block) model.Request {
		return with("m", func(r *model.Request) { r.Messages = []core.Message{{Role: core.RoleUser, Content: []core.Block{b}}} })
	}
	tests := []struct {
		name    string
		request model.Request
		want    string
		history bool // of the messages, which Check does not see
	}{
		{"no model", model.Request{Messages: hi}, "the request names no model", false},
		{"nothing said", model.Request{Model: "m", Messages: []core.Message{said(core.RoleUser, " ")}}, "the request has no message", true},
		{"nobody but plugins", model.Request{Model: "m", Messages: []core.Message{said(core.RoleSystem, "a"), said(core.RoleSystem, "b")}}, "the request has no message", true},
		{"unknown role", model.Request{Model: "m", Messages: []core.Message{{ID: "7", Role: "critic"}}}, `message "7" has the role "critic"`, true},
		{"a result of nothing", model.Request{Model: "m", Messages: []core.Message{{ID: "7", Role: core.RoleTool}}}, `tool message "7" has no result`, true},
		{"a sound", sent(file("audio/wav", "", "1", "")), "a file of media type audio/wav is not supported by this API, which accepts JPEG, PNG, GIF, WebP, PDF and text", true},
		{"an image of another type", sent(file("image/svg+xml", "", "1", "")), "a file of media type image/svg+xml is not supported by this API, which accepts JPEG, PNG, GIF, WebP, PDF and text", true},
		{"a text by its URL", sent(file("text/plain", "", "", "https://example.com")), "a file of media type text/plain by its URL is not supported by this API, which accepts URLs of images and PDF only", true},
		{"a media type that is none", sent(file("image", "", "1", "")), "a file of media type image is not supported by this API, which accepts JPEG, PNG, GIF, WebP, PDF and text", true},
		{"a name", with("m", func(r *model.Request) { r.Tools = []model.ToolDefinition{{Name: "a.b"}} }), `tool name "a.b" is not supported by this API, want 1 to 128 of A-Z a-z 0-9 _ -`, false},
		{"too long a name", with("m", func(r *model.Request) { r.Tools = []model.ToolDefinition{{Name: strings.Repeat("a", 129)}} }),
			`tool name "` + core.Excerpt(strings.Repeat("a", 129)) + `" is not supported by this API, want 1 to 128 of A-Z a-z 0-9 _ -`, false},
		{"a schema", with("m", func(r *model.Request) {
			r.Tools = []model.ToolDefinition{{Name: "a", Parameters: json.RawMessage(`[]`)}}
		}),
			`the parameters of tool "a" are [], want a JSON Schema object`, false},
		{"an effort", with("claude-3-5-haiku-latest", func(r *model.Request) { r.ReasoningEffort = model.EffortLow }),
			`reasoning effort "low" is not supported by model claude-3-5-haiku-latest, which does not reason`, false},
		{"a budget", with("claude-opus-4-7", func(r *model.Request) { r.ReasoningEffort = model.EffortBudget(2000) }),
			`reasoning effort "budget:2000" is not supported by model claude-opus-4-7, which has levels`, false},
		{"too small a budget", with("claude-opus-4-5", func(r *model.Request) { r.ReasoningEffort = model.EffortBudget(1023) }),
			"a reasoning budget of 1023 tokens is not supported with a limit of 33023 tokens, want 1024 or more, and less than the limit", false},
		{"a budget of all tokens", with("claude-opus-4-5", func(r *model.Request) { r.ReasoningEffort, r.MaxTokens = model.EffortBudget(2000), 2000 }),
			"a reasoning budget of 2000 tokens is not supported with a limit of 2000 tokens, want 1024 or more, and less than the limit", false},
		{"a temperature of the newest", with("claude-opus-4-7", func(r *model.Request) { r.Temperature = new(0.5) }), "temperature 0.5 is not supported by model claude-opus-4-7, which accepts only 1", false},
		{"a top_p of the newest", with("claude-haiku-5-5", func(r *model.Request) { r.TopP = new(0.99) }), "top_p 0.99 is not supported by model claude-haiku-5-5, which accepts only 1", false},
		{"too high a temperature", with("m", func(r *model.Request) { r.Temperature = new(1.5) }), "temperature 1.5 is not supported by this API, which accepts 0 to 1", false},
		{"a temperature of thinking", with("m", func(r *model.Request) { r.Temperature, r.ReasoningEffort = new(0.5), model.EffortHigh }), "temperature 0.5 is not supported with reasoning, which accepts only 1", false},
		{"a temperature of adaptive thinking", with("claude-opus-4-6", func(r *model.Request) { r.Temperature, r.ReasoningEffort = new(0.5), model.EffortHigh }),
			"temperature 0.5 is not supported with reasoning, which accepts only 1", false},
		{"a top_p of thinking", with("m", func(r *model.Request) { r.TopP, r.ReasoningEffort = new(0.94), model.EffortHigh }), "top_p 0.94 is not supported with reasoning, which accepts 0.95 to 1", false},
		{"a temperature and a top_p of one that takes either", with("claude-opus-4-1-20250805", both), "temperature 0.5 and top_p 0.9 are not supported together by model claude-opus-4-1-20250805, which accepts one of them", false},
		{"both of 4.5", with("claude-haiku-4-5", both), "temperature 0.5 and top_p 0.9 are not supported together by model claude-haiku-4-5, which accepts one of them", false},
		{"both of 4.6", with("claude-sonnet-4-6", both), "temperature 0.5 and top_p 0.9 are not supported together by model claude-sonnet-4-6, which accepts one of them", false},
		{"a format of the oldest", with("claude-sonnet-4-20250514", func(r *model.Request) { r.ResponseFormat = &model.ResponseFormat{Schema: json.RawMessage(`{}`)} }),
			"a response format is not supported by model claude-sonnet-4-20250514", false},
		{"an option of the adapter's", with("m", func(r *model.Request) { r.ProviderOptions = json.RawMessage(`{"thinking":{}}`) }),
			"provider_options.thinking is set by the adapter, remove it", false},
		{"a fifth mark", with("m", func(r *model.Request) { r.ProviderOptions = json.RawMessage(`{"cache_control":{}}`) }),
			"provider_options.cache_control is set by the adapter, remove it", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := encode(test.request, false)
			var e *model.Error
			if !errors.As(err, &e) || e.Kind != model.KindInvalid || e.Message != "anthropic: "+test.want {
				t.Errorf("error %v\nwant %s", err, test.want)
			}
			m, err := open(Options{})
			if err != nil {
				t.Fatal(err)
			}
			bare := test.request
			bare.Messages = nil
			switch err := m.Check(bare); {
			case test.history && err != nil:
				t.Errorf("Check: %v", err)
			case !test.history && (core.CodeOf(err) != core.CodeInvalid || err.Error() != "anthropic: "+test.want):
				t.Errorf("Check: %v (%s)", err, core.CodeOf(err))
			}
		})
	}
}

func TestWhatModelsTakeGoesByTheLongestName(t *testing.T) {
	tests := []struct {
		name string
		want kin
	}{
		{"claude-opus-4-5-20251101", kins["claude-opus-4-5"]},
		{"claude-opus-4-20250514", kins["claude-opus-4"]},
		{"claude-opus-5", kins["claude-opus-5"]},
		{"anthropic/claude-opus-5-5", newest},
		{"us.anthropic.claude-3-7-sonnet-20250219-v1:0", budgeted},
		{"claude-opus-9", newest},
		{"glm-5", other},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := kinOf(test.name); got != test.want {
				t.Errorf("%+v", got)
			}
		})
	}
}
