package aisdk

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
)

// A reloaded page has the parts that the stream had.
func TestMessagesHaveSourcesAndFilesOfResults(t *testing.T) {
	run := core.ID{1}
	cited := []core.Annotation{{Type: core.AnnotationURL, URL: "https://a.example", Title: "A"}, {Type: core.AnnotationURL, URL: "https://a.example", Start: 2, End: 4}, {Type: core.AnnotationDocument, Title: "Weather"}}
	c := convert([]core.Message{
		{ID: "m1", Role: core.RoleAssistant, RunID: run, Step: 1, ToolCalls: []core.ToolCall{{ID: "c", Name: "draw", Arguments: json.RawMessage(`{}`)}}},
		{ID: "m1.0", Role: core.RoleTool, RunID: run, Step: 1, ToolResult: &core.ToolResult{CallID: "c", Name: "draw", Message: "A cat.", Content: []core.Block{
			{Type: core.BlockText, Text: "See."}, {Type: core.BlockFile, MediaType: "image/png", Data: []byte{0}},
		}}},
		{ID: "m2", Role: core.RoleAssistant, RunID: run, Step: 2, Content: []core.Block{{Type: core.BlockText, Text: "Rain", Annotations: cited}}},
	})
	got, err := json.Marshal(c.out[0].Parts)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"type":"step-start"},{"type":"tool-draw","state":"output-available","toolCallId":"c","input":{},"output":"A cat.\nSee."},{"type":"file","mediaType":"image/png","url":"data:image/png;base64,AA=="},` +
		`{"type":"step-start"},{"type":"text","text":"Rain","state":"done"},{"type":"source-url","url":"https://a.example","sourceId":"src_2_0","title":"A"},` +
		`{"type":"source-document","mediaType":"application/octet-stream","sourceId":"src_2_1","title":"Weather"}]`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
