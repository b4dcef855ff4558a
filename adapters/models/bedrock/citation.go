package bedrock

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/reveille-run/reveille/core"
)

// annotation is a citation of a part of the text. Pages are counted from 1, as the API
// counts them, and everything else from 0.
func annotation(c *types.CitationsDelta, start, end int) core.Annotation {
	a := core.Annotation{Type: core.AnnotationDocument, Start: start, End: end, URL: aws.ToString(c.Source), Title: aws.ToString(c.Title)}
	var quote strings.Builder
	for _, piece := range c.SourceContent {
		quote.WriteString(aws.ToString(piece.Text))
	}
	a.Quote = quote.String()
	part := func(unit core.AnnotationUnit, document, from, to *int32) {
		a.Unit, a.From, a.To = unit, int(aws.ToInt32(from)), int(aws.ToInt32(to))
		if document != nil {
			a.Document = int(*document) + 1
		}
	}
	switch l := c.Location.(type) {
	case *types.CitationLocationMemberWeb:
		a.Type, a.URL = core.AnnotationURL, aws.ToString(l.Value.Url)
	case *types.CitationLocationMemberSearchResultLocation:
		a.Type = core.AnnotationURL
	case *types.CitationLocationMemberDocumentPage:
		part(core.UnitPage, l.Value.DocumentIndex, l.Value.Start, l.Value.End)
	case *types.CitationLocationMemberDocumentChunk:
		part(core.UnitBlock, l.Value.DocumentIndex, l.Value.Start, l.Value.End)
	case *types.CitationLocationMemberDocumentChar:
		part(core.UnitCharacter, l.Value.DocumentIndex, l.Value.Start, l.Value.End)
	}
	return a
}
