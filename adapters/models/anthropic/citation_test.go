package anthropic

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// A citation is of its whole block. The event of a block's end brings it, wherever its
// own event comes in the block.
func TestCitationsCoverTheirBlock(t *testing.T) {
	lines := []string{
		`{"type":"message_start","message":{}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Añ \ud83d"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\ude00 "}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"","citations":[]}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{"type":"page_location","cited_text":"It rains.","document_index":0,"document_title":"Weather","file_id":"file_1","start_page_number":2,"end_page_number":3}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"It rains"}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{"type":"web_search_result_location","cited_text":"Rain","url":"https://example.com/a","title":"A \ud83d\ude00","encrypted_index":"x"}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":"no object"}}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"now.","citations":[{"type":"char_location","document_index":1,"document_title":null,"start_char_index":4,"end_char_index":9},{"type":"content_block_location","document_index":2,"start_block_index":0,"end_block_index":1},{"type":"search_result_location","source":"kb/1","title":"KB","start_block_index":0,"end_block_index":1}]}}`,
		`{"type":"content_block_stop","index":2}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, `{"type":"message_stop"}`,
	}
	text := "Añ 😀 It rainsnow."
	want := []core.Annotation{
		{Type: core.AnnotationDocument, Start: 9, End: 17, Title: "Weather", Quote: "It rains.", Document: 1, ID: "file_1", Unit: core.UnitPage, From: 2, To: 3},
		{Type: core.AnnotationURL, Start: 9, End: 17, URL: "https://example.com/a", Title: "A 😀", Quote: "Rain"},
		{Type: core.AnnotationDocument, Start: 9, End: 17},
		{Type: core.AnnotationDocument, Start: 17, End: 21, Document: 2, Unit: core.UnitCharacter, From: 4, To: 9},
		{Type: core.AnnotationDocument, Start: 17, End: 21, Document: 3, Unit: core.UnitBlock, To: 1},
		{Type: core.AnnotationURL, Start: 17, End: 21, URL: "kb/1", Title: "KB"},
	}
	var got []core.Annotation
	said := ""
	_, err := wire.Read(strings.NewReader("data: "+strings.Join(lines, "\n\ndata: ")+"\n\n"), &turn{}, func(d model.Delta) bool {
		if d.Type == model.DeltaText {
			said += d.Text
		}
		if d.Annotation != nil {
			got = append(got, *d.Annotation)
		}
		return true
	})
	if err != nil || said != text {
		t.Errorf("%q, %v", said, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
