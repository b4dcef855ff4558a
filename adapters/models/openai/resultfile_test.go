package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// drawn is a conversation with two results, of which the first has an image and a text, and
// the second a sound alone.
func drawn() model.Request {
	image := core.Block{Type: core.BlockFile, MediaType: "image/png", Data: []byte("1")}
	sound := core.Block{Type: core.BlockFile, MediaType: "audio/wav", Data: []byte("2")}
	zip := core.Block{Type: core.BlockFile, MediaType: "application/zip", Data: []byte("3")}
	result := func(call, text string, content ...core.Block) core.Message {
		return core.Message{Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: call, Name: "draw it", Message: text, Content: content}}
	}
	return model.Request{Model: "m", Messages: []core.Message{
		core.UserMessage("a"),
		{Role: core.RoleAssistant, ToolCalls: []core.ToolCall{{ID: "x", Name: "draw"}, {ID: "y", Name: "draw"}}},
		result("x", "One.", image, core.Block{Type: core.BlockText, Text: "A cat."}, zip),
		result("y", "", sound),
		{Role: core.RoleSystem, Content: []core.Block{{Type: core.BlockText, Text: "It is noon."}}},
	}}
}

const (
	omittedZip = `[Omitted: a file of type application/zip, which this model does not accept.]`
	follows    = `{"role":"user","content":[{"type":"text","text":"Files of the result of draw_it:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,MQ=="}},` +
		`{"type":"text","text":"Files of the result of draw_it:"},{"type":"input_audio","input_audio":{"data":"Mg==","format":"wav"}}]}`
)

// The files of results are in one message after all results of their turn.
func TestFilesOfResultsFollowInChatCompletions(t *testing.T) {
	twoResults := func(a, b string) string {
		return `{"role":"tool","content":"One.\nA cat.\n` + omittedZip + `","tool_call_id":"` + a + `"},{"role":"tool","content":"(The files of this result follow.)","tool_call_id":"` + b + `"},`
	}
	for dialect, want := range map[Dialect]string{
		DialectOpenAI:  twoResults("c1_0", "c1_1") + follows + `,{"role":"system","content":"It is noon."}]`,
		DialectMistral: twoResults("c00001000", "c00001001") + `{"role":"assistant","content":"I have the results."},` + strings.Replace(follows, `{"url":"data:image/png;base64,MQ=="}`, `"data:image/png;base64,MQ=="`, 1) + `,{"role":"user","content":"It is noon."}]`,
	} {
		body, err := encode(drawn(), kins[dialect])
		if err != nil {
			t.Fatal(err)
		}
		_, got, _ := strings.Cut(string(body), `}}]},{"role":"tool"`)
		got, _, _ = strings.Cut(`{"role":"tool"`+got, `,"stream":true`)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", dialect, diff)
		}
	}
	last := drawn()
	last.Messages = last.Messages[:4]
	if body, err := encode(last, kins[DialectOpenAI]); err != nil || !strings.Contains(string(body), follows+`]`) {
		t.Errorf("files of the newest results: %s, %v", body, err)
	}
	blind := drawn()
	blind.Inputs = []string{}
	body, err := encode(blind, kins[DialectOpenAI])
	want := `{"role":"tool","content":"[Omitted: a file of type audio/wav, which this model does not accept.]","tool_call_id":"c1_1"},{"role":"system"`
	if err != nil || !strings.Contains(string(body), want) {
		t.Errorf("a model without inputs: %s, %v", body, err)
	}
}

// The Responses API takes files within a result.
func TestFilesOfResultsInTheResponsesAPI(t *testing.T) {
	request := drawn()
	request.Messages[3].ToolResult.Content = []core.Block{{Type: core.BlockFile, MediaType: "application/pdf", Data: []byte("4"), Filename: "a.pdf"}}
	items, err := encodeInput(request, true)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(items[3:5])
	want := `[{"type":"function_call_output","call_id":"c1_0","output":[{"type":"input_text","text":"One."},{"type":"input_image","image_url":"data:image/png;base64,MQ==","detail":"auto"},` +
		`{"type":"input_text","text":"A cat."},{"type":"input_text","text":"` + omittedZip + `"}]},` +
		`{"type":"function_call_output","call_id":"c1_1","output":[{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,NA=="}]}]`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	request.Inputs = []string{}
	if items, err = encodeInput(request, true); err != nil {
		t.Fatal(err)
	}
	got, _ = json.Marshal(items[4])
	want = `{"type":"function_call_output","call_id":"c1_1","output":"[Omitted: a file of type application/pdf, which this model does not accept.]"}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
