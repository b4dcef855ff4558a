package run

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run/checkpoint"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// A turn that no model was asked for leaves what was shown before as it is, and says nothing
// of a request.
func TestWindowOfATurn(t *testing.T) {
	before := core.Window{
		First: 9, Short: 5, Summary: 3, Opening: 7, Compact: 11, Skipped: 13,
		Estimate: 100, Tokens: 120, Refused: true, Prefix: [3]uint32{1, 2, 3},
	}
	now := &core.Window{First: 21, Estimate: 200}
	tests := []struct {
		name string
		now  *core.Window
		past *checkpoint.Conversation
		want *core.Window
	}{
		{"a model was asked", now, &checkpoint.Conversation{Window: before}, now},
		{"none was", nil, &checkpoint.Conversation{Window: before}, &core.Window{First: 9, Short: 5, Summary: 3, Opening: 7, Compact: 11, Skipped: 13}},
		{"of a thread that cannot be read", nil, nil, nil},
	}
	for _, tt := range tests {
		p := &prompt{window: tt.now, draft: &draft{past: tt.past}}
		if diff := cmp.Diff(tt.want, p.turnWindow()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// What a run was asked first is the entry with which it begins, if that is input, and what
// the thread knows otherwise.
func TestWhatARunWasAsked(t *testing.T) {
	id := core.ID{1}
	asked, noted := core.UserMessage("asked"), core.UserMessage("noted")
	said := core.Message{Role: core.RoleAssistant}
	known := checkpoint.Opening{Message: &noted, Seq: 4}
	input, turn := thread.Entry{Message: &asked}, thread.Entry{Message: &said}
	back := thread.Entry{Superseded: &thread.Range{From: 5, To: 9}}
	tests := []struct {
		name    string
		run     core.ID // of the newest entry that is committed
		entries []thread.Entry
		want    string
		at      uint64
	}{
		{"input", core.ID{2}, []thread.Entry{input, turn}, "asked", 10},
		{"input that takes back what was before", core.ID{2}, []thread.Entry{back, input}, "asked", 11},
		{"input that comes later", id, []thread.Entry{input}, "noted", 4},
		{"a turn before input", core.ID{2}, []thread.Entry{turn, input}, "noted", 4},
		{"a change of the state before input", core.ID{2}, []thread.Entry{{}, input}, "noted", 4},
		{"nothing yet", core.ID{2}, nil, "noted", 4},
	}
	for _, tt := range tests {
		p := &prompt{
			holder: &holder{id: id},
			draft:  &draft{from: 9, past: &checkpoint.Conversation{Run: tt.run, Opening: known}, entries: tt.entries},
		}
		m, at := p.opened()
		if m.Text() != tt.want || at != tt.at {
			t.Errorf("%s: %q at %d, want %q at %d", tt.name, m.Text(), at, tt.want, tt.at)
		}
	}
}

// The messages in front of a turn that are its run's are those at the end, and the slice has
// no room for others.
func TestMessagesOfARun(t *testing.T) {
	ours, other := core.ID{1}, core.ID{2}
	tests := []struct {
		name string
		runs []core.ID
		want int // so many of the last messages
	}{
		{"none", nil, 0},
		{"all", []core.ID{ours, ours}, 2},
		{"those behind another run", []core.ID{other, ours, ours}, 2},
		{"not those before another run", []core.ID{ours, other, ours}, 1},
		{"none of it", []core.ID{ours, other}, 0},
	}
	for _, tt := range tests {
		messages := make([]core.Message, 0, 9)
		for _, run := range tt.runs {
			messages = append(messages, core.Message{RunID: run})
		}
		got := ofRun(messages, ours)
		if len(got) != tt.want || cap(got) != tt.want || slices.ContainsFunc(got, func(m core.Message) bool { return m.RunID != ours }) {
			t.Errorf("%s: %d messages with room for %d, want %d of the run's", tt.name, len(got), cap(got), tt.want)
		}
	}
}
