package bedrock

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
)

func TestCitationsCoverTheirBlock(t *testing.T) {
	said := func(text string) types.ConverseStreamOutput {
		return &types.ConverseStreamOutputMemberContentBlockDelta{Value: types.ContentBlockDeltaEvent{Delta: &types.ContentBlockDeltaMemberText{Value: text}}}
	}
	cites := func(c types.CitationsDelta) types.ConverseStreamOutput {
		return &types.ConverseStreamOutputMemberContentBlockDelta{Value: types.ContentBlockDeltaEvent{Delta: &types.ContentBlockDeltaMemberCitation{Value: c}}}
	}
	end := &types.ConverseStreamOutputMemberContentBlockStop{}
	var got []core.Annotation
	var turn turn
	for _, event := range []types.ConverseStreamOutput{
		said("Où "), end,
		cites(types.CitationsDelta{
			Title: aws.String("Weather"), Source: aws.String("w.pdf"), SourceContent: []types.CitationSourceContentDelta{{Text: aws.String("It ")}, {Text: aws.String("rains.")}},
			Location: &types.CitationLocationMemberDocumentPage{Value: types.DocumentPageLocation{DocumentIndex: aws.Int32(0), Start: aws.Int32(2), End: aws.Int32(3)}},
		}),
		said("là"),
		cites(types.CitationsDelta{Location: &types.CitationLocationMemberWeb{Value: types.WebLocation{Url: aws.String("https://a.example")}}}),
		end, said("."),
		cites(types.CitationsDelta{Location: &types.CitationLocationMemberDocumentChunk{Value: types.DocumentChunkLocation{DocumentIndex: aws.Int32(1), End: aws.Int32(1)}}}),
		cites(types.CitationsDelta{Location: &types.CitationLocationMemberDocumentChar{Value: types.DocumentCharLocation{Start: aws.Int32(4), End: aws.Int32(9)}}}),
		cites(types.CitationsDelta{Source: aws.String("kb"), Location: &types.CitationLocationMemberSearchResultLocation{}}),
		cites(types.CitationsDelta{}), end,
	} {
		deltas, err := turn.add(event)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range deltas {
			if d.Annotation != nil {
				got = append(got, *d.Annotation)
			}
		}
	}
	want := []core.Annotation{
		{Type: core.AnnotationDocument, Start: 4, End: 7, URL: "w.pdf", Title: "Weather", Quote: "It rains.", Document: 1, Unit: core.UnitPage, From: 2, To: 3},
		{Type: core.AnnotationURL, Start: 4, End: 7, URL: "https://a.example"},
		{Type: core.AnnotationDocument, Start: 7, End: 8, Document: 2, Unit: core.UnitBlock, To: 1},
		{Type: core.AnnotationDocument, Start: 7, End: 8, Unit: core.UnitCharacter, From: 4, To: 9},
		{Type: core.AnnotationURL, Start: 7, End: 8, URL: "kb"},
		{Type: core.AnnotationDocument, Start: 7, End: 8},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
