package gemini

import (
	"cmp"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
)

// The sources of a text: those that it was grounded in, and those that it repeats.
type (
	grounding struct {
		Chunks   []groundingChunk   `json:"groundingChunks"`
		Supports []groundingSupport `json:"groundingSupports"`
	}
	groundingChunk struct {
		Web     *groundingSource `json:"web"`
		Context *groundingSource `json:"retrievedContext"` // of a search in documents
		Maps    *groundingSource `json:"maps"`
	}
	groundingSource struct {
		URI   string `json:"uri"`
		Title string `json:"title"`
		Text  string `json:"text"`
	}
	groundingSupport struct {
		Segment struct {
			Start int `json:"startIndex"` // in bytes
			End   int `json:"endIndex"`
		} `json:"segment"`
		Chunks []int `json:"groundingChunkIndices"`
	}
	citations struct {
		Sources   []citation `json:"citationSources"`
		Citations []citation `json:"citations"` // Vertex AI
	}
	citation struct {
		Start int    `json:"startIndex"`
		End   int    `json:"endIndex"`
		URI   string `json:"uri"`
		Title string `json:"title"`
	}
)

// cite adds the sources of a candidate. A source that supports no part of the text is one of
// the whole.
func (t *turn) cite(g *grounding, c *citations) {
	supported := make(map[int]bool)
	for _, s := range g.Supports {
		for _, i := range s.Chunks {
			if i >= 0 && i < len(g.Chunks) {
				supported[i] = true
				t.note(g.Chunks[i].annotation(), s.Segment.Start, s.Segment.End)
			}
		}
	}
	for i := range g.Chunks {
		if !supported[i] {
			t.note(g.Chunks[i].annotation(), 0, 0)
		}
	}
	for _, from := range append(c.Sources, c.Citations...) {
		if from.URI != "" || from.Title != "" {
			t.note(core.Annotation{Type: core.AnnotationURL, URL: from.URI, Title: from.Title}, from.Start, from.End)
		}
	}
}

func (t *turn) note(a core.Annotation, start, end int) {
	if a.Start, a.End = start, end; a.URL != "" || a.Title != "" || a.Quote != "" {
		t.deltas = append(t.deltas, wire.Cite(a))
	}
}

func (c *groundingChunk) annotation() core.Annotation {
	if c.Context != nil {
		return core.Annotation{Type: core.AnnotationDocument, URL: c.Context.URI, Title: c.Context.Title, Quote: c.Context.Text}
	}
	from := cmp.Or(c.Web, c.Maps)
	if from == nil {
		return core.Annotation{}
	}
	return core.Annotation{Type: core.AnnotationURL, URL: from.URI, Title: from.Title}
}
