package mcp

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reveille-run/reveille/core"
)

func TestFilesAndSourcesAreContent(t *testing.T) {
	got := fileContent([]core.Block{
		{Type: core.BlockText, Text: "See."}, {Type: core.BlockFile, MediaType: "image/png", Data: []byte{0}}, {Type: core.BlockFile, MediaType: "audio/wav", Data: []byte{1}},
		{Type: core.BlockFile, MediaType: "application/pdf", Data: []byte{2}}, {Type: core.BlockFile, MediaType: "image/png", URL: "https://a.example/b.png", Filename: "b.png"},
	})
	got = append(got, sources(&core.Message{Content: []core.Block{{Annotations: []core.Annotation{{URL: "https://a.example", Title: "A"}, {URL: "https://a.example"}}}, {Annotations: []core.Annotation{{URL: "javascript:alert(1)"}, {URL: "http://b.example"}}}}})...)
	text, err := json.Marshal(&sdk.CallToolResult{Content: got})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"content":[{"type":"text","text":"See."},{"type":"image","mimeType":"image/png","data":"AA=="},{"type":"audio","mimeType":"audio/wav","data":"AQ=="},` +
		`{"type":"resource","resource":{"uri":"file:///file","mimeType":"application/pdf","blob":"Ag=="}},{"type":"resource_link","mimeType":"image/png","uri":"https://a.example/b.png","name":"b.png"},` +
		`{"type":"resource_link","uri":"https://a.example","name":"A"},{"type":"resource_link","uri":"http://b.example","name":"http://b.example"}]}`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
