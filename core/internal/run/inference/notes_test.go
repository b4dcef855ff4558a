package inference

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
)

// Citations are placed in the block in which they start, at borders of characters, and in
// the order of the text.
func TestCitationsGoToTheirBlock(t *testing.T) {
	cite := func(url string, start, end int) core.Annotation {
		return core.Annotation{Type: core.AnnotationURL, URL: url, Start: start, End: end}
	}
	blocks := []core.Block{
		{Type: core.BlockReasoning, Text: "hm"}, {Type: core.BlockText, Text: "Où est"}, {Type: core.BlockReasoning}, {Type: core.BlockText},
		{Type: core.BlockText, Text: "là."}, {Type: core.BlockReasoning, Text: "so"},
	}
	var n notes
	n.add(cite("whole", 0, 0), 0)
	n.add(cite("spans", 3, 9), 0)
	n.add(cite("within a character", 2, 3), 0)
	base := 7 // "Où est" has seven bytes
	n.add(cite("second", 0, 2), base)
	n.add(cite("second", 0, 2), base)
	n.add(cite("behind", 50, 60), base)
	n.add(cite("backwards", 3, -5), base)
	n.add(cite("negative", -9, 1), base)
	n.place(blocks)
	n.place(blocks) // again, after more was said
	want := [][]core.Annotation{
		nil, {cite("whole", 0, 0), cite("within a character", 1, 3), cite("spans", 3, 7)}, nil, nil,
		{cite("negative", 0, 1), cite("second", 0, 3), cite("backwards", 3, 3), cite("behind", 4, 4)}, nil,
	}
	for i, b := range blocks {
		if diff := cmp.Diff(want[i], b.Annotations); diff != "" {
			t.Errorf("block %d (-want +got):\n%s", i, diff)
		}
	}
	var grows notes
	grows.add(cite("ahead of its text", 1, 9), 0)
	said := []core.Block{{Type: core.BlockText, Text: "abc"}}
	grows.place(said)
	said[0].Text = "abcdef"
	grows.place(said)
	if diff := cmp.Diff([]core.Annotation{cite("ahead of its text", 1, 6)}, said[0].Annotations); diff != "" {
		t.Errorf("after more text (-want +got):\n%s", diff)
	}
	none := []core.Block{{Type: core.BlockReasoning, Text: "hm"}}
	if n.place(none); none[0].Annotations != nil {
		t.Error("reasoning is cited")
	}
}

func TestCitationsHaveLimits(t *testing.T) {
	var n notes
	for i := range 257 {
		n.add(core.Annotation{Start: i}, 0)
	}
	if len(n.all) != 256 || n.dropped != 1 {
		t.Errorf("%d are kept, %d dropped", len(n.all), n.dropped)
	}
	n = notes{}
	n.add(core.Annotation{Quote: strings.Repeat("é", 1001)}, 0)
	if got := len(n.all[0].Quote); got != 2000 {
		t.Errorf("a quote of 2002 bytes has %d", got)
	}
	whole := notes{}
	whole.add(core.Annotation{Quote: strings.Repeat("é", 1000)}, 0)
	if got := len(whole.all[0].Quote); got != 2000 {
		t.Errorf("a quote of 2000 bytes has %d", got)
	}
	n.add(core.Annotation{Quote: "a" + strings.Repeat("é", 1000)}, 0)
	if got := len(n.all[1].Quote); got != 1999 {
		t.Errorf("a quote of 2001 bytes has %d", got)
	}
	n = notes{}
	n.add(core.Annotation{Title: strings.Repeat("x", 65536-10)}, 0)
	n.add(core.Annotation{URL: "0123456789", Quote: "x"}, 0)
	n.add(core.Annotation{URL: "x"}, 0)
	if len(n.all) != 2 || n.all[1].URL != "0123456789" || n.all[1].Quote != "" || n.dropped != 1 {
		t.Errorf("%d are kept, %d dropped, the second has the address %q and the quote %q", len(n.all), n.dropped, n.all[1].URL, n.all[1].Quote)
	}
	n = notes{}
	for range 300 {
		n.add(core.Annotation{URL: "the same"}, 0)
	}
	if len(n.all) != 1 || n.dropped != 0 {
		t.Errorf("of 300 that are the same %d are kept, %d dropped", len(n.all), n.dropped)
	}
}
