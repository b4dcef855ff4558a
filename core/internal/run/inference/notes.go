package inference

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
)

// The limits of a turn's citations. A provider may send any number of them, and they are
// stored with the turn: what exceeds a limit is dropped, quotes first, and logged.
const (
	mostNotes      = 256
	mostNotesBytes = 64 << 10 // of URLs, titles, quotes and ids together
	mostQuote      = 2000     // bytes of one quote
)

// notes collects the citations of a turn's text. Their offsets are bytes of all text of the
// turn; the blocks of that text are known when the turn is.
type notes struct {
	all     []core.Annotation
	bytes   int
	dropped int
}

// add takes a citation. Its offsets are those of the current call's text, before which the
// turn has base bytes of text.
func (n *notes) add(a core.Annotation, base int) {
	a.Start, a.End = max(a.Start, 0)+base, max(a.End, a.Start, 0)+base
	a.Quote = cutQuote(a.Quote)
	if slices.Contains(n.all, a) {
		return
	}
	size := func() int { return len(a.URL) + len(a.Title) + len(a.Quote) + len(a.ID) }
	if n.bytes+size() > mostNotesBytes {
		a.Quote = ""
	}
	if len(n.all) >= mostNotes || n.bytes+size() > mostNotesBytes {
		n.dropped++
		return
	}
	n.all, n.bytes = append(n.all, a), n.bytes+size()
}

// cutQuote is the beginning of a quote, whole characters of it.
func cutQuote(quote string) string {
	if len(quote) <= mostQuote {
		return quote
	}
	end := mostQuote
	for end > 0 && !utf8.RuneStart(quote[end]) {
		end--
	}
	return quote[:end]
}

// place gives each block of text its citations, with offsets in that block. A citation of
// several blocks belongs to the one in which it starts, and ends with it. Nil has none.
func (n *notes) place(blocks []core.Block) {
	if n == nil {
		return
	}
	slices.SortStableFunc(n.all, func(a, b core.Annotation) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	last := -1
	for i := range blocks {
		if blocks[i].Type == core.BlockText && blocks[i].Text != "" {
			last = i
		}
	}
	from, next := 0, 0
	for i := 0; i <= last; i++ {
		b := &blocks[i]
		if b.Type != core.BlockText || b.Text == "" {
			continue
		}
		b.Annotations = nil // an earlier attempt may have placed them
		end := from + len(b.Text)
		for ; next < len(n.all) && (i == last || n.all[next].Start < end); next++ {
			a := n.all[next]
			a.Start, a.End = within(b.Text, a.Start-from, a.End-from)
			if !slices.Contains(b.Annotations, a) { // two may be the same within the block
				b.Annotations = append(b.Annotations, a)
			}
		}
		from = end
	}
}

// within returns offsets that are in a text, at the borders of characters.
func within(text string, start, end int) (from, to int) {
	from, to = min(start, len(text)), min(end, len(text))
	for from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	return from, to
}
