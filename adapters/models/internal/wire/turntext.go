package wire

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// TurnText is the text that a turn has said so far, so that the offsets of citations can be
// translated into bytes of it. The zero value is empty. It must not be copied.
type TurnText struct{ text strings.Builder }

// Add appends a piece of text, which may have marks of [MarkHalves].
func (s *TurnText) Add(text string) { s.text.WriteString(text) }

// Len is the number of bytes that were added. It is a place for the other methods.
func (s *TurnText) Len() int { return s.text.Len() }

// At translates a place into an offset in the text without marks.
func (s *TurnText) At(place int) int {
	return len(JoinHalves(s.text.String()[:min(place, s.text.Len())]))
}

// Characters translates a number of characters after a place into an offset in the text
// without marks. More characters than there are, or fewer than 0, are the nearest offset.
func (s *TurnText) Characters(place, n int) int {
	from, text := s.At(place), JoinHalves(s.text.String())
	rest := text[min(from, len(text)):]
	at := 0
	for ; n > 0 && at < len(rest); n-- {
		_, size := utf8.DecodeRuneInString(rest[at:])
		at += size
	}
	return from + at
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
