package mailbox_test

import (
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
)

func TestParentOfASubmission(t *testing.T) {
	run := core.ID{1}
	tests := []struct {
		name   string
		parent mailbox.Parent
		mode   mailbox.Mode
		want   string
	}{
		{"complete", mailbox.Parent{Thread: "p", Run: run, Call: 31}, "", ""},
		{"in the background", mailbox.Parent{Thread: "p", Run: run, Call: thread.NoCall}, mailbox.ModeQueue, ""},
		{"no thread", mailbox.Parent{Run: run}, "", "parent thread id is empty"},
		{"a long thread", mailbox.Parent{Thread: strings.Repeat("n", 129), Run: run}, "", "parent thread id is 129 bytes long, at most 128 are allowed"},
		{"no run", mailbox.Parent{Thread: "p"}, "", "parent: the run has no id"},
		{"a call too many", mailbox.Parent{Thread: "p", Run: run, Call: 32}, "", "parent: call 32, allowed are 0 to 31 and 255"},
		{"at the last depth", mailbox.Parent{Thread: "p", Run: run, Agents: []string{"a", "b", "c", "d", "tool:e"}, MaxTokens: 1, Deadline: 1}, "", ""},
		{"too deep", mailbox.Parent{Thread: "p", Run: run, Agents: []string{"a", "b", "c", "d", "e", "f"}}, "", "parent: 6 agents, at most 5 are allowed"},
		{"an agent without a name", mailbox.Parent{Thread: "p", Run: run, Agents: []string{"a", ""}}, "", "parent: agent is empty"},
		{"less than no tokens", mailbox.Parent{Thread: "p", Run: run, MaxTokens: -1}, "", "parent: -1 tokens until 0, want 0 (no limit) or more"},
		{"less than no time", mailbox.Parent{Thread: "p", Run: run, Deadline: -1}, "", "parent: 0 tokens until -1, want 0 (no limit) or more"},
		{"another mode", mailbox.Parent{Thread: "p", Run: run}, mailbox.ModeSteer, `parent: mode "steer", a child run can only be queued`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := input("one", tt.mode)
			s.Opening.Parent = &tt.parent
			err := s.Check()
			if tt.want == "" && err != nil || tt.want != "" && (core.CodeOf(err) != core.CodeInvalid || err.Error() != tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

// A child waits for its turn, also behind a run that waits for a person, whose reply it
// is not.
func TestChildIsQueuedBehindARunThatWaits(t *testing.T) {
	w, _ := waiting(t, asks(0))
	s := input("two", "")
	s.Opening.Parent = &mailbox.Parent{Thread: "p", Run: core.ID{1}}
	receipt := w.submit(t, s)
	head, err := w.Head(t.Context(), key)
	if err != nil || len(head.Pending) != 1 || head.Pending[0].Run != receipt.RunID || head.Run.Status != thread.Waiting {
		t.Errorf("head %+v, %v", head, err)
	}
}
