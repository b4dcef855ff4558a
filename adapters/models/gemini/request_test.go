package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

const here = "gemini/gemini-3-flash-preview"

// indented returns JSON in lines, so that a difference is readable.
func indented(t *testing.T, text []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", " "); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return b.String()
}

func sign(signature, on string, n int) json.RawMessage { return echoOf(signature, on, n) }

func turnOf(id string, calls []core.ToolCall, blocks ...core.Block) core.Message {
	return core.Message{ID: id, Role: core.RoleAssistant, Content: blocks, ToolCalls: calls}
}

func said(text string) core.Block { return core.Block{Type: core.BlockText, Text: text} }

func resultOf(call, name, message string) core.Message {
	return core.Message{ID: "r" + call, Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: call, Name: name, Message: message}}
}

// The fields are those of the API's reference of generateContent.
func TestARequestInFull(t *testing.T) {
	request := model.Request{
		Model: "gemini-3-flash-preview", Origin: here, System: "Be brief & <kind>.", MaxTokens: 500, Temperature: new(0.5), TopP: new(0.9),
		ReasoningEffort: model.EffortHigh, StopSequences: []string{"END"},
		ToolChoice: model.ToolChoice{Mode: model.ToolNamed, Name: "add"},
		Tools: []model.ToolDefinition{
			{Name: "add", Description: "Adds.", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"}}}`)},
			{Name: "now"},
		},
		ProviderOptions: json.RawMessage(`{"serviceTier":"flex","generationConfig":{"topK":5,"seed":7},"labels":{"a":"b"}}`),
		Messages: []core.Message{
			core.UserMessage("Add.").WithID("m1"),
			turnOf("m2", []core.ToolCall{
				{ID: "x", Name: "add", Arguments: json.RawMessage(`{"a":1}`), Echo: sign("c2lnbg==", "", 0), Origin: here},
				{ID: "y", Name: "now", Arguments: json.RawMessage(`{}`)},
			}, core.Block{Type: core.BlockReasoning, Text: "unsigned thoughts stay here"}, said("I add.")),
			resultOf("y", "now", "noon"),
			{ID: "m4", Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: "x", Name: "add", Data: json.RawMessage(`{"sum":1}`)}},
			{ID: "m5", Role: core.RoleSystem, Content: []core.Block{said("It is noon.")}},
		},
	}
	got, err := encode(request, false)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
		"systemInstruction": {"parts": [{"text": "Be brief & <kind>."}]},
		"tools": [{"functionDeclarations": [
			{"name": "add", "description": "Adds.", "parametersJsonSchema": {"type": "object", "properties": {"a": {"type": "number"}}}},
			{"name": "now"}]}],
		"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["add"]}},
		"generationConfig": {"maxOutputTokens": 500, "temperature": 0.5, "topP": 0.9, "stopSequences": ["END"],
			"thinkingConfig": {"includeThoughts": true, "thinkingLevel": "HIGH"}, "seed": 7, "topK": 5},
		"contents": [
			{"role": "user", "parts": [{"text": "Add."}]},
			{"role": "model", "parts": [
				{"text": "I add."},
				{"functionCall": {"id": "c1_0", "name": "add", "args": {"a": 1}}, "thoughtSignature": "c2lnbg=="},
				{"functionCall": {"id": "c1_1", "name": "now", "args": {}}}]},
			{"role": "user", "parts": [
				{"functionResponse": {"id": "c1_0", "name": "add", "response": {"output": {"sum": 1}}}},
				{"functionResponse": {"id": "c1_1", "name": "now", "response": {"output": "noon"}}},
				{"text": "It is noon."}]}],
		"labels": {"a": "b"},
		"serviceTier": "flex"
	}`
	if diff := cmp.Diff(indented(t, []byte(want)), indented(t, got)); diff != "" {
		t.Error(diff)
	}
	again, err := encode(request, false)
	if err != nil || !bytes.Equal(got, again) {
		t.Errorf("the same request has other bytes: %s, %v", again, err)
	}
}

func TestARequestOfNothingButWords(t *testing.T) {
	got, err := encode(model.Request{Model: "m", Messages: []core.Message{core.UserMessage("Go.").WithID("u")}}, false)
	if want := `{"contents":[{"role":"user","parts":[{"text":"Go."}]}]}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestContents(t *testing.T) {
	call := func(id, name, arguments string) core.ToolCall {
		return core.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)}
	}
	user := core.UserMessage("Go.").WithID("u")
	const gone = `{"role":"user","parts":[{"text":"Go."}]}`
	tests := []struct {
		name     string
		messages []core.Message
		want     string
	}{
		{"messages of one side are one content",
			[]core.Message{user, core.UserMessage("Now.").WithID("u2"), turnOf("a", nil, said("Yes.")), turnOf("b", nil, said("So."))},
			`[{"role":"user","parts":[{"text":"Go."},{"text":"Now."}]},{"role":"model","parts":[{"text":"Yes."},{"text":"So."}]}]`},
		{"what is empty is left out",
			[]core.Message{user, turnOf("a", nil, said("")), core.UserMessage("").WithID("u2"), {ID: "e", Role: core.RoleUser}}, `[` + gone + `]`},
		{"a turn is the first",
			[]core.Message{turnOf("a", nil, said("Yes.")), user},
			`[{"role":"user","parts":[{"text":"(The beginning of the conversation is left out.)"}]},{"role":"model","parts":[{"text":"Yes."}]},` + gone + `]`},
		{"calls of another model: the first has the sentinel, in each step",
			[]core.Message{user,
				turnOf("a", []core.ToolCall{{ID: "x", Name: "add", Arguments: json.RawMessage(`{}`), Echo: sign("Zg==", "", 0), Origin: "other/model"}, call("y", "now", `{}`)}),
				resultOf("x", "add", "1"), resultOf("y", "now", "2"),
				turnOf("b", []core.ToolCall{call("x", "add", `{}`)}), resultOf("x", "add", "3")},
			`[` + gone + `,
			{"role":"model","parts":[{"functionCall":{"id":"c1_0","name":"add","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"id":"c1_1","name":"now","args":{}}}]},
			{"role":"user","parts":[{"functionResponse":{"id":"c1_0","name":"add","response":{"output":"1"}}},{"functionResponse":{"id":"c1_1","name":"now","response":{"output":"2"}}}]},
			{"role":"model","parts":[{"functionCall":{"id":"c4_0","name":"add","args":{}},"thoughtSignature":"skip_thought_signature_validator"}]},
			{"role":"user","parts":[{"functionResponse":{"id":"c4_0","name":"add","response":{"output":"3"}}}]}]`},
		{"a result behind what a person said goes before it",
			[]core.Message{user, turnOf("a", []core.ToolCall{call("x", "add", `{}`)}), core.UserMessage("Hurry.").WithID("u2"), resultOf("x", "add", "1")},
			`[` + gone + `,
			{"role":"model","parts":[{"functionCall":{"id":"c1_0","name":"add","args":{}},"thoughtSignature":"skip_thought_signature_validator"}]},
			{"role":"user","parts":[{"functionResponse":{"id":"c1_0","name":"add","response":{"output":"1"}}},{"text":"Hurry."}]}]`},
		{"a failed call, arguments that were none, a name that this API refuses",
			[]core.Message{user, turnOf("a", []core.ToolCall{call("x", "9 größe", `"{\"a\":"`)}),
				{ID: "r", Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: "x", Name: "9 größe", Message: "no such tool", IsError: true}}},
			`[` + gone + `,
			{"role":"model","parts":[{"functionCall":{"id":"c1_0","name":"_9_gr__e","args":{"invalid_arguments":"{\"a\":"}},"thoughtSignature":"skip_thought_signature_validator"}]},
			{"role":"user","parts":[{"functionResponse":{"id":"c1_0","name":"_9_gr__e","response":{"error":"no such tool"}}}]}]`},
		{"signed parts go back as they came",
			[]core.Message{user, turnOf("a", nil,
				core.Block{Type: core.BlockReasoning, Text: "First. Then.", Echo: sign("dGhvdWdodA==", onThought, 5), Origin: here},
				said("Hello world"), core.Block{Type: core.BlockReasoning, Echo: sign("dGV4dA==", onText, 5), Origin: here},
				core.Block{Type: core.BlockReasoning, Echo: sign("YWdhaW4=", onText, 5), Origin: here},
				said("?!"), core.Block{Type: core.BlockReasoning, Echo: sign("b25l", onText, 1), Origin: here},
				core.Block{Type: core.BlockReasoning, Echo: sign("ZW1wdHk=", onText, 0), Origin: here}), user},
			`[` + gone + `,
			{"role":"model","parts":[
				{"text":"Then.","thought":true,"thoughtSignature":"dGhvdWdodA=="},
				{"text":"Hello "},{"text":"world","thoughtSignature":"dGV4dA=="},
				{"text":"?"},{"text":"!","thoughtSignature":"b25l"},{"text":"","thoughtSignature":"ZW1wdHk="}]},` + gone + `]`},
		{"a whole text is signed",
			[]core.Message{user, turnOf("a", nil, said("world"), core.Block{Type: core.BlockReasoning, Echo: sign("dGV4dA==", onText, 5), Origin: here}), user},
			`[` + gone + `,{"role":"model","parts":[{"text":"world","thoughtSignature":"dGV4dA=="}]},` + gone + `]`},
		{"foreign echoes, and those whose text is gone, are dropped",
			[]core.Message{user, turnOf("a", nil,
				core.Block{Type: core.BlockReasoning, Text: "Thought.", Echo: sign("Zg==", onThought, 8), Origin: "other/model"},
				core.Block{Type: core.BlockReasoning, Echo: json.RawMessage(`"not ours"`), Origin: here},
				core.Block{Type: core.BlockReasoning, Echo: json.RawMessage(`{"thoughtSignature":"Zg==","on":7}`), Origin: here},
				core.Block{Type: core.BlockReasoning, Echo: sign("dGV4dA==", onText, 5), Origin: here},
				said("Hi"), core.Block{Type: core.BlockReasoning, Echo: sign("dGV4dA==", onText, 5), Origin: here}), user},
			`[` + gone + `,{"role":"model","parts":[{"text":"Hi"}]},` + gone + `]`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			contents, err := encodeContents(model.Request{Model: "gemini-3-flash-preview", Origin: here, Messages: test.messages})
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(contents)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(indented(t, []byte(test.want)), indented(t, got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOlderGenerationsGetNoSentinel(t *testing.T) {
	contents, err := encodeContents(model.Request{Model: "gemini-2.5-pro", Messages: []core.Message{
		core.UserMessage("Go.").WithID("u"), turnOf("a", []core.ToolCall{{ID: "x", Name: "add"}}), resultOf("x", "add", "1"),
	}})
	if err != nil || contents[1].Parts[0].ThoughtSignature != "" {
		t.Errorf("contents %+v, %v", contents, err)
	}
}

func TestFiles(t *testing.T) {
	file := func(media string, data, url, name string) core.Block {
		return core.Block{Type: core.BlockFile, MediaType: media, Data: []byte(data), URL: url, Filename: name}
	}
	const kinds = " is not supported by this API, which accepts images, PDF, sound, video and text"
	tests := []struct {
		name string
		file core.Block
		want string
		err  string
	}{
		{"an image", file("image/png", "abc", "", "a.png"), `{"inlineData":{"mimeType":"image/png","data":"YWJj"}}`, ""},
		{"sound with a parameter", file("audio/wav; rate=8000", "abc", "", ""), `{"inlineData":{"mimeType":"audio/wav","data":"YWJj"}}`, ""},
		{"a PDF by its address", file("application/pdf", "", "https://example.com/a.pdf", ""), `{"fileData":{"mimeType":"application/pdf","fileUri":"https://example.com/a.pdf"}}`, ""},
		{"video by its address", file("video/mp4", "", "https://example.com/a", ""), `{"fileData":{"mimeType":"video/mp4","fileUri":"https://example.com/a"}}`, ""},
		{"text under its name", file("text/csv", "a,b", "", "a.csv"), `{"text":"a.csv:\na,b"}`, ""},
		{"JSON without a name", file("application/json", "{}", "", ""), `{"text":"text:\n{}"}`, ""},
		{"text by its address", file("text/plain", "", "https://example.com/a", ""), `{"fileData":{"mimeType":"text/plain","fileUri":"https://example.com/a"}}`, ""},
		{"text that is none", file("text/plain", "\xff", "", ""), `{"inlineData":{"mimeType":"text/plain","data":"/w=="}}`, ""},
		{"an archive", file("application/zip", "abc", "", ""), "", "gemini: a file of media type application/zip" + kinds},
		{"no media type", file("?", "abc", "", ""), "", `gemini: a file of media type "?", want TYPE/SUBTYPE`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, err := encodeFile(test.file)
			if test.err != "" {
				if err == nil || err.Error() != test.err {
					t.Errorf("error %v, want %s", err, test.err)
				}
				return
			}
			if got, _ := json.Marshal(p); err != nil || string(got) != test.want {
				t.Errorf("got %s, %v, want %s", got, err, test.want)
			}
		})
	}
}

func TestWhatHasNoFormIsNamed(t *testing.T) {
	tool := []model.ToolDefinition{{Name: "add"}}
	format := &model.ResponseFormat{Name: "a", Schema: json.RawMessage(`{"type":"object"}`)}
	const names = " is not supported by this API, want 1 to 128 of A-Z a-z 0-9 _ . : - that begin with a letter or _"
	const set = " is set by the adapter, remove it"
	tests := []struct {
		name   string
		change func(*model.Request)
		want   string // empty: it has a form
	}{
		{"nothing", func(r *model.Request) {}, ""},
		{"a tool's name", func(r *model.Request) { r.Tools = []model.ToolDefinition{{Name: "2nd"}} }, `tool name "2nd"` + names},
		{"a name with a space", func(r *model.Request) { r.Tools = []model.ToolDefinition{{Name: "a b"}} }, `tool name "a b"` + names},
		{"a name with a bracket", func(r *model.Request) { r.Tools = []model.ToolDefinition{{Name: "a[b"}} }, `tool name "a[b"` + names},
		{"the longest name", func(r *model.Request) { r.Tools = []model.ToolDefinition{{Name: strings.Repeat("a", 128)}} }, ""},
		{"a longer name", func(r *model.Request) { r.Tools = []model.ToolDefinition{{Name: strings.Repeat("a", 129)}} }, `tool name "` + strings.Repeat("a", 61) + `..."` + names},
		{"every character of a name", func(r *model.Request) { r.Tools = []model.ToolDefinition{{Name: "_aZ0_.:-"}} }, ""},
		{"parameters", func(r *model.Request) {
			r.Tools = []model.ToolDefinition{{Name: "a", Parameters: json.RawMessage(`[]`)}}
		}, `the parameters of tool "a" are [], want a JSON Schema object`},
		{"stop sequences", func(r *model.Request) { r.StopSequences = make([]string, 6) }, "there are 6 stop sequences, this API takes 5"},
		{"as many as it takes", func(r *model.Request) { r.StopSequences = make([]string, 5) }, ""},
		{"a format beside tools", func(r *model.Request) { r.Tools, r.ResponseFormat = tool, format }, ""},
		{"a format alone of an older one", func(r *model.Request) { r.Model, r.ResponseFormat = "gemini-2.5-pro", format }, ""},
		{"a format beside tools of an older one", func(r *model.Request) { r.Model, r.Tools, r.ResponseFormat = "gemini-2.5-pro", tool, format },
			`the model "gemini-2.5-pro" does not support a response format with tools, Gemini 3 and later do`},
		{"a format beside forced tools", func(r *model.Request) {
			r.Tools, r.ResponseFormat, r.ToolChoice = tool, format, model.ToolChoice{Mode: model.ToolRequired}
		}, "a response format with forced tool calls is not supported by this API"},
		{"an effort of a model that is not known", func(r *model.Request) { r.Model, r.ReasoningEffort = "gemma-3-27b", model.EffortLow },
			`reasoning effort "low" is not supported by the model "gemma-3-27b", want Gemini 2.5 or later`},
		{"no model", func(r *model.Request) { r.Model = "" }, "the request names no model"},
		{"a model with a query", func(r *model.Request) { r.Model = "a?key=b" }, `the model "a?key=b" is not valid in a URL, want A-Z a-z 0-9 _ . : - @ between slashes`},
		{"a model above the models", func(r *model.Request) { r.Model = "tunedModels/../a" }, `the model "tunedModels/../a" is not valid in a URL, want A-Z a-z 0-9 _ . : - @ between slashes`},
		{"options that are no object", func(r *model.Request) { r.ProviderOptions = json.RawMessage(`5`) }, "provider_options are 5, want a JSON object"},
		{"the provider's own tools", func(r *model.Request) { r.ProviderOptions = json.RawMessage(`{"tools":[{"googleSearch":{}}]}`) }, ""},
		{"tools twice", func(r *model.Request) {
			r.Tools, r.ProviderOptions = tool, json.RawMessage(`{"tools":[{"googleSearch":{}}]}`)
		}, "provider_options.tools" + set},
		{"how tools are called", func(r *model.Request) { r.ProviderOptions = json.RawMessage(`{"toolConfig":{}}`) }, "provider_options.toolConfig" + set},
		{"contents", func(r *model.Request) { r.ProviderOptions = json.RawMessage(`{"contents":[]}`) }, "provider_options.contents" + set},
		{"a temperature", func(r *model.Request) { r.ProviderOptions = json.RawMessage(`{"generationConfig":{"temperature":1}}`) }, "provider_options.generationConfig.temperature" + set},
		{"the first of two", func(r *model.Request) {
			r.ProviderOptions = json.RawMessage(`{"generationConfig":{"topP":1,"temperature":1,"stopSequences":[],"responseMimeType":""}}`)
		}, "provider_options.generationConfig.responseMimeType" + set},
		{"a configuration that is null", func(r *model.Request) { r.ProviderOptions = json.RawMessage(`{"generationConfig":null}`) }, "provider_options.generationConfig is null, want a JSON object"},
		{"thinking", func(r *model.Request) {
			r.ProviderOptions = json.RawMessage(`{"generationConfig":{"thinkingConfig":{}}}`)
		}, ""},
		{"thinking twice", func(r *model.Request) {
			r.ReasoningEffort, r.ProviderOptions = model.EffortLow, json.RawMessage(`{"generationConfig":{"thinkingConfig":{}}}`)
		}, "provider_options.generationConfig.thinkingConfig" + set},
		{"a configuration that is none", func(r *model.Request) { r.ProviderOptions = json.RawMessage(`{"generationConfig":5}`) }, "provider_options.generationConfig is 5, want a JSON object"},
	}
	m, err := open(Options{APIKey: "k"})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			request := model.Request{Model: "gemini-3-flash-preview"}
			test.change(&request)
			err := m.Check(request)
			switch {
			case test.want == "":
				if err != nil {
					t.Error(err)
				}
				return
			case core.CodeOf(err) != core.CodeInvalid || err.Error() != "gemini: "+test.want:
				t.Errorf("error %v (%s), want %s", err, core.CodeOf(err), test.want)
			}
			request.Messages = []core.Message{core.UserMessage("Go.").WithID("u")}
			for _, err := range m.Stream(t.Context(), request) {
				var e *model.Error
				if !errors.As(err, &e) || e.Kind != model.KindInvalid || e.Message != "gemini: "+test.want {
					t.Errorf("stream: error %v, want %s", err, test.want)
				}
			}
		})
	}
}

func TestConversationsWithoutAForm(t *testing.T) {
	call := turnOf("a", []core.ToolCall{{ID: "x", Name: "add"}})
	tests := []struct {
		name     string
		messages []core.Message
		want     string
	}{
		{"none", nil, "gemini: the request has no messages"},
		{"nothing but what is empty", []core.Message{core.UserMessage("").WithID("u")}, "gemini: the request has no messages"},
		{"another role", []core.Message{{ID: "m", Role: "critic"}}, `gemini: message "m" has the role "critic"`},
		{"a call without its result", []core.Message{core.UserMessage("Go.").WithID("u"), call, turnOf("b", nil, said("So."))}, `gemini: call "x" of message "a" has no result`},
		{"a file", []core.Message{{ID: "u", Role: core.RoleUser, Content: []core.Block{{Type: core.BlockFile, MediaType: "font/otf", Data: []byte("a")}}}},
			"gemini: a file of media type font/otf is not supported by this API, which accepts images, PDF, sound, video and text"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := encode(model.Request{Model: "gemini-3-flash-preview", Messages: test.messages}, false)
			var e *model.Error
			if !errors.As(err, &e) || e.Kind != model.KindInvalid || e.Message != test.want {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
}

func TestToolChoices(t *testing.T) {
	tests := []struct {
		choice model.ToolChoice
		want   string
	}{
		{model.ToolChoice{}, `null`},
		{model.ToolChoice{Mode: model.ToolAuto}, `{"functionCallingConfig":{"mode":"AUTO"}}`},
		{model.ToolChoice{Mode: model.ToolNone}, `{"functionCallingConfig":{"mode":"NONE"}}`},
		{model.ToolChoice{Mode: model.ToolRequired}, `{"functionCallingConfig":{"mode":"ANY"}}`},
		{model.ToolChoice{Mode: model.ToolNamed, Name: "add"}, `{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["add"]}}`},
	}
	for _, test := range tests {
		if got, err := json.Marshal(choice(test.choice)); err != nil || string(got) != test.want {
			t.Errorf("%+v: %s, %v, want %s", test.choice, got, err, test.want)
		}
	}
}

func TestAResponseFormat(t *testing.T) {
	got, err := configure(model.Request{Model: "gemini-3-flash-preview", ResponseFormat: &model.ResponseFormat{Name: "a", Schema: json.RawMessage(`{"type":"object"}`)}})
	if want := `{"responseMimeType":"application/json","responseJsonSchema":{"type":"object"}}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestNamesOfOtherModelsAreMadeFit(t *testing.T) {
	tests := []struct{ name, want string }{
		{"get_weather", "get_weather"},
		{"functions.add:0", "functions.add:0"},
		{"", "_"},
		{"-x", "_-x"},
		{"a b", "_a_b"},
		{"šš", "___"},
		{strings.Repeat("é", 200), strings.Repeat("_", 128)},
		{strings.Repeat("a", 128), strings.Repeat("a", 128)},
		{strings.Repeat("a", 129), "_" + strings.Repeat("a", 127)},
	}
	for _, test := range tests {
		if got := functionName(test.name); got != test.want {
			t.Errorf("%q is %q, want %q", test.name, got, test.want)
		}
	}
}
