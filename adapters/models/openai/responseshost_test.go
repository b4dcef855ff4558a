package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// The Responses API of other hosts wants the ids of reasoning back, has reasoning in the
// open, and knows the phases of texts.
func TestResponsesOfOtherHosts(t *testing.T) {
	const (
		open     = `{"type":"reasoning","id":"rs_2","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}`
		user     = `{"type":"message","role":"user","content":"hi"}`
		answered = `{"type":"message","role":"assistant","content":"a"`
	)
	phased := func(phase, origin string) core.Block {
		return core.Block{Type: core.BlockText, Text: "a", Echo: json.RawMessage(phase), Origin: origin}
	}
	tests := []struct {
		name, base string
		said       []core.Block
		want       string // the items after the user's message
	}{
		{"OpenAI knows no ids of what it has not stored", "", []core.Block{thought(kept, own), block(core.BlockText, "a")}, sent + "," + answered + "}"},
		{"Azure", "https://r.openai.azure.com/openai/v1", []core.Block{thought(kept, own), block(core.BlockText, "a")}, kept + "," + answered + "}"},
		{"vLLM", "http://127.0.0.1:8000/v1", []core.Block{thought(open, own), block(core.BlockText, "a")}, open + "," + answered + "}"},
		{"reasoning of a host that gave no id", "https://h/v1", []core.Block{thought(keptToo, own), block(core.BlockText, "a")}, keptToo + "," + answered + "}"},
		{"a phase", "", []core.Block{phased(`{"phase":"commentary"}`, own), phased(`{"phase":"final_answer"}`, own)},
			answered + `,"phase":"commentary"},` + answered + `,"phase":"final_answer"}`},
		{"another model's phase", "", []core.Block{phased(`{"phase":"commentary"}`, "openai/gpt-4")}, answered + "}"},
		{"an echo that is no phase", "", []core.Block{phased(`"x"`, own)}, answered + "}"},
		{"reasoning that is empty", "https://h/v1", []core.Block{thought(`{"type":"reasoning","id":"rs_3","summary":[]}`, own), block(core.BlockText, "a")}, answered + "}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := responses(t, Options{BaseURL: tt.base}).encode(model.Request{Model: "gpt-5", Origin: own, Messages: []core.Message{
				core.UserMessage("hi").WithID("1"), {Role: core.RoleAssistant, Content: tt.said},
			}})
			if err != nil {
				t.Fatal(err)
			}
			want := `{"model":"gpt-5","input":[` + user + "," + tt.want + `],"store":false,"include":["reasoning.encrypted_content"],"stream":true}`
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPhasesAndOpenReasoningAreKept(t *testing.T) {
	const (
		begin = `{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","role":"assistant","content":[],"phase":"commentary"}}`
		text  = `{"type":"response.output_text.delta","output_index":0,"delta":"a"}`
		call  = `{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"fc_1","call_id":"c","name":"now","arguments":"{}"}}`
	)
	end := func(phase string) string {
		return `{"type":"response.output_item.done","output_index":0,"item":{"id":"msg_1","type":"message","role":"assistant","phase":` + phase + `}}`
	}
	tests := []struct {
		name   string
		events []string
		want   []string
	}{
		{"two texts", []string{begin, text, end(`"commentary"`), begin, text, end(`"final_answer"`)},
			[]string{"text a", `text echo {"phase":"commentary"}`, "text a", `text echo {"phase":"final_answer"}`, "stop end_turn"}},
		{"no phase", []string{begin, text, end("null"), begin, text, `{"type":"response.output_item.done","output_index":0,"item":{"type":"message"}}`},
			[]string{"text a", "text a", "stop end_turn"}},
		{"no text", []string{begin, end(`"commentary"`), text, call, end(`"commentary"`)},
			[]string{"text a", "call 0 c now", "argument 0 {}", "stop tool_use"}},
		{"a phase that comes twice", []string{begin, text, end(`"commentary"`), end(`"commentary"`)}, []string{"text a", `text echo {"phase":"commentary"}`, "stop end_turn"}},
		{"text of vLLM's reasoning", []string{
			`{"type":"response.reasoning_text.delta","output_index":0,"delta":"hm"}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_2","summary":[],"content":[{"type":"reasoning_text","text":"hm"}],"encrypted_content":null}}`,
			text,
		}, []string{"reasoning hm", `reasoning echo {"type":"reasoning","id":"rs_2","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}`, "text a", "stop end_turn"}},
		{"encrypted reasoning without its text", []string{
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_2","content":[{"type":"reasoning_text","text":"hm"}],"encrypted_content":"e"}}`, text,
		}, []string{`reasoning echo {"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"e"}`, "text a", "stop end_turn"}},
		{"reasoning of no content", []string{
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_2","summary":[],"content":[]}}`, text,
		}, []string{"text a", "stop end_turn"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := decodeResponse(strings.NewReader(data(append(tt.events, completed)...)))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
