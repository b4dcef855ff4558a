package markdown

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestADocumentIsRead(t *testing.T) {
	const source = "# The `API`, v1\n\nSee [the guide](guides/a.md#top) and\n`code` <https://go.dev>.\n\n" +
		"<picture>\n  <img src=\"a.png\" alt=\"A page\">\n</picture>\n\n" +
		"| Name | Use |\n|---|---|\n| `x` | sends [it](b.md) |\n\n- one\n- two\n\n## Use\n\n## Use\n\n```sh run\nmake run\n```\n"
	want := Document{
		Prose: []Prose{
			{Line: 1, Text: "The CODE, v1", Heading: true},
			{Line: 3, Text: "See the guide and CODE CODE."},
			{Line: 10, Text: "Name", Cell: true}, {Line: 10, Text: "Use", Cell: true},
			{Line: 12, Text: "CODE", Cell: true}, {Line: 12, Text: "sends it", Cell: true},
			{Line: 14, Text: "one"}, {Line: 15, Text: "two"},
			{Line: 17, Text: "Use", Heading: true}, {Line: 19, Text: "Use", Heading: true},
		},
		Headings: []Heading{{1, 1, "The CODE, v1", "the-api-v1"}, {17, 2, "Use", "use"}, {19, 2, "Use", "use-1"}},
		Links:    []Link{{3, "the guide", "guides/a.md#top"}, {7, "src", "a.png"}, {12, "it", "b.md"}},
		Blocks:   []Block{{22, "sh run", "make run\n"}},
	}
	if diff := cmp.Diff(want, Parse([]byte(source))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnchorsOfTheSameHeadingAreNumbered(t *testing.T) {
	var anchors []string
	for _, h := range Parse([]byte(strings.Repeat("# Use\n\n", 12))).Headings {
		anchors = append(anchors, h.Anchor)
	}
	want := []string{"use", "use-1", "use-2", "use-3", "use-4", "use-5", "use-6", "use-7", "use-8", "use-9", "use-10", "use-11"}
	if diff := cmp.Diff(want, anchors); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Indented code has no kind, so the checks refuse it.
func TestIndentedCodeIsABlock(t *testing.T) {
	want := []Block{{Line: 3, Text: "make run\n"}}
	if diff := cmp.Diff(want, Parse([]byte("Use:\n\n    make run\n")).Blocks); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPicturesAreLinks(t *testing.T) {
	const source = "![A page](a.png) one  \ntwo\n\n<source srcset=\"b.png\"><a href=\"c.md\">c</a>\n\n# a_b C\n"
	got := Parse([]byte(source))
	want := []Link{{1, "A page", "a.png"}, {4, "srcset", "b.png"}, {4, "href", "c.md"}}
	if diff := cmp.Diff(want, got.Links); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
	if got.Prose[0].Text != "A page one two" || got.Headings[0].Anchor != "a_b-c" {
		t.Errorf("prose %+v, headings %+v", got.Prose, got.Headings)
	}
}
