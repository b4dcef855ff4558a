package gemini

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// The shape is that of the API's reference: offsets are bytes, and a source may support
// several parts of the text, or none.
func TestCitationsOfGroundedText(t *testing.T) {
	lines := []string{
		`{"candidates":[{"content":{"parts":[{"text":"Spain won. "}]}}]}`,
		`{"candidates":[{"content":{"parts":[{"text":"Twice."}]},"finishReason":"STOP","groundingMetadata":{"webSearchQueries":["q"],` +
			`"groundingChunks":[{"web":{"uri":"https://a.example","title":"a"}},{"retrievedContext":{"uri":"gs://b","title":"b","text":"won"}},{"maps":{"uri":"https://maps.example","title":"m"}},{"image":{}}],` +
			`"groundingSupports":[{"segment":{"endIndex":10,"text":"Spain won."},"groundingChunkIndices":[0,-1,1,4,9]},{"segment":{"startIndex":11,"endIndex":17},"groundingChunkIndices":[0]}]},` +
			`"citationMetadata":{"citationSources":[{"startIndex":1,"endIndex":5,"uri":"https://c.example","license":"x"},{"startIndex":1}],"citations":[{"startIndex":2,"endIndex":3,"title":"Book"}]}}]}`,
		`{"candidates":[{"content":{"parts":[{"text":""}]},"groundingMetadata":["not an object"],"citationMetadata":{"citations":7}}]}`,
	}
	want := []core.Annotation{
		{Type: core.AnnotationURL, End: 10, URL: "https://a.example", Title: "a"},
		{Type: core.AnnotationDocument, End: 10, URL: "gs://b", Title: "b", Quote: "won"},
		{Type: core.AnnotationURL, Start: 11, End: 17, URL: "https://a.example", Title: "a"},
		{Type: core.AnnotationURL, URL: "https://maps.example", Title: "m"},
		{Type: core.AnnotationURL, Start: 1, End: 5, URL: "https://c.example"},
		{Type: core.AnnotationURL, Start: 2, End: 3, Title: "Book"},
	}
	var got []core.Annotation
	_, err := wire.Read(strings.NewReader("data: "+strings.Join(lines, "\n\ndata: ")+"\n\n"), &turn{}, func(d model.Delta) bool {
		if d.Annotation != nil {
			got = append(got, *d.Annotation)
		}
		return true
	})
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
