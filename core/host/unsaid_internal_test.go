package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/position"
)

// Who has heard a step of its own process has perhaps more than the step has stored: what
// is read then is not shown again, and the next step begins anew.
func TestWhatWasHeardIsNotShownAgainFromChunks(t *testing.T) {
	id := core.ID{1}
	said := func(attempt uint64, end int, text string) core.Event {
		at := position.Position{Run: id, Step: 1, Attempt: attempt, End: end, Kind: 'f'}
		return core.Event{Type: core.EventTextDelta, RunID: id, Step: 1, Delta: text, Position: at.String()}
	}
	tests := []struct {
		name  string
		heard []core.Event
		read  []core.Event
		want  []string
	}{
		{
			"chunks lag behind", []core.Event{said(1, 2, "ab"), said(1, 6, "cdef")},
			[]core.Event{said(1, 1, "a"), said(1, 3, "bc"), said(1, 5, "de"), said(1, 8, "fgh"), said(1, 9, "i")},
			[]string{"ab", "cdef", "gh", "i"},
		},
		{
			"another attempt begins at its first word", []core.Event{said(1, 6, "abcdef")},
			[]core.Event{said(2, 1, "A"), said(2, 3, "BC")},
			[]string{"abcdef", string(core.EventStepRestarted), "A", "BC"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			s := newStream(env.System(), id, ListenerFunc(func(e core.Event) error {
				if e.Delta == "" {
					e.Delta = string(e.Type)
				}
				got = append(got, e.Delta)
				return nil
			}))
			for _, events := range [][]core.Event{tt.heard, tt.read} {
				if err := s.showUnsaid(events); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
