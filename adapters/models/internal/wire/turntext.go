package wire

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// TurnText is the text that a turn has said so far, so that the offsets of citations can be
// translated into bytes of it. The zero value is empty. It must not be copied.
type TurnText struct {
	text   strings.Builder // without marks
	held   string          // the mark of the first half of a character that text ended with
	counts []int           // characters up to the end of each whole stride of text, as far as counted
}

// stride is the number of bytes between two counts of characters: an event may have 100,000
// citations of a text of megabytes.
const stride = 512

// Add appends a piece of text, which may have marks of [MarkHalves].
func (s *TurnText) Add(text string) {
	text = s.held + text
	if s.held = endingHalf(text); s.held != "" {
		text = text[:len(text)-markSize]
	}
	s.text.WriteString(JoinHalves(text))
}

// Len is the number of bytes that were added, without marks. It is a place.
func (s *TurnText) Len() int { return s.text.Len() }

// Characters returns the place of the character after n others that follow a place. More
// characters than there are, or fewer than 0, are the nearest place.
func (s *TurnText) Characters(place, n int) int {
	text := s.text.String()
	if place = min(place, len(text)); n <= 0 {
		return place
	}
	wanted := s.before(place) + min(n, len(text))
	block, _ := slices.BinarySearch(s.counts, wanted+1) // the first stride that has it
	at, seen := block*stride, 0
	if block > 0 {
		seen = s.counts[block-1]
	}
	for ; at < len(text); at++ {
		if utf8.RuneStart(text[at]) {
			if seen == wanted {
				return at
			}
			seen++
		}
	}
	return len(text)
}

// before is the number of characters before a place.
func (s *TurnText) before(place int) int {
	text, before := s.text.String(), 0
	for end := (len(s.counts) + 1) * stride; end <= len(text); end += stride {
		n := starts(text[end-stride : end])
		if len(s.counts) > 0 {
			n += s.counts[len(s.counts)-1]
		}
		s.counts = append(s.counts, n)
	}
	block := place / stride
	if block > 0 {
		before = s.counts[block-1]
	}
	return before + starts(text[block*stride:place])
}

// starts is the number of characters that begin in text.
func starts(text string) (n int) {
	for i := range len(text) {
		if utf8.RuneStart(text[i]) {
			n++
		}
	}
	return n
}

// Cite is the delta of a citation.
func Cite(a core.Annotation) model.Delta {
	return model.Delta{Type: model.DeltaAnnotation, Annotation: &a}
}

// joinNote returns an annotation without marks.
func joinNote(a core.Annotation) *core.Annotation {
	a.URL, a.Title, a.Quote, a.ID = JoinHalves(a.URL), JoinHalves(a.Title), JoinHalves(a.Quote), JoinHalves(a.ID)
	return &a
}

// Loose is a value of which other JSON is ignored: servers put other things under the same
// name.
type Loose[T any] struct{ Value T }

// UnmarshalJSON implements json.Unmarshaler.
func (l *Loose[T]) UnmarshalJSON(b []byte) error {
	var value T
	if json.Unmarshal(b, &value) == nil {
		l.Value = value
	}
	return nil
}
