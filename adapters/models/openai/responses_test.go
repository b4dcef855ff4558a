package openai

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// responses returns a model of the API that is never asked.
func responses(t testing.TB, options Options) *responsesProvider {
	t.Helper()
	m, err := openResponses(options, dialectAuto)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

const (
	kept    = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e1"}`
	sent    = `{"type":"reasoning","summary":[],"encrypted_content":"e1"}` // to OpenAI
	keptToo = `{"type":"reasoning","summary":[],"encrypted_content":"e2"}`
	own     = "openai/gpt-5"
)

func block(kind core.BlockType, text string) core.Block { return core.Block{Type: kind, Text: text} }

func thought(echo, origin string) core.Block {
	return core.Block{Type: core.BlockReasoning, Text: "hm", Echo: json.RawMessage(echo), Origin: origin}
}

func TestResponsesBodies(t *testing.T) {
	call := core.ToolCall{ID: "call_x", Name: "add", Arguments: json.RawMessage(`{"a": 1}`)}
	result := core.Message{Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: "call_x", Name: "add", Data: json.RawMessage(`{"sum":1}`)}}
	const end = `,"store":false,"include":["reasoning.encrypted_content"],"stream":true}`
	tests := []struct {
		name    string
		options Options
		request model.Request
		want    string
	}{
		{"everything that bounds the turn", Options{ReasoningSummary: "auto"}, model.Request{
			Model: "gpt-5", System: "Be <brief>.", Messages: []core.Message{core.UserMessage("hi").WithID("1")}, MaxTokens: 100, Temperature: new(0.5), TopP: new(0.9),
			Tools:           []model.ToolDefinition{{Name: "add", Description: "Adds.", Parameters: json.RawMessage(`{"type":"object"}`)}, {Name: "now"}},
			ReasoningEffort: model.EffortMax, Levels: []string{"low", "medium", "high"}, ToolChoice: model.ToolChoice{Mode: model.ToolNamed, Name: "now"},
			ResponseFormat:  &model.ResponseFormat{Name: "reply", Schema: json.RawMessage(`{"type":"object","properties":{}, "additionalProperties":false}`), Strict: true},
			ProviderOptions: json.RawMessage(`{"service_tier": "flex", "metadata": {"b": 1}}`),
		}, `{"model":"gpt-5","instructions":"Be <brief>.","input":[{"type":"message","role":"user","content":"hi"}],` +
			`"tools":[{"type":"function","name":"add","description":"Adds.","parameters":{"type":"object"},"strict":false},` +
			`{"type":"function","name":"now","parameters":{"type":"object","properties":{}},"strict":false}],` +
			`"max_output_tokens":100,"temperature":0.5,"top_p":0.9,"reasoning":{"effort":"high","summary":"auto"},` +
			`"text":{"format":{"type":"json_schema","name":"reply","schema":{"type":"object","properties":{},"additionalProperties":false},"strict":true}},"tool_choice":{"type":"function","name":"now"}` +
			`,"store":false,"include":["reasoning.encrypted_content"],"stream":true,"metadata":{"b":1},"service_tier":"flex"}`},
		{"a choice without tools, a summary without an effort", Options{ReasoningSummary: "concise"}, model.Request{
			Model: "gpt-5", Messages: []core.Message{core.UserMessage("hi").WithID("1")}, ToolChoice: model.ToolChoice{Mode: model.ToolRequired},
		}, `{"model":"gpt-5","input":[{"type":"message","role":"user","content":"hi"}],"reasoning":{"summary":"concise"}` + end},
		{"a mode of tools", Options{}, model.Request{
			Model: "gpt-5", Tools: []model.ToolDefinition{{Name: "now"}}, ToolChoice: model.ToolChoice{Mode: model.ToolRequired},
		}, `{"model":"gpt-5","input":[],"tools":[{"type":"function","name":"now","parameters":{"type":"object","properties":{}},"strict":false}],"tool_choice":"required"` + end},
		{"a model that does not reason", Options{ReasoningSummary: "auto"}, model.Request{Model: "gpt-4.1-mini", Messages: []core.Message{core.UserMessage("hi").WithID("1")}},
			`{"model":"gpt-4.1-mini","input":[{"type":"message","role":"user","content":"hi"}],"store":false,"stream":true}`},
		{"one that was made of it", Options{}, model.Request{Model: "ft:gpt-4.1-mini-2025-04-14:acme::x1", Messages: []core.Message{core.UserMessage("hi").WithID("1")}},
			`{"model":"ft:gpt-4.1-mini-2025-04-14:acme::x1","input":[{"type":"message","role":"user","content":"hi"}],"store":false,"stream":true}`},
		{"one made of a model that does", Options{}, model.Request{Model: "ft:o4-mini-2025-04-16:acme::x1", ReasoningEffort: model.EffortMax, Levels: []string{"low", "medium", "high"}},
			`{"model":"ft:o4-mini-2025-04-16:acme::x1","input":[],"reasoning":{"effort":"high"}` + end},
		{"the highest level", Options{}, model.Request{Model: "gpt-5.2", ReasoningEffort: model.EffortMax, Levels: []string{"none", "low", "medium", "high", "xhigh"}}, `{"model":"gpt-5.2","input":[],"reasoning":{"effort":"xhigh"}` + end},
		{"no reasoning", Options{}, model.Request{Model: "gpt-5.1", ReasoningEffort: model.EffortNone}, `{"model":"gpt-5.1","input":[],"reasoning":{"effort":"none"}` + end},
		{"a level of another server's", Options{BaseURL: "https://h/v1"}, model.Request{Model: "gpt-5", ReasoningEffort: model.EffortNone}, `{"model":"gpt-5","input":[],"reasoning":{"effort":"none"}` + end},
		{"a tool loop of its own", Options{}, model.Request{Model: "gpt-5", Origin: own, Messages: []core.Message{
			{Role: core.RoleSystem, Content: []core.Block{block(core.BlockText, "It is noon.")}},
			core.UserMessage("add").WithID("1"),
			{Role: core.RoleAssistant, Content: []core.Block{thought(kept, own), block(core.BlockText, "One moment.")}, ToolCalls: []core.ToolCall{call}},
			result,
			{Role: core.RoleAssistant, Content: []core.Block{thought(kept, own), block(core.BlockText, "1.")}},
			core.UserMessage("thanks").WithID("2"),
		}}, `{"model":"gpt-5","input":[{"type":"message","role":"system","content":"It is noon."},{"type":"message","role":"user","content":"add"},` +
			sent + `,{"type":"message","role":"assistant","content":"One moment."},` +
			`{"type":"function_call","call_id":"c2_0","name":"add","arguments":"{\"a\": 1}"},{"type":"function_call_output","call_id":"c2_0","output":"{\"sum\":1}"},` +
			sent + `,{"type":"message","role":"assistant","content":"1."},{"type":"message","role":"user","content":"thanks"}]` + end},
		{"reasoning between calls", Options{}, model.Request{Model: "gpt-5", Origin: own, Messages: []core.Message{
			{Role: core.RoleAssistant, Content: []core.Block{thought(kept, own)}, ToolCalls: []core.ToolCall{call, {ID: "call_y", Name: "now", Echo: json.RawMessage(keptToo), Origin: own}}},
			result, {Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: "call_y", Message: "noon"}},
		}}, `{"model":"gpt-5","input":[` + sent + `,{"type":"function_call","call_id":"c0_0","name":"add","arguments":"{\"a\": 1}"},` +
			keptToo + `,{"type":"function_call","call_id":"c0_1","name":"now","arguments":"{}"},` +
			`{"type":"function_call_output","call_id":"c0_0","output":"{\"sum\":1}"},{"type":"function_call_output","call_id":"c0_1","output":"noon"}]` + end},
		{"reasoning of another model, without an echo, and without what followed", Options{}, model.Request{Model: "gpt-5", Origin: own, Messages: []core.Message{
			core.UserMessage("add").WithID("1"),
			{Role: core.RoleAssistant, Content: []core.Block{thought(kept, "openai/gpt-4"), block(core.BlockReasoning, "hm")}, ToolCalls: []core.ToolCall{{ID: "call_x", Name: "add", Echo: json.RawMessage(keptToo), Origin: "openai/gpt-4"}}},
			result,
			{Role: core.RoleAssistant, Content: []core.Block{block(core.BlockText, "a"), thought(kept, own), block(core.BlockText, "")}},
			core.UserMessage("go on").WithID("2"),
		}}, `{"model":"gpt-5","input":[{"type":"message","role":"user","content":"add"},{"type":"function_call","call_id":"c1_0","name":"add","arguments":"{}"},` +
			`{"type":"function_call_output","call_id":"c1_0","output":"{\"sum\":1}"},{"type":"message","role":"assistant","content":"a"},` +
			`{"type":"message","role":"user","content":"go on"}]` + end},
		{"echoes of Chat Completions", Options{}, model.Request{Model: "gpt-5", Origin: own, Messages: []core.Message{
			{Role: core.RoleAssistant, Content: []core.Block{thought(`"reasoning_content"`, own), thought(`[{"type":"reasoning.text"}]`, own), thought(`{"type":"reasoning"}`, own), block(core.BlockText, "a")}},
		}}, `{"model":"gpt-5","input":[{"type":"message","role":"assistant","content":"a"}]` + end},
		{"files", Options{}, model.Request{Model: "gpt-5", Messages: []core.Message{{Role: core.RoleUser, Content: []core.Block{
			block(core.BlockText, "see"),
			{Type: core.BlockFile, MediaType: "image/png", Data: []byte("abc")},
			{Type: core.BlockFile, MediaType: "image/png", URL: "https://x/y.png"},
			{Type: core.BlockFile, MediaType: "application/pdf", Data: []byte("abc")},
			{Type: core.BlockFile, MediaType: "application/pdf", URL: "https://x/y.pdf"},
			{Type: core.BlockFile, MediaType: "text/plain; charset=utf-8", Filename: "a.txt", Data: []byte("abc")},
		}}}}, `{"model":"gpt-5","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"data:image/png;base64,YWJj","detail":"auto"},` +
			`{"type":"input_image","image_url":"https://x/y.png","detail":"auto"},{"type":"input_file","filename":"document.pdf","file_data":"data:application/pdf;base64,YWJj"},` +
			`{"type":"input_file","file_url":"https://x/y.pdf"},{"type":"input_text","text":"a.txt:\nabc"}]}]` + end},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := responses(t, tt.options).encode(tt.request)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestResponsesRequestsWithoutAWireForm(t *testing.T) {
	file := func(kind, url string) []core.Message {
		b := core.Block{Type: core.BlockFile, MediaType: kind, URL: url}
		if url == "" {
			b.Data = []byte("abc")
		}
		return []core.Message{{ID: "7", Role: core.RoleUser, Content: []core.Block{b}}}
	}
	tests := []struct {
		name    string
		request model.Request
		want    string
	}{
		{"no model", model.Request{}, "openai: the request names no model"},
		{"stop sequences", model.Request{Model: "m", StopSequences: []string{"x"}}, "openai: stop sequences are not supported by the Responses API"},
		{"a budget of reasoning", model.Request{Model: "m", ReasoningEffort: model.EffortBudget(1000)}, `openai: reasoning effort "budget:1000" is not supported by this API, which has levels`},
		{"a tool's name", model.Request{Model: "m", Tools: []model.ToolDefinition{{Name: "a.b"}}}, `openai: tool name "a.b" is not supported by this API, want 1 to 64 of A-Z a-z 0-9 _ -`},
		{"a schema", model.Request{Model: "m", Tools: []model.ToolDefinition{{Name: "a", Parameters: json.RawMessage(`true`)}}}, `openai: the parameters of tool "a" are true, want a JSON Schema object`},
		{"an option that is ours", model.Request{Model: "m", ProviderOptions: json.RawMessage(`{"store":true}`)}, "openai: provider_options.store is set by the adapter, remove it"},
		{"an option that is ours in other requests", model.Request{Model: "m", ProviderOptions: json.RawMessage(`{"temperature":1}`)}, "openai: provider_options.temperature is set by the adapter, remove it"},
		{"a result without a call", model.Request{Model: "m", Messages: []core.Message{{ID: "7", Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: "x"}}}},
			`openai: tool message "7" has the result of call "x", which is not open in the previous turn`},
		{"unknown role", model.Request{Model: "m", Messages: []core.Message{{ID: "7", Role: "critic"}}}, `openai: message "7" has the role "critic"`},
		{"sound", model.Request{Model: "m", Messages: file("audio/wav", "")}, "openai: a file of media type audio/wav is not supported by this API, which accepts images, PDF and the bytes of text"},
		{"text elsewhere", model.Request{Model: "m", Messages: file("text/plain", "https://x/y")}, "openai: a file of media type text/plain is not supported by this API, which accepts images, PDF and the bytes of text"},
		{"no media type", model.Request{Model: "m", Messages: file("a b", "")}, `openai: a file of media type "a b", want TYPE/SUBTYPE`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := responses(t, Options{})
			_, err := m.encode(tt.request)
			var e *model.Error
			if !errors.As(err, &e) || e.Kind != model.KindInvalid || e.Message != tt.want {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if err := m.Check(tt.request); core.CodeOf(err) != core.CodeInvalid || err.Error() != tt.want {
				t.Errorf("check: %v (%s), want %q, invalid", err, core.CodeOf(err), tt.want)
			}
			if diff := cmp.Diff([]string{"error " + tt.want}, lines(m.Stream(t.Context(), tt.request))); diff != "" {
				t.Error(diff)
			}
		})
	}
	if err := responses(t, Options{}).Check(model.Request{Model: "m"}); err != nil {
		t.Error(err)
	}
}

func TestResponsesOptionsAreChecked(t *testing.T) {
	for _, tt := range []struct {
		options Options
		want    string
	}{
		{Options{ReasoningSummary: "long"}, `openai: reasoning summary is "long", allowed are auto, concise and detailed`},
		{Options{BaseURL: "x"}, `openai: base URL "x" is not an absolute http or https URL`},
		{Options{APIKey: "a b"}, "openai: API key has a space, a line end or another character that a header cannot carry"},
	} {
		tt.options.Dialect = DialectResponses
		if _, err := New(tt.options); err == nil || err.Error() != tt.want || core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("error %v, want %s", err, tt.want)
		}
	}
	if _, err := openChat(Options{ReasoningSummary: "auto"}); err == nil || err.Error() != "openai: a reasoning summary needs the Responses API, Chat Completions has none" {
		t.Errorf("error %v", err)
	}
	if m := responses(t, Options{BaseURL: "https://h/v1/"}); m.endpoint != "https://h/v1/responses" {
		t.Errorf("endpoint %s", m.endpoint)
	}
}

// decodeResponse reads a stream of the Responses API without HTTP.
func decodeResponse(in io.Reader) []string {
	return lines(func(yield func(model.Delta, error) bool) {
		if _, err := wire.Read(in, &responseTurn{}, func(d model.Delta) bool { return yield(d, nil) }); err != nil {
			yield(model.Delta{}, err)
		}
	})
}

const completed = `{"type":"response.completed","response":{"status":"completed"}}`

var responseStreams = []struct {
	name, stream string
	want         []string
}{
	{"reasoning, text, a call", data(
		`{"type":"response.created","response":{"status":"in_progress"}}`,
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"begun"}}`,
		`{"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":0}`,
		`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"One."}`,
		`{"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":1}`,
		`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"Two."}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","status":"completed","summary":[{"type":"summary_text","text":"One."}],"encrypted_content":"e"}}`,
		`{"type":"response.output_text.delta","output_index":1,"delta":"I add."}`,
		`{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"add","arguments":""}}`,
		`{"type":"response.function_call_arguments.delta","output_index":2,"item_id":"fc_1","delta":"{\"a\":"}`,
		`{"type":"response.function_call_arguments.delta","output_index":2,"item_id":"fc_1","delta":"1}"}`,
		`{"type":"response.function_call_arguments.done","output_index":2,"item_id":"fc_1","arguments":"{\"a\":1}"}`,
		`{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"add","arguments":"{\"a\":1}"}}`,
		`{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":20,"input_tokens_details":{"cached_tokens":8,"cache_write_tokens":4},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":3}}}}`,
		`{"type":"response.output_text.delta","delta":"late"}`),
		[]string{"reasoning One.", "reasoning \n\n", "reasoning Two.", `reasoning ` + `echo {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"One."}],"encrypted_content":"e"}`,
			"text I add.", "call 0 call_1 add", `argument 0 {"a":`, "argument 0 1}",
			`usage {"input":20,"output":9,"cache_read":8,"cache_write":4,"reasoning":3}`, "stop tool_use"}},
	{"two calls interleaved", data(
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"a"}}`,
		`{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"fc_2","call_id":"call_2","name":"b"}}`,
		`{"type":"response.function_call_arguments.delta","output_index":1,"item_id":"fc_2","delta":"{}"}`,
		`{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"fc_1","delta":"{ }"}`, completed),
		[]string{"call 0 call_1 a", "call 1 call_2 b", "argument 1 {}", "argument 0 { }", "stop tool_use"}},
	{"arguments at the end alone, and a call that only ends", data(
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"a"}}`,
		`{"type":"response.function_call_arguments.done","output_index":0,"item_id":"fc_1","arguments":"{\"a\":1}"}`,
		`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"fc_2","call_id":"call_2","name":"b","arguments":"{}"}}`, completed),
		[]string{"call 0 call_1 a", `argument 0 {"a":1}`, "call 1 call_2 b", "argument 1 {}", "stop tool_use"}},
	{"pieces that are not the whole", data(
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"a"}}`,
		`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"a\""}`,
		`{"type":"response.function_call_arguments.done","output_index":0,"arguments":"{\"b\":1}"}`, completed),
		[]string{"call 0 call_1 a", `argument 0 {"a"`, "error the arguments of call 0 differ from their pieces"}},
	{"reasoning between calls goes with the second", data(
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"a"}}`,
		`{"type":"response.reasoning_summary_text.delta","output_index":1,"delta":"hm"}`,
		`{"type":"response.output_item.done","output_index":1,"item":{"type":"reasoning","id":"rs_1","summary":null,"encrypted_content":"e"}}`,
		`{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","id":"fc_2","call_id":"call_2","name":"b"}}`,
		`{"type":"response.output_item.added","output_index":3,"item":{"type":"function_call","id":"fc_3","call_id":"call_3","name":"c"}}`, completed),
		[]string{"call 0 call_1 a", `call 1 call_2 b echo {"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e"}`, "call 2 call_3 c", "stop tool_use"}},
	{"reasoning in the open has no echo", data(
		`{"type":"response.reasoning_text.delta","output_index":0,"delta":"hm"}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]}}`,
		`{"type":"response.output_text.delta","output_index":1,"delta":"a"}`, completed),
		[]string{"reasoning hm", "text a", "stop end_turn"}},
	{"arguments of nothing", data(`{"type":"response.function_call_arguments.delta","output_index":4,"delta":"{"}`), []string{"error arguments of item 4, which is not a call"}},
	{"a call without a name", data(`{"type":"response.output_item.added","output_index":4,"item":{"type":"function_call","id":"x"}}`), []string{"error the call of item 4 has no name"}},
	{"refusal", data(`{"type":"response.refusal.delta","delta":"No."}`, completed), []string{"text No.", "stop content_filter"}},
	{"limit", data(`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`), []string{"stop max_tokens"}},
	{"filter", data(`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"content_filter"}}}`), []string{"stop content_filter"}},
	{"incomplete without a reason", data(`{"type":"response.incomplete","response":{"status":"incomplete"}}`), []string{"stop other"}},
	{"a cut call is none that may run", data(
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"a"}}`,
		`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`),
		[]string{"call 0 call_1 a", "stop max_tokens"}},
	{"incomplete by the event alone", data(
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"a"}}`,
		`{"type":"response.incomplete","response":{}}`),
		[]string{"call 0 call_1 a", "stop other"}},
	{"arguments as an object", data(
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"a","arguments":{"a":1}}}`, completed),
		[]string{"call 0 call_1 a", `argument 0 {"a":1}`, "stop tool_use"}},
	{"failed", data(`{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"oops"}}}`), []string{"error oops"}},
	{"failed without a reason", data(`{"type":"response.failed","response":{"status":"failed","error":null}}`), []string{"error the response failed without a reason"}},
	{"a bare error", data(`{"type":"error","code":"rate_limit_exceeded","message":"slow down","param":null}`), []string{"error slow down"}},
	{"an error in an error", data(`{"type":"error","error":{"type":"server_error","message":"oops"}}`), []string{"error oops"}},
	{"no end", data(`{"type":"response.output_text.delta","delta":"a"}`, `[DONE]`), []string{"text a", "error the stream ended before the turn did"}},
	{"half an event", data(`{"type":"response.outp`), []string{"error read an event: unexpected end of JSON input"}},
}

func TestResponseStreams(t *testing.T) {
	for _, tt := range responseStreams {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, decodeResponse(iotest.OneByteReader(strings.NewReader(tt.stream)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFailuresOfResponsesAreClassed(t *testing.T) {
	for body, want := range map[string]model.ErrorKind{
		`{"type":"error","code":"rate_limit_exceeded","message":"x"}`:                                        model.KindRateLimited,
		`{"type":"error","code":"server_is_overloaded","message":"x"}`:                                       model.KindOverloaded,
		`{"type":"error","code":null,"message":"x"}`:                                                         model.KindProvider,
		`{"type":"response.failed","response":{"error":{"code":"server_error","message":"x"}}}`:              model.KindProvider,
		`{"type":"response.failed","response":{"error":{"code":"invalid_prompt","message":"x"}}}`:            model.KindInvalid,
		`{"type":"response.failed","response":{"error":{"code":"context_length_exceeded","message":"x"}}}`:   model.KindOverflow,
		`{"type":"response.failed","response":{"error":{"code":"insufficient_quota","message":"no money"}}}`: model.KindQuota,
		`{"type":"response.failed","response":{}}`:                                                           model.KindProvider,
	} {
		m := serve(t, replies(data(body)))
		r := &responsesProvider{endpoint: m.endpoint, client: m.client, header: m.header}
		var e *model.Error
		for _, err := range r.Stream(t.Context(), request) {
			if !errors.As(err, &e) || e.Kind != want {
				t.Errorf("%s: %v, want %s", body, err, want)
			}
		}
	}
}

func FuzzResponses(f *testing.F) {
	for _, s := range responseStreams {
		f.Add([]byte(s.stream))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		stops, calls := 0, 0
		_, err := wire.Read(iotest.HalfReader(strings.NewReader(string(in))), &responseTurn{}, func(d model.Delta) bool {
			switch {
			case stops > 0:
				t.Errorf("delta %+v behind the stop", d)
			case d.Type == model.DeltaToolStart && d.Index != calls, d.Type == model.DeltaToolArgument && d.Index >= calls:
				t.Errorf("delta %+v of %d calls", d, calls)
			case d.Type == model.DeltaToolStart:
				calls++
			case d.Type == model.DeltaStop:
				stops++
			}
			if d.Echo != nil && !json.Valid(d.Echo) {
				t.Errorf("echo %q", d.Echo)
			}
			return true
		})
		if (stops == 1) == (err != nil) {
			t.Errorf("%d stops, error %v", stops, err)
		}
	})
}
