package acp

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
)

// Files of results are content of their call, and cited pages are links, live and in a
// session that is loaded.
func TestFilesAndSourcesAreShown(t *testing.T) {
	content := []core.Block{
		{Type: core.BlockText, Text: "See."}, {Type: core.BlockFile, MediaType: "image/png", Data: []byte{0}}, {Type: core.BlockFile, MediaType: "audio/wav", Data: []byte{1}},
		{Type: core.BlockFile, MediaType: "application/pdf", Data: []byte{2}, Filename: "a.pdf"}, {Type: core.BlockFile, MediaType: "image/png", URL: "https://a.example/b.png"},
	}
	cited := []core.Annotation{{URL: "https://a.example", Title: "A"}, {URL: "https://a.example"}, {URL: "javascript:alert(1)"}, {Title: "Weather"}}
	want := []string{
		`{"sessionUpdate":"tool_call_update","content":[{"content":{"text":"A cat.\nSee.","type":"text"},"type":"content"},{"content":{"data":"AA==","mimeType":"image/png","type":"image"},"type":"content"},` +
			`{"content":{"data":"AQ==","mimeType":"audio/wav","type":"audio"},"type":"content"},` +
			`{"content":{"resource":{"blob":"Ag==","mimeType":"application/pdf","uri":"file:///a.pdf"},"type":"resource"},"type":"content"},` +
			`{"content":{"name":"https://a.example/b.png","type":"resource_link","uri":"https://a.example/b.png"},"type":"content"}],"toolCallId":"ID","status":"completed","rawOutput":"A cat.\nSee."}`,
		`{"sessionUpdate":"agent_message_chunk","content":{"name":"A","type":"resource_link","uri":"https://a.example"}}`,
	}
	var e encoder
	live := append(e.encode(core.Event{Type: core.EventToolCallDone, CallID: "c", Result: json.RawMessage(`"A cat."`), Blocks: content}), e.encode(core.Event{Type: core.EventTextAnnotations, Annotations: cited})...)
	var h history
	loaded := append(h.message(core.Message{Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: "c", Message: "A cat.", Content: content}}),
		h.message(core.Message{Role: core.RoleAssistant, Content: []core.Block{{Type: core.BlockText, Annotations: cited}}})...)
	for name, updates := range map[string][]update{"live": live, "loaded": loaded} {
		var got []string
		for _, u := range updates {
			if u.CallID != "" {
				u.CallID = "ID"
			}
			text, err := json.Marshal(u)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(text))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
