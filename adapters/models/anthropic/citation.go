package anthropic

import (
	"cmp"

	"github.com/reveille-run/reveille/core"
)

// citation is a source of a text block. Which members it has depends on its type.
type citation struct {
	Type     string `json:"type"`
	Quote    string `json:"cited_text"`
	URL      string `json:"url"`    // of a web search result
	Source   string `json:"source"` // of a search result of the request: an address or a name
	Title    string `json:"title"`
	Document *int   `json:"document_index"` // among the documents of the request, from 0
	Name     string `json:"document_title"`
	FileID   string `json:"file_id"`

	FirstPage  int `json:"start_page_number"` // from 1
	LastPage   int `json:"end_page_number"`   // the page after it
	FirstBlock int `json:"start_block_index"`
	LastBlock  int `json:"end_block_index"`
	FirstChar  int `json:"start_char_index"`
	LastChar   int `json:"end_char_index"`
}

// annotation is the citation of a part of the text.
func (c *citation) annotation(start, end int) core.Annotation {
	a := core.Annotation{
		Type: core.AnnotationDocument, Start: start, End: end, URL: cmp.Or(c.URL, c.Source), Title: cmp.Or(c.Title, c.Name), Quote: c.Quote, ID: c.FileID,
	}
	if c.Document != nil {
		a.Document = *c.Document + 1
	}
	switch c.Type {
	case "web_search_result_location", "search_result_location":
		a.Type = core.AnnotationURL
	case "page_location":
		a.Unit, a.From, a.To = core.UnitPage, c.FirstPage, c.LastPage
	case "content_block_location":
		a.Unit, a.From, a.To = core.UnitBlock, c.FirstBlock, c.LastBlock
	case "char_location":
		a.Unit, a.From, a.To = core.UnitCharacter, c.FirstChar, c.LastChar
	}
	return a
}
