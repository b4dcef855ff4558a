package openai

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core/model"
)

// Streams of a server that means harm, or is broken. Each is read in time that grows with its
// length alone.
func TestStreamsOfAStranger(t *testing.T) {
	cites := func(i int) string {
		return fmt.Sprintf(`{"type":"url_citation","url_citation":{"start_index":%d,"end_index":%d,"url":"https://a.example/%d"}}`, i, i+5, i)
	}
	many := func(n int, of func(int) string, between string) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteString(between)
			}
			b.WriteString(of(i))
		}
		return b.String()
	}
	chat := func(delta string) string { return data(`{"choices":[{"delta":` + delta + `}]}`) }
	long := chat(`{"content":"` + strings.Repeat("é ", 100_000) + `"}`)
	tests := []struct {
		name, stream string
		turn         wire.Turn
		deltas       int
		want         string // of the error; empty: none
	}{
		{"20,000 citations in one event", long + chat(`{"annotations":[`+many(20_000, cites, ",")+`]}`) + data(`[DONE]`), &turn{}, 20_002, ""},
		{"20,000 events with one citation each", long + many(20_000, func(i int) string { return chat(`{"annotations":[` + cites(i) + `]}`) }, "") + data(`[DONE]`), &turn{}, 20_002, ""},
		{"parts of which each is new", many(20_000, func(i int) string {
			return data(fmt.Sprintf(`{"type":"response.output_text.annotation.added","output_index":%d,"annotation":{"type":"url_citation","url":"https://a.example"}}`, i))
		}, "") + data(`{"type":"response.completed","response":{"status":"completed"}}`), &responseTurn{}, 20_001, ""},
		{"halves of characters alone", chat(`{"content":"`+strings.Repeat(`\ud83d`, 1<<20)+`"}`) + data(`[DONE]`), &turn{}, 3, ""},
		{"an error of a million braces", data(`{"error":` + strings.Repeat("{", 1_000_000)), &turn{}, 0, "read a chunk: invalid character '{' looking for beginning of object key string"},
		{"an error a million levels deep", data(`{"error":` + strings.Repeat(`{"a":`, 1_000_000)), &turn{}, 0, "read a chunk: invalid character '{' exceeded max depth"},
		{"an error event of a million braces", "event: error\ndata: " + strings.Repeat("{", 1_000_000) + "\n\n", &turn{}, 0, "read a chunk: invalid character '{' looking for beginning of object key string"},
		{"arguments without a name at the limit", strings.Repeat(chat(`{"tool_calls":[{"index":0,"function":{"arguments":"`+strings.Repeat("x", 1<<20)+`"}}]}`), 16) + chat(`{"tool_calls":[{"index":0,"function":{"name":"add"}}]}`) + data(`[DONE]`), &turn{}, 3, ""},
		{"arguments without a name over it", strings.Repeat(chat(`{"tool_calls":[{"index":0,"function":{"arguments":"`+strings.Repeat("x", 1<<20)+`"}}]}`), 16) + chat(`{"tool_calls":[{"index":0,"function":{"arguments":"x"}}]}`), &turn{}, 0,
			"the calls and the reasoning details of a turn are longer than 16 MB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			deltas := 0
			_, err := wire.Read(strings.NewReader(tt.stream), tt.turn, func(model.Delta) bool { deltas++; return true })
			if err == nil {
				err = errors.New("")
			}
			if deltas != tt.deltas || err.Error() != tt.want {
				t.Errorf("%d deltas, error %.200s, want %d and %q", deltas, err, tt.deltas, tt.want)
			}
		})
	}
}
