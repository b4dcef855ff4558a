package wire

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/reveille-run/reveille/core/model"
)

// Some servers cut their texts by UTF-16 units, and so within a character: \ud83d is the
// end of one event, \ude00 the beginning of the next. A decoder of JSON replaces both
// halves by U+FFFD. So [MarkHalves] replaces each half in an event by a mark, four digits
// after a character that no text has, before the event is decoded. A [Joiner] joins the
// marks in the deltas.

// mark is the noncharacter that begins the mark of a half, and markSize the mark's length.
const (
	mark     = "\ufdd0"
	markSize = len(mark) + 4
)

// MarkHalves returns the JSON with a mark in place of each escaped half of a surrogate
// pair whose other half does not follow. JSON without any is returned as it is.
func MarkHalves(data []byte) []byte {
	if !bytes.Contains(data, []byte(`\ud`)) && !bytes.Contains(data, []byte(`\uD`)) {
		return data
	}
	var out []byte
	from := 0 // what is before it is in out
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		unit, ok := escaped(data[i:])
		if !ok || !utf16.IsSurrogate(unit) {
			i++ // the escaped character, which may be a backslash
			continue
		}
		if next, _ := escaped(data[i+6:]); utf16.DecodeRune(unit, next) != '\uFFFD' {
			i += 11
			continue
		}
		out = append(append(append(out, data[from:i]...), mark...), data[i+2:i+6]...)
		from = i + 6
		i += 5
	}
	if from == 0 {
		return data
	}
	return append(out, data[from:]...)
}

// escaped reads the \uXXXX that data begins with.
func escaped(data []byte) (unit rune, ok bool) {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(data[2:6]), 16, 16)
	return rune(n), err == nil
}

// HasHalf reports whether text has a mark.
func HasHalf(text string) bool { return strings.Contains(text, mark) }

// Joiner joins the halves of characters in the deltas of one stream. The zero value is
// ready.
type Joiner struct {
	held map[place]string // the mark that a text ended with
}

// place is a text that grows: the turn's text, its reasoning, or the arguments of a call.
type place struct {
	of    model.DeltaType
	index int
}

// Join yields a delta without marks. The first half at its end is held back until the
// second one comes; a half that stays alone becomes U+FFFD. It returns what yield returned.
func (j *Joiner) Join(d model.Delta, yield func(model.Delta) bool) bool {
	if d.Annotation != nil { // it is about text that may go on
		d.Annotation = joinNote(*d.Annotation)
		return yield(d)
	}
	if len(j.held) == 0 && !HasHalf(d.Text) && !HasHalf(d.Name) && !HasHalf(d.CallID) && !bytes.Contains(d.Echo, []byte(mark)) {
		return yield(d)
	}
	at := place{d.Type, d.Index}
	text := j.held[at] + d.Text
	delete(j.held, at)
	switch d.Type {
	case model.DeltaText, model.DeltaReasoning, model.DeltaToolStart, model.DeltaToolArgument, model.DeltaStop:
		if !j.flush(at, yield) {
			return false
		}
	}
	if held := endingHalf(text); d.Echo == nil && held != "" {
		if j.held == nil {
			j.held = map[place]string{}
		}
		j.held[at] = held
		if text = text[:len(text)-markSize]; text == "" {
			return true
		}
	}
	d.Text, d.Name, d.CallID = JoinHalves(text), JoinHalves(d.Name), JoinHalves(d.CallID)
	if d.Echo != nil {
		d.Echo = json.RawMessage(JoinHalves(string(d.Echo)))
	}
	return yield(d)
}

// flush yields the held halves that no other can follow: those of blocks before a delta of
// another place, and all at the end.
func (j *Joiner) flush(next place, yield func(model.Delta) bool) bool {
	held := slices.SortedFunc(maps.Keys(j.held), func(a, b place) int { return a.index - b.index })
	for _, at := range held {
		if at.of == model.DeltaToolArgument && next.of != model.DeltaStop {
			continue // calls may take turns
		}
		delete(j.held, at)
		if !yield(model.Delta{Type: at.of, Index: at.index, Text: "\uFFFD"}) {
			return false
		}
	}
	return true
}

// JoinHalves returns text with the characters of its marks; a half that is alone is U+FFFD.
func JoinHalves(text string) string {
	if !HasHalf(text) {
		return text
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, mark)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		first, second := unit(after), rune(0)
		if first == 0 { // the server's own noncharacter
			b.WriteString(mark)
			text = after
			continue
		}
		text = after[4:]
		if second = half(text); second != 0 {
			if c := utf16.DecodeRune(first, second); c != '\uFFFD' {
				b.WriteRune(c)
				text = text[markSize:]
				continue
			}
		}
		b.WriteRune('\uFFFD')
	}
}

// endingHalf returns the mark of a first half that text ends with; empty: there is none.
func endingHalf(text string) string {
	if n := len(text) - markSize; n >= 0 && utf16.DecodeRune(half(text[n:]), 0xdc00) != '\uFFFD' {
		return text[n:]
	}
	return ""
}

// half reads the mark that text begins with; 0: there is none.
func half(text string) rune {
	if after, found := strings.CutPrefix(text, mark); found {
		return unit(after)
	}
	return 0
}

// unit reads the four digits after a mark; 0: they are none of a half.
func unit(text string) rune {
	if len(text) < 4 {
		return 0
	}
	n, err := strconv.ParseUint(text[:4], 16, 16)
	if err != nil || !utf16.IsSurrogate(rune(n)) {
		return 0
	}
	return rune(n)
}
