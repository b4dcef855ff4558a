package host

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/position"
)

// eventAt is an event with a position at the end byte of its run's first block.
func eventAt(end int) core.Event {
	return core.Event{Type: core.EventTextDelta, Position: position.Position{Run: core.ID{1}, Step: 1, Attempt: 1, Kind: 'f', End: end}.String()}
}

// A page of events is full at its limit, or when the next event does not fit in
// 3,000,000 bytes, each with 256 beside what can be large of it. The first always fits.
func TestAPageOfEventsIsFull(t *testing.T) {
	text := func(bytes int) json.RawMessage { return json.RawMessage(strings.Repeat("x", bytes)) }
	const most = 3_000_000 - 2*256
	for name, test := range map[string]struct {
		limit int
		sizes []int
		want  int
	}{
		"limit":         {2, []int{1, 1, 1}, 2},
		"just":          {3, []int{1, 1, 1}, 3},
		"bytes":         {9, []int{1_000_000, most - 1_000_000}, 2},
		"one byte more": {9, []int{1_000_000, most - 1_000_000 + 1}, 1},
		"three":         {9, []int{1_000_000, 1_000_000, 1_000_000}, 2},
		"too large":     {9, []int{4_000_000, 1}, 1},
	} {
		for field, large := range map[string]func(*core.Event, int){
			"delta":     func(e *core.Event, n int) { e.Delta = string(text(n)) },
			"arguments": func(e *core.Event, n int) { e.Arguments = text(n) },
			"result":    func(e *core.Event, n int) { e.Result = text(n) },
			"patch":     func(e *core.Event, n int) { e.Patch = text(n) },
			"response":  func(e *core.Event, n int) { e.Response = string(text(n)) },
			"encrypted": func(e *core.Event, n int) { e.EncryptedValue = text(n) },
		} {
			c := committed{limit: test.limit}
			for i, size := range test.sizes {
				e := eventAt(i + 1)
				large(&e, size)
				err := c.emit(e)
				if full := i >= test.want; errors.Is(err, errFull) != full || (c.page.Next != "") != full {
					t.Errorf("%s of %s: event %d returns %v, more %t", name, field, i, err, (c.page.Next != ""))
				}
				if err != nil {
					break
				}
			}
			if len(c.page.Items) != test.want {
				t.Errorf("%s of %s: %d events, want %d", name, field, len(c.page.Items), test.want)
			}
		}
	}
}

// Only events with a position count, and those strictly after the query's.
func TestAPageOfEventsBeginsAfterItsPlace(t *testing.T) {
	for name, test := range map[string]struct {
		after position.Position
		want  []int
	}{
		"from the first": {position.Position{}, []int{1, 2, 3}},
		"after one":      {position.Position{Run: core.ID{1}, Step: 1, Attempt: 1, Kind: 'f', End: 1}, []int{2, 3}},
		"after the last": {position.Position{Run: core.ID{1}, Step: 1, Attempt: 1, Kind: 'f', End: 3}, nil},
	} {
		c := committed{limit: 9, after: test.after}
		for _, e := range []core.Event{{Type: core.EventStateSnapshot}, eventAt(1), eventAt(2), eventAt(3)} {
			if err := c.emit(e); err != nil {
				t.Fatal(err)
			}
		}
		var got []int
		for _, e := range c.page.Items {
			at, err := position.Parse(e.Position)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, at.End)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
