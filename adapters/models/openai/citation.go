package openai

import (
	"encoding/json"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// annotations are citations of a message. Servers put other things under the name, which
// are ignored.
type annotations []urlCitation

// urlCitation is the citation of a page. Offsets count characters of the message.
type urlCitation struct {
	Type string `json:"type"`
	Of   struct {
		Start   int    `json:"start_index"`
		End     int    `json:"end_index"`
		URL     string `json:"url"`
		Title   string `json:"title"`
		Content string `json:"content"` // OpenRouter: of the page
	} `json:"url_citation"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (a *annotations) UnmarshalJSON(b []byte) error {
	var all []json.RawMessage
	if json.Unmarshal(b, &all) != nil {
		return nil
	}
	for _, one := range all {
		var c urlCitation
		if json.Unmarshal(one, &c) == nil && c.Type == "url_citation" {
			*a = append(*a, c)
		}
	}
	return nil
}

// searchResult is a page that the model has read.
type searchResult struct {
	Title   looseText `json:"title"`
	URL     looseText `json:"url"`
	Snippet looseText `json:"snippet"`
}

// addCitations adds the sources of the message so far.
func (t *turn) addCitations(all annotations) {
	for _, c := range all {
		t.cite(core.Annotation{
			Type: core.AnnotationURL, URL: c.Of.URL, Title: c.Of.Title, Quote: c.Of.Content,
			Start: t.said.Characters(0, c.Of.Start), End: t.said.Characters(0, c.Of.End),
		})
	}
}

// addSources adds the sources of the whole message, of which every chunk may have the list.
func (t *turn) addSources(c *chunk) {
	for _, r := range c.Results.Value {
		t.addSource(core.Annotation{Type: core.AnnotationURL, URL: string(r.URL), Title: string(r.Title), Quote: string(r.Snippet)})
	}
	for _, address := range c.Citations.Value {
		t.addSource(core.Annotation{Type: core.AnnotationURL, URL: string(address)})
	}
}

func (t *turn) addSource(a core.Annotation) {
	if a.URL == "" || t.sources[a.URL] {
		return
	}
	if t.sources == nil {
		t.sources = map[string]bool{}
	}
	t.sources[a.URL] = true
	t.cite(a)
}

func (t *turn) cite(a core.Annotation) { t.deltas = append(t.deltas, wire.Cite(a)) }

// responseCitation is a citation of a text of the Responses API: of a page, or of a file.
type responseCitation struct {
	Type     string `json:"type"`
	Start    int    `json:"start_index"` // in characters of the part
	End      int    `json:"end_index"`
	URL      string `json:"url"`
	Title    string `json:"title"`
	FileID   string `json:"file_id"`
	Filename string `json:"filename"`
}

// cite adds the citation of the text part that starts at a place of what was said.
func (t *responseTurn) cite(c *responseCitation, from int) {
	a := core.Annotation{Start: t.said.Characters(from, c.Start), End: t.said.Characters(from, c.End), URL: c.URL, Title: c.Title}
	switch c.Type {
	case "url_citation":
		a.Type = core.AnnotationURL
	case "file_citation", "container_file_citation":
		a.Type, a.ID, a.Title = core.AnnotationDocument, c.FileID, c.Filename
	default:
		return
	}
	t.deltas = append(t.deltas, model.Delta{Type: model.DeltaAnnotation, Annotation: &a})
}
