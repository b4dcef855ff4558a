package core

// AnnotationType is the kind of source that an [Annotation] names.
type AnnotationType string

// The kinds of sources.
const (
	AnnotationURL      AnnotationType = "url"      // a page: URL is set
	AnnotationDocument AnnotationType = "document" // a document that the model or its provider read
)

// Annotation is a citation: it names the source of a part of a model's text. Providers say
// different amounts; a field that the provider did not fill is empty. It belongs to a block
// of type text, see [Block]. Models never receive annotations: requests have the text alone.
type Annotation struct {
	Type AnnotationType `json:"type"`

	// Start and End delimit the cited part in bytes of the block's text: from Start up to but
	// not including End. They are equal if the provider names no part.
	Start int `json:"start"`
	End   int `json:"end"`

	// URL is the address of the source, as the provider spells it. It may have any scheme:
	// make a link of http and https addresses only.
	URL   string `json:"url,omitempty"`
	Title string `json:"title,omitempty"`
	Quote string `json:"quote,omitempty"` // text of the source, at most 2,000 bytes of it

	// Document is the place of a document among those of the request, from 1; 0: unknown.
	// ID is the provider's id of the document, such as that of an uploaded file.
	Document int    `json:"document,omitempty"`
	ID       string `json:"id,omitempty"`
	// From and To delimit the cited part of a document in units of Unit, from From up to but
	// not including To: pages are counted from 1, blocks and characters from 0. An empty Unit
	// means that the provider names no part.
	Unit AnnotationUnit `json:"unit,omitempty"`
	From int            `json:"from,omitempty"`
	To   int            `json:"to,omitempty"`
}

// AnnotationUnit is what the range of a document counts.
type AnnotationUnit string

// The units.
const (
	UnitPage      AnnotationUnit = "page"
	UnitBlock     AnnotationUnit = "block"
	UnitCharacter AnnotationUnit = "character"
)
