package openai

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// cited returns the citations of a stream of events.
func cited(t *testing.T, turn wire.Turn, lines ...string) (got []core.Annotation) {
	t.Helper()
	_, err := wire.Read(strings.NewReader("data: "+strings.Join(lines, "\n\ndata: ")+"\n\n"), turn, func(d model.Delta) bool {
		if d.Annotation != nil {
			got = append(got, *d.Annotation)
		}
		return true
	})
	if err != nil {
		t.Error(err)
	}
	return got
}

// Offsets of the API are characters, ours are bytes.
func TestCitationsOfChatCompletions(t *testing.T) {
	tests := []struct {
		name  string
		lines []string
		want  []core.Annotation
	}{
		{"OpenAI and OpenRouter", []string{
			`{"choices":[{"delta":{"content":"Où 😀 est"}}]}`,
			`{"choices":[{"delta":{"annotations":[{"type":"url_citation","url_citation":{"start_index":3,"end_index":4,"url":"https://a.example","title":"A","content":"text"}},{"type":"file","file":{"hash":"x"}},7,` +
				`{"type":"url_citation","url_citation":{"start_index":5,"end_index":99,"url":"https://b.example"}}]},"finish_reason":"stop"}]}`,
			`{"choices":[{"delta":{"annotations":"none"}}]}`, `[DONE]`,
		}, []core.Annotation{
			{Type: core.AnnotationURL, Start: 4, End: 8, URL: "https://a.example", Title: "A", Quote: "text"},
			{Type: core.AnnotationURL, Start: 9, End: 12, URL: "https://b.example"},
		}},
		{"Perplexity, in each chunk", []string{
			`{"citations":["https://a.example","https://b.example"],"search_results":[{"title":"A","url":"https://a.example","date":"2026-01-01","snippet":"of a"},{"title":null,"url":"https://b.example"}],"choices":[{"delta":{"content":"x [1]"}}]}`,
			`{"citations":["https://a.example","https://b.example"],"search_results":[{"title":"A","url":"https://a.example"},{"url":"https://b.example"},{"url":"https://c.example"}],"choices":[{"delta":{},"finish_reason":"stop"}]}`, `[DONE]`,
		}, []core.Annotation{
			{Type: core.AnnotationURL, URL: "https://a.example", Title: "A", Quote: "of a"}, {Type: core.AnnotationURL, URL: "https://b.example"}, {Type: core.AnnotationURL, URL: "https://c.example"},
		}},
		{"xAI, at the end", []string{
			`{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}`, `{"choices":[],"citations":["https://a.example",{"url":"b"},"https://a.example"]}`, `{"choices":[],"citations":{"a":1},"search_results":"x"}`, `[DONE]`,
		}, []core.Annotation{{Type: core.AnnotationURL, URL: "https://a.example"}}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, cited(t, &turn{}, tt.lines...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// Offsets are characters of a text part, of which a turn may have several.
func TestCitationsOfTheResponsesAPI(t *testing.T) {
	got := cited(t, &responseTurn{},
		`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Où? "}`,
		`{"type":"response.output_text.delta","output_index":2,"content_index":0,"delta":"Là. "}`,
		`{"type":"response.output_text.delta","output_index":2,"content_index":1,"delta":"Ici."}`,
		`{"type":"response.output_text.annotation.added","output_index":2,"content_index":0,"annotation_index":0,"annotation":{"type":"url_citation","start_index":0,"end_index":3,"url":"https://a.example","title":"A"}}`,
		`{"type":"response.output_text.annotation.added","output_index":2,"content_index":1,"annotation":{"type":"file_citation","index":3,"file_id":"file_1","filename":"a.pdf"}}`,
		`{"type":"response.output_text.annotation.added","output_index":2,"content_index":1,"annotation":{"type":"container_file_citation","container_id":"c","file_id":"file_2","filename":"b.csv","start_index":1,"end_index":4}}`,
		`{"type":"response.output_text.annotation.added","output_index":2,"content_index":1,"annotation":{"type":"file_path","file_id":"file_3"}}`,
		`{"type":"response.output_text.annotation.added","output_index":2,"content_index":1,"annotation":"new"}`,
		`{"type":"response.completed","response":{"status":"completed"}}`)
	want := []core.Annotation{
		{Type: core.AnnotationURL, Start: 5, End: 9, URL: "https://a.example", Title: "A"},
		{Type: core.AnnotationDocument, Start: 10, End: 10, Title: "a.pdf", ID: "file_1"},
		{Type: core.AnnotationDocument, Start: 11, End: 14, Title: "b.csv", ID: "file_2"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
