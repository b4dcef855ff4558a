package openai

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/adapters/models/internal/wiretest"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/modeltest"
)

// loop is a tool loop in its second round: the first turn was another model's, the second
// is the dialect's own, with what it gave back.
func loop(echo string, choice model.ToolMode) model.Request {
	turn := func(b core.Block) core.Message {
		return core.Message{Role: core.RoleAssistant, Content: []core.Block{b}, ToolCalls: []core.ToolCall{{ID: "call_x", Name: "add", Arguments: json.RawMessage(`{"a":1}`)}}}
	}
	result := core.Message{Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: "call_x", Name: "add", Message: "1"}}
	mine := thought(echo, "us/m")
	if echo == "" {
		mine = block(core.BlockReasoning, "hm")
	}
	chosen := model.ToolChoice{Mode: choice}
	if choice == model.ToolNamed {
		chosen.Name = "add"
	}
	return model.Request{
		Model: "m", Origin: "us/m", System: "Be brief.", MaxTokens: 100, ReasoningEffort: model.EffortMax,
		Messages: []core.Message{core.UserMessage("add").WithID("1"), turn(thought(`[{"foreign":1}]`, "other/m")), result, turn(mine), result},
		Tools:    []model.ToolDefinition{{Name: "add"}, {Name: "now"}}, ToolChoice: chosen,
		ResponseFormat: &model.ResponseFormat{Name: "reply", Schema: json.RawMessage(`{"type":"object"}`)},
	}
}

var update = flag.Bool("update", false, "rewrite the golden files")

// dialects: the request stands in testdata/dialects/NAME.json, the stream in NAME.txt,
// whose first line names its source.
var dialects = []struct {
	dialect Dialect
	echo    string
	choice  model.ToolMode
	stream  []string
}{
	{DialectOpenAI, "", model.ToolRequired, []string{
		"call 0 call_1 add", `argument 0 {"a":1}`, `usage {"input":60,"output":90,"reasoning":64}`, "stop tool_use"}},
	{DialectAzure, "", model.ToolNone, []string{"text Hi.", `usage {"input":7,"output":2}`, "stop end_turn"}},
	{DialectGroq, "", model.ToolNamed, []string{
		"reasoning We add.", "call 0 functions.add:0 add", `argument 0 {"a":1}`,
		`usage {"input":80,"output":20}`, `usage {"input":80,"output":20,"reasoning":5}`, "stop tool_use"}},
	{DialectOpenRouter, `[{"type":"reasoning.summary","summary":"hm"}]`, model.ToolRequired, []string{
		"reasoning **Add", "reasoning ing**",
		`reasoning echo [{"format":"openai-responses-v1","index":0,"summary":"**Adding**","type":"reasoning.summary"},` +
			`{"data":"gAAAA","format":"openai-responses-v1","id":"rs_1","index":0,"type":"reasoning.encrypted"}]`,
		"call 0 call_1 add", `argument 0 {"a":1}`, `usage {"input":70,"output":30,"cache_read":10,"reasoning":16}`, "stop tool_use"}},
	{DialectDeepSeek, `"reasoning_content"`, model.ToolAuto, []string{
		"reasoning We ", "reasoning add.", `reasoning echo "reasoning_content"`, "text I add.", "call 0 call_00_x add", `argument 0 {"a":1}`,
		`usage {"input":50,"output":25,"cache_read":32,"reasoning":9}`, "stop tool_use"}},
	{DialectZAI, `"reasoning_content"`, model.ToolAuto, []string{
		"reasoning We add.", `reasoning echo "reasoning_content"`, "call 0 call_-1 add", `argument 0 {"a":1}`, `usage {"input":40,"output":20,"cache_read":4}`, "stop tool_use"}},
	{DialectXAI, "", model.ToolRequired, []string{
		"reasoning We add.", `usage {"input":432,"output":8,"reasoning":8}`, "call 0 call_1 add", `argument 0 {"a":1}`,
		`usage {"input":432,"output":204,"cache_read":128,"reasoning":136}`, "stop tool_use"}},
	{DialectMistral, "", model.ToolRequired, []string{"reasoning  by 2 is", "text 4", "text .", `usage {"input":10,"output":25}`, "stop max_tokens"}},
	{DialectLlamaCpp, "", model.ToolNamed, []string{
		"reasoning We add.", "call 0 x1 add", "argument 0 {", `argument 0 "a":1}`, `usage {"input":90,"output":20}`, "stop tool_use"}},
	{DialectOllama, "", model.ToolAuto, []string{"reasoning We add.", "call 0 call_1 add", `argument 0 {"a":1}`, `usage {"input":80,"output":30}`, "stop tool_use"}},
	{DialectVLLM, "", model.ToolRequired, []string{"reasoning We add.", "call 0 chatcmpl-tool-1 add", `argument 0 {"a":1}`, `usage {"input":60,"output":25}`, "stop tool_use"}},
}

func TestDialects(t *testing.T) {
	for _, tt := range dialects {
		t.Run(string(tt.dialect), func(t *testing.T) {
			s := wiretest.Serve(t, "testdata/dialects", string(tt.dialect))
			m, err := openChat(Options{APIKey: modeltest.Key, BaseURL: s.URL, Dialect: tt.dialect})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.stream, lines(m.Stream(t.Context(), loop(tt.echo, tt.choice)))); diff != "" {
				t.Errorf("stream (-want +got):\n%s", diff)
			}
			golden := filepath.Join("testdata", "dialects", string(tt.dialect)+".json")
			if *update {
				if err := os.WriteFile(golden, []byte(s.Requests()[0]+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), append(s.Requests(), "")); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			if err := wiretest.CheckChat(s.Requests()[0]); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWhatDialectsTake(t *testing.T) {
	effort := func(e model.Effort) model.Request { return model.Request{Model: "m", ReasoningEffort: e} }
	choice := func(m model.ToolMode, name string) model.Request {
		return model.Request{Model: "m", Tools: []model.ToolDefinition{{Name: "add"}, {Name: "now"}}, ToolChoice: model.ToolChoice{Mode: m, Name: name}}
	}
	silent := model.Request{Model: "m", ReasoningEffort: model.EffortNone, Messages: []core.Message{
		{Role: core.RoleAssistant, ToolCalls: []core.ToolCall{{ID: "x", Name: "add"}}}, {Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: "x"}}}}
	const end = `"stream":true,"stream_options":{"include_usage":true}}`
	tests := []struct {
		name    string
		dialect Dialect
		request model.Request
		want    string // "!" and an error, or the request
	}{
		{"levels", DialectOpenAI, effort(model.EffortMedium), `{"model":"m","messages":null,"reasoning_effort":"medium",` + end},
		{"the highest", DialectXAI, effort(model.EffortMax), `{"model":"m","messages":null,"reasoning_effort":"high",` + end},
		{"on and off", DialectMistral, effort(model.EffortLow), `{"model":"m","messages":null,"reasoning_effort":"high","stream":true}`},
		{"no reasoning with Mistral", DialectMistral, effort(model.EffortNone), `{"model":"m","messages":null,"reasoning_effort":"none","stream":true}`},
		{"no reasoning with DeepSeek", DialectDeepSeek, effort(model.EffortNone), `{"model":"m","messages":null,"thinking":{"type":"disabled"},` + end},
		{"no reasoning, none to give back", DialectDeepSeek, silent, `{"model":"m","messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c0_0","type":"function","function":{"name":"add","arguments":"{}"}}]},` +
			`{"role":"tool","content":"","tool_call_id":"c0_0"}],"thinking":{"type":"disabled"},` + end},
		{"a forced call with DeepSeek", DialectDeepSeek, choice(model.ToolRequired, ""), `{"model":"m","messages":null,` + toolsAdd + `,` + toolsNow + `],"thinking":{"type":"disabled"},"tool_choice":"required",` + end},
		{"a forced tool with DeepSeek", DialectDeepSeek, model.Request{Model: "m", ReasoningEffort: model.EffortHigh, Tools: []model.ToolDefinition{{Name: "now"}}, ToolChoice: model.ToolChoice{Mode: model.ToolNamed, Name: "now"}},
			`{"model":"m","messages":null,"tools":[` + toolsNow + `],"thinking":{"type":"disabled"},"tool_choice":{"type":"function","function":{"name":"now"}},` + end},
		{"no call with DeepSeek", DialectDeepSeek, choice(model.ToolNone, ""), `{"model":"m","messages":null,` + toolsAdd + `,` + toolsNow + `],"tool_choice":"none",` + end},
		{"no reasoning with llama.cpp", DialectLlamaCpp, effort(model.EffortNone), `{"model":"m","messages":null,"chat_template_kwargs":{"enable_thinking":false},` + end},
		{"levels with llama.cpp", DialectLlamaCpp, effort(model.EffortLow), `{"model":"m","messages":null,"chat_template_kwargs":{"reasoning_effort":"low"},` + end},
		{"levels with OpenRouter", DialectOpenRouter, effort(model.EffortHigh), `{"model":"m","messages":null,"reasoning":{"effort":"high"},` + end},
		{"a budget with OpenRouter", DialectOpenRouter, effort(model.EffortBudget(2000)), `{"model":"m","messages":null,"reasoning":{"max_tokens":2000},` + end},
		{"a budget with another", DialectVLLM, effort(model.EffortBudget(2000)), `!openai: reasoning effort "budget:2000" is not supported by this API, which has levels`},
		{"no tools with Z.ai", DialectZAI, choice(model.ToolNone, ""), `{"model":"m","messages":null,"stream":true}`},
		{"a forced call with Z.ai", DialectZAI, choice(model.ToolRequired, ""), `!openai: tool choice "required" is not supported by this API, which has only "auto"`},
		{"a forced tool with Z.ai", DialectZAI, choice(model.ToolNamed, "add"), `!openai: tool choice "tool" is not supported by this API, which has only "auto"`},
		{"a tool with Mistral", DialectMistral, choice(model.ToolNone, ""), `{"model":"m","messages":null,` + toolsAdd + `,` + toolsNow + `],"tool_choice":"none","stream":true}`},
		{"a tool with llama.cpp that is not there", DialectLlamaCpp, choice(model.ToolNamed, "gone"), `!openai: tool choice names "gone", which the request does not have`},
		{"options", DialectCompatible, model.Request{Model: "m", ProviderOptions: json.RawMessage(`{"seed": 7, "parallel_tool_calls": false, "reasoning_effort": "minimal"}`)},
			`{"model":"m","messages":null,"stream":true,"stream_options":{"include_usage":true},"parallel_tool_calls":false,"reasoning_effort":"minimal","seed":7}`},
		{"an option that is ours", DialectCompatible, model.Request{Model: "m", ProviderOptions: json.RawMessage(`{"n":2}`)}, "!openai: provider_options.n is set by the adapter, remove it"},
		{"an option that is set", DialectCompatible, model.Request{Model: "m", ReasoningEffort: model.EffortLow, ProviderOptions: json.RawMessage(`{"reasoning_effort":"minimal"}`)},
			"!openai: provider_options.reasoning_effort is set by the adapter, remove it"},
		{"a name", DialectCompatible, model.Request{Model: "m", Tools: []model.ToolDefinition{{Name: strings.Repeat("a", 65)}}},
			`!openai: tool name "` + strings.Repeat("a", 61) + `..." is not supported by this API, want 1 to 64 of A-Z a-z 0-9 _ -`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := encode(tt.request, kins[tt.dialect])
			said := string(got)
			if err != nil {
				said = "!" + err.Error()
			}
			if diff := cmp.Diff(tt.want, said); diff != "" {
				t.Error(diff)
			}
			m, opened := openChat(Options{Dialect: tt.dialect, BaseURL: "https://x.example/v1"})
			if opened != nil {
				t.Fatal(opened)
			}
			if checked := m.Check(tt.request); (checked == nil) != (err == nil) || err != nil && (core.CodeOf(checked) != core.CodeInvalid || checked.Error() != err.Error()) {
				t.Errorf("check says %v, the request %v", checked, err)
			}
		})
	}
}

const (
	toolsAdd = `"tools":[{"type":"function","function":{"name":"add","parameters":{"type":"object","properties":{}}}}`
	toolsNow = `{"type":"function","function":{"name":"now","parameters":{"type":"object","properties":{}}}}`
)

func TestEchoesOfAnotherForm(t *testing.T) {
	for _, dialect := range []Dialect{DialectZAI, DialectOpenRouter, DialectOpenAI} {
		body, err := encode(model.Request{Model: "m", Origin: own, Messages: []core.Message{
			{Role: core.RoleAssistant, Content: []core.Block{thought(kept, own)}, ToolCalls: []core.ToolCall{{ID: "x", Name: "add"}}},
			{Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: "x"}},
		}}, kins[dialect])
		if err != nil || strings.Contains(string(body), `"reasoning`) || strings.Contains(string(body), "hm") {
			t.Errorf("%s: %s, %v", dialect, body, err)
		}
	}
}

func TestMistralsOrder(t *testing.T) {
	context := core.Message{Role: core.RoleSystem, Content: []core.Block{block(core.BlockText, "noon")}}
	call := core.Message{Role: core.RoleAssistant, ToolCalls: []core.ToolCall{{ID: "x", Name: "get weather"}}}
	result := core.Message{Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: "x", Message: "1"}}
	got, err := encode(model.Request{Model: "m", System: "Be brief.", Messages: []core.Message{
		context, core.UserMessage("a").WithID("1"), context, call, result, core.UserMessage("b").WithID("2"), {Role: core.RoleAssistant}, call, result, context,
	}}, kins[DialectMistral])
	if err != nil {
		t.Fatal(err)
	}
	want := `{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"system","content":"noon"},{"role":"user","content":"a"},{"role":"user","content":"noon"},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"c00003000","type":"function","function":{"name":"get_weather","arguments":"{}"}}]},{"role":"tool","content":"1","tool_call_id":"c00003000"},` +
		`{"role":"assistant","content":"I have the results."},{"role":"user","content":"b"},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"c00007000","type":"function","function":{"name":"get_weather","arguments":"{}"}}]},{"role":"tool","content":"1","tool_call_id":"c00007000"},` +
		`{"role":"assistant","content":"I have the results."},{"role":"user","content":"noon"}],"stream":true}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestDetailsAreJoined(t *testing.T) {
	stream := data(
		`{"choices":[{"delta":{"reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a","index":0,"signature":null}]}}]}`,
		`{"choices":[{"delta":{"reasoning":"b","reasoning_details":[{"type":"reasoning.text","text":"b","index":0}]}}]}`,
		`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","index":0,"signature":"s"}]}}]}`,
		`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","text":"c","index":1}]}}]}`,
		`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.encrypted","data":"x","index":1}]}}]}`,
		`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.encrypted","data":"y","index":1}]}}]}`,
		`{"choices":[{"delta":{"content":"d"}}]}`, `[DONE]`)
	var got []string
	_, err := wire.Read(strings.NewReader(stream), &turn{echo: echoDetails}, func(d model.Delta) bool {
		got = append(got, lines(func(yield func(model.Delta, error) bool) { yield(d, nil) })...)
		return true
	})
	want := []string{"reasoning a", "reasoning b", "text d",
		`reasoning echo [{"index":0,"signature":"s","text":"ab","type":"reasoning.text"},{"index":1,"text":"c","type":"reasoning.text"},` +
			`{"data":"x","index":1,"type":"reasoning.encrypted"},{"data":"y","index":1,"type":"reasoning.encrypted"}]`, "stop end_turn"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}
