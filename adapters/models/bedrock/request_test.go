package bedrock

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

const (
	sonnet   = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
	schema   = `{"type":"object","properties":{"b":{"type":"number"},"a":{"type":"string"}}}`
	mark     = `{"cachePoint":{"type":"default"}}`
	question = `{"content":[{"text":"Hello"}],"role":"user"}`
)

func tool(name string) model.ToolDefinition {
	return model.ToolDefinition{Name: name, Description: "Does.", Parameters: json.RawMessage(schema)}
}

func call(id, name, arguments string) core.ToolCall {
	return core.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)}
}

func turnOf(calls ...core.ToolCall) core.Message {
	return core.Message{ID: "t", Role: core.RoleAssistant, ToolCalls: calls}
}

func resultOf(call, said string) core.Message {
	return core.Message{ID: "r", Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: call, Message: said}}
}

func thinking(echo, origin string) core.Block {
	return core.Block{Type: core.BlockReasoning, Text: "Hm.", Echo: json.RawMessage(echo), Origin: origin}
}

func system(said string) core.Message {
	return core.Message{ID: "s", Role: core.RoleSystem, Content: []core.Block{{Type: core.BlockText, Text: said}}}
}

// TestRequests has the whole bodies; a prompt cache compares their bytes.
func TestRequests(t *testing.T) {
	gone := "go_ne" + strings.Repeat("x", 59) // 64, the longest
	toolsMarked := `"toolConfig":{"tools":[{"toolSpec":{"description":"Does.","inputSchema":{"json":` + schema + `},"name":"do"}},` + mark + `]}`
	tests := []struct {
		name   string
		change func(*model.Request)
		want   string
	}{
		{"the least", func(*model.Request) {}, `{"messages":[` + question + `]}`},
		{"what bounds a turn", func(r *model.Request) {
			r.MaxTokens, r.Temperature, r.TopP, r.StopSequences = 100, new(0.5), new(0.25), []string{"END"}
		}, `{"inferenceConfig":{"maxTokens":100,"stopSequences":["END"],"temperature":0.5,"topP":0.25},"messages":[` + question + `]}`},
		{"a format", func(r *model.Request) {
			r.ResponseFormat = &model.ResponseFormat{Name: "answer", Schema: json.RawMessage(`{"type": "object"}`)}
		}, `{"messages":[` + question + `],"outputConfig":{"textFormat":{"structure":{"jsonSchema":{"name":"answer","schema":"{\"type\":\"object\"}"}},"type":"json_schema"}}}`},
		{"marks, with context before and behind", func(r *model.Request) {
			r.Model, r.System, r.Tools = sonnet, "Be brief.", []model.ToolDefinition{tool("do")}
			r.Messages = []core.Message{system("Today."), core.UserMessage("Hello").WithID("1"), turnOf(call("x", "do", `{"b":1.0,"a":"é"}`)), resultOf("x", "done"), system("Now.")}
		}, `{"messages":[{"content":[{"text":"Hello"},` + mark + `],"role":"user"},{"content":[{"toolUse":{"input":{"b":1.0,"a":"é"},"name":"do","toolUseId":"c2_0"}}],"role":"assistant"},` +
			`{"content":[{"toolResult":{"content":[{"text":"done"}],"toolUseId":"c2_0"}},` + mark + `,{"text":"Now."}],"role":"user"}],` +
			`"system":[{"text":"Be brief."},{"text":"Today."},` + mark + `],` + toolsMarked + `}`},
		{"no marks", func(r *model.Request) { r.Model, r.System, r.NoPromptCache = sonnet, "Be brief.", true },
			`{"messages":[` + question + `],"system":[{"text":"Be brief."}]}`},
		{"a model whose tools take no mark", func(r *model.Request) {
			r.Model, r.Tools = "amazon.nova-lite-v1:0", []model.ToolDefinition{{Name: "do"}}
		}, `{"messages":[{"content":[{"text":"Hello"},` + mark + `],"role":"user"}],"toolConfig":{"tools":[{"toolSpec":{"inputSchema":{"json":{"type":"object","properties":{}}},"name":"do"}}]}}`},
		{"choices", func(r *model.Request) {
			r.Tools, r.ToolChoice = []model.ToolDefinition{{Name: "do"}}, model.ToolChoice{Mode: model.ToolNamed, Name: "do"}
		}, `{"messages":[` + question + `],"toolConfig":{"toolChoice":{"tool":{"name":"do"}},"tools":[{"toolSpec":{"inputSchema":{"json":{"type":"object","properties":{}}},"name":"do"}}]}}`},
		{"a call of a tool that is gone, with arguments that are none", func(r *model.Request) {
			r.Messages = append(r.Messages, turnOf(call("x", "go ne"+strings.Repeat("x", 60), `"{\"a\":"`)), core.Message{ID: "r", Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: "x", IsError: true}})
		}, `{"messages":[` + question + `,{"content":[{"toolUse":{"input":{"invalid_arguments":"{\"a\":"},"name":"` + gone + `","toolUseId":"c1_0"}}],"role":"assistant"},` +
			`{"content":[{"toolResult":{"content":[{"text":"(empty)"}],"status":"error","toolUseId":"c1_0"}}],"role":"user"}],` +
			`"toolConfig":{"tools":[{"toolSpec":{"description":"No longer there: do not call it.","inputSchema":{"json":{"type":"object","properties":{}}},"name":"` + gone + `"}}]}}`},
		{"a conversation that begins with the model", func(r *model.Request) {
			r.Messages = []core.Message{{ID: "a", Role: core.RoleAssistant, Content: []core.Block{{Type: core.BlockText, Text: "Yes?"}}}, core.UserMessage("Hello").WithID("1")}
		}, `{"messages":[{"content":[{"text":"[The conversation begins earlier.]"}],"role":"user"},{"content":[{"text":"Yes?"}],"role":"assistant"},` + question + `]}`},
		{"files", func(r *model.Request) {
			file := func(kind, name, data string) core.Block {
				return core.Block{Type: core.BlockFile, MediaType: kind, Filename: name, Data: []byte(data)}
			}
			r.Messages[0].Content = []core.Block{file("image/png", "", "p"), file("application/pdf", "A_b  c!.pdf", "d"), file("text/csv; charset=utf-8", "A b c.csv", "e"), file("application/pdf", "", "f")}
		}, `{"messages":[{"content":[{"image":{"format":"png","source":{"bytes":"cA=="}}},{"document":{"format":"pdf","name":"A b c","source":{"bytes":"ZA=="}}},` +
			`{"document":{"format":"csv","name":"A b c (2)","source":{"bytes":"ZQ=="}}},{"document":{"format":"pdf","name":"document","source":{"bytes":"Zg=="}}},{"text":"(no text)"}],"role":"user"}]}`},
		{"files in S3, and text of another kind", func(r *model.Request) {
			r.Messages[0].Content = []core.Block{
				{Type: core.BlockFile, MediaType: "image/webp", URL: "s3://b/k"}, {Type: core.BlockFile, MediaType: "application/pdf", URL: "s3://b/d"},
				{Type: core.BlockFile, MediaType: "application/json", Filename: "x.json", Data: []byte(`{}`)},
			}
		}, `{"messages":[{"content":[{"image":{"format":"webp","source":{"s3Location":{"uri":"s3://b/k"}}}},{"document":{"format":"pdf","name":"document","source":{"s3Location":{"uri":"s3://b/d"}}}},{"text":"x.json:\n{}"}],"role":"user"}]}`},
		{"options", func(r *model.Request) {
			r.ProviderOptions = json.RawMessage(`{"top_k":5,"additionalModelRequestFields":{"a":[1]},"guardrailConfig":{"guardrailIdentifier":"g","guardrailVersion":"1","trace":"enabled","streamProcessingMode":"sync"},"performanceConfig":{"latency":"optimized"},"serviceTier":{"type":"flex"},"requestMetadata":{"team":"x"}}`)
		}, `{"additionalModelRequestFields":{"a":[1],"top_k":5},"guardrailConfig":{"guardrailIdentifier":"g","guardrailVersion":"1","streamProcessingMode":"sync","trace":"enabled"},"messages":[` + question + `],"performanceConfig":{"latency":"optimized"},"requestMetadata":{"team":"x"},"serviceTier":{"type":"flex"}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			request := model.Request{Model: "meta.llama", Origin: "bedrock/x", Messages: []core.Message{core.UserMessage("Hello").WithID("1")}}
			test.change(&request)
			if diff := cmp.Diff(test.want, sent(t, request)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReasoningGoesBackToItsModelAlone(t *testing.T) {
	const signed, redacted, lost = `{"signature":"s1"}`, `{"redacted":"aGlkZGVu"}`, `{}`
	tests := []struct {
		name   string
		blocks []core.Block
		want   string // of the turn
		thinks bool
	}{
		{"its own", []core.Block{thinking(signed, "bedrock/x")}, `{"reasoningContent":{"reasoningText":{"signature":"s1","text":"Hm."}}},`, true},
		{"redacted", []core.Block{thinking(redacted, "bedrock/x")}, `{"reasoningContent":{"redactedContent":"aGlkZGVu"}},`, true},
		{"another's", []core.Block{thinking(signed, "bedrock/y")}, ``, false},
		{"without an echo", []core.Block{{Type: core.BlockReasoning, Text: "Hm."}}, ``, false},
		{"with nothing in it", []core.Block{thinking(lost, "bedrock/x")}, ``, false},
		{"none", nil, ``, false},
		{"behind text", []core.Block{{Type: core.BlockText, Text: "Well."}, thinking(signed, "bedrock/x")}, `{"text":"Well."},{"reasoningContent":{"reasoningText":{"signature":"s1","text":"Hm."}}},`, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := turnOf(call("x", "do", `{}`))
			m.Content = test.blocks
			request := model.Request{
				Model: sonnet, Origin: "bedrock/x", ReasoningEffort: model.EffortLow, NoPromptCache: true, Tools: []model.ToolDefinition{tool("do")},
				Messages: []core.Message{core.UserMessage("Hello").WithID("1"), m, resultOf("x", "done")},
			}
			got := sent(t, request)
			if want := `{"content":[` + test.want + `{"toolUse":`; !strings.Contains(got, want) {
				t.Errorf("want %s in %s", want, got)
			}
			const on = `{"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":2048}},`
			if strings.HasPrefix(got, on) != test.thinks {
				t.Errorf("thinks %v, want %v: %s", !test.thinks, test.thinks, got)
			}
			request.Messages = append(request.Messages, core.Message{ID: "e", Role: core.RoleAssistant, Content: []core.Block{{Type: core.BlockText, Text: "Done."}}}, core.UserMessage("And?").WithID("2"))
			if got := sent(t, request); !strings.HasPrefix(got, on) {
				t.Errorf("does not think behind the loop: %s", got)
			}
		})
	}
}

// wireRequest is of a body what reasoning is about.
type wireRequest struct {
	Fields   json.RawMessage `json:"additionalModelRequestFields"`
	Output   json.RawMessage `json:"outputConfig"`
	Messages []struct {
		Content []map[string]any `json:"content"`
	} `json:"messages"`
	ToolConfig struct {
		Choice json.RawMessage `json:"toolChoice"`
	} `json:"toolConfig"`
}

// summary is the fields and the outputConfig of a body, each behind a space.
func (w wireRequest) summary() string { return string(w.Fields) + " " + string(w.Output) }

func decoded(t *testing.T, request model.Request) (w wireRequest) {
	t.Helper()
	if body := sent(t, request); json.Unmarshal([]byte(body), &w) != nil {
		t.Fatal(body)
	}
	return w
}

func TestReasoningWithinAToolLoop(t *testing.T) {
	const (
		opus48, opus5    = "anthropic.claude-opus-4-8", "anthropic.claude-opus-5"
		sonnet46         = "us.anthropic.claude-sonnet-4-6"
		opus55, sonnet55 = "anthropic.claude-opus-5-5", "anthropic.claude-sonnet-5-5"
		budget           = `{"thinking":{"type":"enabled","budget_tokens":2048}} `
		adaptive         = `{"thinking":{"type":"adaptive","display":"summarized"}} `
		low              = `{"effort":"low"}`
	)
	thinks := func(m *core.Message) { m.Content = []core.Block{thinking(`{"signature":"s1"}`, "bedrock/x")} }
	calls := func(*core.Message) {}
	others := func(m *core.Message) { m.Model = "gpt-5" }
	note := func(m *core.Message) { *m = system("It is noon.") }
	person := func(m *core.Message) { *m = core.UserMessage("Go on.").WithID("2") }
	tests := []struct {
		name   string
		model  string
		effort model.Effort
		turns  []func(*core.Message) // what is special of them, each with a result behind it if it calls
		want   string
	}{
		{"it thinks once", sonnet, model.EffortLow, []func(*core.Message){thinks, calls}, budget},
		{"it thinks once, with context between", sonnet, model.EffortLow, []func(*core.Message){thinks, note, calls, note}, budget},
		{"it thinks late", sonnet, model.EffortLow, []func(*core.Message){calls, thinks}, ` `},
		{"it thinks late, of a person", sonnet, model.EffortLow, []func(*core.Message){calls, person, thinks}, budget},
		{"a person behind", sonnet, model.EffortLow, []func(*core.Message){calls, person}, ` `},
		{"another's between", sonnet, model.EffortLow, []func(*core.Message){thinks, others, calls}, ` `},
		{"a first call without, adaptively", opus48, model.EffortLow, []func(*core.Message){calls, calls}, adaptive + low},
		{"a first call without, within a budget of one that has levels", sonnet46, model.EffortBudget(2048), []func(*core.Message){calls}, ` `},
		{"of one that thinks unasked", opus5, "", []func(*core.Message){calls}, ` `},
		{"another's, adaptively", opus48, model.EffortLow, []func(*core.Message){others}, ` ` + low},
		{"another's, of one that is kept from thinking at no level above high", opus5, model.EffortMax, []func(*core.Message){others}, `{"thinking":{"type":"disabled"}} {"effort":"high"}`},
		{"another's, of one that thinks between calls", sonnet55, model.EffortLow, []func(*core.Message){others}, `{"thinking":{"type":"between_tools"}} ` + low},
		{"another's, of one that always thinks", opus55, model.EffortMax, []func(*core.Message){others}, adaptive + `{"effort":"max"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			request := model.Request{
				Model: test.model, Origin: "bedrock/x", ReasoningEffort: test.effort, NoPromptCache: true,
				Tools: []model.ToolDefinition{tool("do")}, Messages: []core.Message{core.UserMessage("Hello").WithID("1")},
			}
			for _, change := range test.turns {
				m := turnOf(call("x", "do", `{}`))
				m.Model = test.model
				change(&m)
				if request.Messages = append(request.Messages, m); m.ToolCalls != nil {
					request.Messages = append(request.Messages, resultOf("x", "done"))
				}
			}
			if got := decoded(t, request).summary(); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestReasoningThatIsBoundDoesNotGoBack(t *testing.T) {
	tests := []struct {
		model string
		want  bool
	}{
		{"anthropic.claude-opus-5", true},
		{"us.anthropic.claude-fable-5-v1:0", true},
		{"us.anthropic.claude-fable-5-1-v1:0", false},
		{"anthropic.claude-opus-5-5", false},
		{"anthropic.claude-sonnet-5-5", false},
		{"anthropic.claude-haiku-5-5", false},
		{"amazon.nova-2-lite-v1:0", true},
	}
	for _, test := range tests {
		t.Run(test.model, func(t *testing.T) {
			m := turnOf(call("x", "do", `{}`))
			m.Model, m.Content = test.model, []core.Block{thinking(`{"signature":"s1"}`, "bedrock/x")}
			request := model.Request{
				Model: test.model, Origin: "bedrock/x", NoPromptCache: true, Messages: []core.Message{core.UserMessage("Hello").WithID("1"), m, resultOf("x", "done")},
			}
			_, got := decoded(t, request).Messages[1].Content[0]["reasoningContent"]
			if got != test.want {
				t.Errorf("it goes back: %v", got)
			}
		})
	}
}

func TestACallThatMustBeMade(t *testing.T) {
	const adaptive = `{"thinking":{"type":"adaptive","display":"summarized"}} {"effort":"low"}`
	required, named := model.ToolChoice{Mode: model.ToolRequired}, model.ToolChoice{Mode: model.ToolNamed, Name: "do"}
	tests := []struct {
		model  string
		choice model.ToolChoice
		want   string // the choice, a space, the fields, a space, the outputConfig
	}{
		{sonnet, required, `{"any":{}}  `},
		{sonnet, named, `{"tool":{"name":"do"}}  `},
		{"anthropic.claude-opus-4-8", required, `{"any":{}}  {"effort":"low"}`},
		{"anthropic.claude-opus-5", required, `{"any":{}} {"thinking":{"type":"disabled"}} {"effort":"low"}`},
		{"anthropic.claude-fable-5-v1:0", required, `{"any":{}} ` + adaptive},
		{"anthropic.claude-haiku-5-5", named, `{"tool":{"name":"do"}} {"thinking":{"type":"disabled"}} {"effort":"low"}`},
		{"anthropic.claude-opus-5-5", required, `{"auto":{}} ` + adaptive},
		{"anthropic.claude-fable-5-1", named, `{"auto":{}} ` + adaptive},
		{"anthropic.claude-sonnet-5-5", named, `{"auto":{}} ` + adaptive},
	}
	for _, test := range tests {
		t.Run(test.model+" "+string(test.choice.Mode), func(t *testing.T) {
			w := decoded(t, model.Request{
				Model: test.model, ReasoningEffort: model.EffortLow, NoPromptCache: true, Tools: []model.ToolDefinition{tool("do")},
				ToolChoice: test.choice, Messages: []core.Message{core.UserMessage("Hello").WithID("1")},
			})
			if got := string(w.ToolConfig.Choice) + " " + w.summary(); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestCheckNamesWhatHasNoForm(t *testing.T) {
	tests := []struct {
		name   string
		change func(*model.Request)
		want   string
	}{
		{"nothing", func(*model.Request) {}, `<nil>`},
		{"no model", func(r *model.Request) { r.Model = "" }, `bedrock: the request names no model`},
		{"a tool's name", func(r *model.Request) { r.Tools = []model.ToolDefinition{{Name: "a b"}} }, `bedrock: tool name "a b" is not supported by this API, want 1 to 64 of A-Z a-z 0-9 _ -`},
		{"a tool's schema", func(r *model.Request) {
			r.Tools = []model.ToolDefinition{{Name: "a", Parameters: json.RawMessage(`{"type":"string"}`)}}
		}, `bedrock: the parameters of tool "a" have no "type":"object" at their top`},
		{"no tools", func(r *model.Request) {
			r.Tools, r.ToolChoice.Mode = []model.ToolDefinition{{Name: "a"}}, model.ToolNone
		}, `bedrock: tool_choice.mode "none" is not supported by this API, which has "auto", "required" and "tool"`},
		{"a format's name", func(r *model.Request) { r.ResponseFormat = &model.ResponseFormat{Name: "a b"} }, `response_format.name is "a b", want 1 to 64 of A-Z a-z 0-9 _ -`},
		{"too many tokens", func(r *model.Request) { r.MaxTokens = 1 << 31 }, `bedrock: max_tokens is 2147483648, at most 2147483647`},
		{"a temperature beside an effort", func(r *model.Request) { r.ReasoningEffort, r.Temperature = model.EffortLow, new(0.5) }, `bedrock: Claude does not accept temperature or top_p with a reasoning effort`},
		{"a temperature and a top_p", func(r *model.Request) { r.Temperature, r.TopP = new(0.5), new(0.9) }, `bedrock: the model "us.anthropic.claude-sonnet-4-5-20250929-v1:0" takes temperature or top_p, not both`},
		{"both of one that takes them", func(r *model.Request) {
			r.Model, r.Temperature, r.TopP = "us.anthropic.claude-sonnet-4-20250514-v1:0", new(0.5), new(0.9)
		}, `<nil>`},
		{"options that are none", func(r *model.Request) { r.ProviderOptions = json.RawMessage(`[1]`) }, `bedrock: provider_options are [1], want a JSON object`},
		{"an option that is ours", func(r *model.Request) { r.ProviderOptions = json.RawMessage(`{"system":[]}`) }, `bedrock: provider_options.system is set by the adapter, remove it`},
		{"an option that the effort sets", func(r *model.Request) {
			r.ReasoningEffort, r.ProviderOptions = model.EffortLow, json.RawMessage(`{"thinking":{}}`)
		}, `bedrock: provider_options.thinking is set twice, by the reasoning effort perhaps`},
		{"fields that are none", func(r *model.Request) { r.ProviderOptions = json.RawMessage(`{"additionalModelRequestFields":1}`) }, `bedrock: provider_options.additionalModelRequestFields is 1, want a JSON object`},
		{"a member that is not known", func(r *model.Request) { r.ProviderOptions = json.RawMessage(`{"guardrailConfig":{"id":"g"}}`) }, `bedrock: unknown field "id" in provider_options.guardrailConfig, allowed are guardrailIdentifier, guardrailVersion, trace, streamProcessingMode`},
		{"a tier without its type", func(r *model.Request) { r.ProviderOptions = json.RawMessage(`{"serviceTier":{}}`) }, `bedrock: provider_options.serviceTier.type is missing`},
	}
	m, err := open(Options{AWS: environment("")})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			request := model.Request{Model: sonnet}
			test.change(&request)
			err := m.Check(request)
			if got := fmt.Sprint(err); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if err != nil && core.CodeOf(err) != core.CodeInvalid {
				t.Errorf("code %s", core.CodeOf(err))
			}
		})
	}
}

func TestRequestsThatHaveNoForm(t *testing.T) {
	tests := []struct {
		name    string
		message core.Message
		want    string
	}{
		{"a file by its URL", core.Message{Role: core.RoleUser, Content: []core.Block{{Type: core.BlockFile, MediaType: "image/png", URL: "https://x/y.png"}}},
			"error bedrock: a file of media type image/png by its URL is not supported by this API, send its bytes or an s3:// address"},
		{"a sound", core.Message{Role: core.RoleUser, Content: []core.Block{{Type: core.BlockFile, MediaType: "audio/wav", Data: []byte("x")}}},
			"error bedrock: a file of media type audio/wav is not supported by this API, which accepts PNG, JPEG, GIF, WebP, PDF, text, Word and Excel"},
		{"no media type", core.Message{Role: core.RoleUser, Content: []core.Block{{Type: core.BlockFile, MediaType: "?/", Data: []byte("x")}}},
			`error bedrock: a file of media type "?/", want TYPE/SUBTYPE`},
		{"a result of no call", resultOf("x", "done"), `error bedrock: tool message "r" has the result of call "x", which is not open in the previous turn`},
		{"a strange role", core.Message{ID: "m", Role: "critic"}, `error bedrock: message "m" has the role "critic"`},
		{"blanks", core.Message{Role: core.RoleUser, Content: []core.Block{{Type: core.BlockText, Text: " "}}}, `error bedrock: the request has no message with content`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := sent(t, model.Request{Model: sonnet, Messages: []core.Message{test.message}}); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// FuzzBody: what comes out of a stream is what went in, however its bytes come, until an
// event that is too long.
func FuzzBody(f *testing.F) {
	f.Add([]byte{0, 0, 0, 16, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 0, 0, 3}, 3)
	f.Add([]byte{1, 0, 0, 1}, 1)
	f.Fuzz(func(t *testing.T, stream []byte, size int) {
		read := func(size int) (string, error) {
			b := newBody(closer{strings.NewReader(string(stream))})
			var all strings.Builder
			for part := make([]byte, size); ; {
				n, err := b.Read(part)
				all.Write(part[:n])
				if err != nil {
					return all.String(), err
				}
			}
		}
		whole, end := read(len(stream) + 1)
		pieces, err := read(min(max(size, 1), 64))
		if err != end || end == wire.ErrTooLong && !strings.HasPrefix(string(stream), pieces) || end != wire.ErrTooLong && (whole != string(stream) || pieces != whole) {
			t.Errorf("%q, %v in one, %q, %v in pieces of %d", whole, end, pieces, err, size)
		}
	})
}

func TestAnEventHasALimit(t *testing.T) {
	for length, want := range map[string]error{"\x01\x00\x00\x00": nil, "\x01\x00\x00\x01": wire.ErrTooLong} { // 16 MB, and one byte more
		if _, err := newBody(closer{strings.NewReader(length)}).Read(make([]byte, 8)); err != want {
			t.Errorf("a length of %x: %v, want %v", length, err, want)
		}
	}
}

func TestAStreamHasALimit(t *testing.T) {
	for more, want := range map[int64]error{0: io.EOF, 1: wire.ErrStreamTooLong} {
		events := &sixteens{left: 256<<20 + more}
		n, err := int64(0), error(nil)
		for b, part := newBody(io.NopCloser(events)), make([]byte, 1<<20); err == nil; {
			var read int
			read, err = b.Read(part)
			n += int64(read)
		}
		if n != 256<<20 || err != want {
			t.Errorf("%d bytes more than 256 MB: %d are read, error %v, want %v", more, n, err, want)
		}
	}
}

// sixteens are events of 16 MB of zeros, each after its length.
type sixteens struct{ at, left int64 }

func (s *sixteens) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), s.left, 16<<20-s.at)
	clear(p[:n])
	if s.at == 0 {
		p[0] = 1
	}
	s.at, s.left = (s.at+n)%(16<<20), s.left-n
	return int(n), nil
}

type closer struct{ *strings.Reader }

func (closer) Close() error { return nil }
