package hosttest

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

// One step reads a client's decisions together with its input: nothing wakes the run
// between the two. The same request again, which finds the calls decided, is the same
// submission.
func (o Options) answeredInput(t *testing.T) {
	s := newStage(t, o, false, "a", "b")
	s.wait([]int{0}, 1)
	input := mailbox.Submission{
		Thread: theThread, User: ann.User, Opening: mailbox.Opening{AgentID: "demo"}, Key: mailbox.Key{Value: "k2"},
		Messages: []core.Message{{ID: "m2", Role: core.RoleUser, Content: []core.Block{{Type: core.BlockText, Text: "and this"}}}},
	}
	got := events{seen: make(chan string, 100)}
	s.drainHints()
	ctx, wait := s.beside(func(ctx context.Context) error {
		receipt, err := s.program.StreamAnswered(ctx, ann, resume(1), input, host.ListenerFunc(got.sink))
		if err == nil && receipt.RunID != s.receipt.RunID {
			t.Errorf("the input is for run %s, want %s", receipt.RunID, s.receipt.RunID)
		}
		return err
	})
	for line := range got.seen {
		if line == "run_start" {
			break
		}
	}
	messages := s.queue.Messages() // that of the input: the decision has none
	if diff := cmp.Diff("t1 0s", s.drainHints()); diff != "" {
		t.Fatalf("hints (-want +got):\n%s", diff)
	}
	for hint := messages[0].Hint; ; { // a step each
		if err := s.program.WorkLocal(ctx, hint); err != nil {
			t.Fatal(err)
		}
		next := s.queue.Messages()
		if len(next) == 0 {
			break
		}
		hint = next[0].Hint
		s.queue.Clear()
	}
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, m := range s.page(0, 100).Messages {
		said = append(said, string(m.Role)+" "+m.Text())
	}
	want := []string{"user parallel: a, b", "assistant ", `tool {"text":"a"}`, `tool {"text":"b"}`, "user and this", "assistant You said: and this"}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("messages (-want +got):\n%s\nevents %q", diff, got.lines)
	}
	again, err := s.program.Submit(t.Context(), input)
	if err != nil || again.RunID != s.receipt.RunID {
		t.Errorf("again: %+v, %v", again, err)
	}

	refused := newStage(t, o, false, "a", "b")
	refused.wait([]int{0}, 1)
	input.Opening.AgentID = "none"
	if _, err := refused.program.StreamAnswered(t.Context(), ann, resume(1), input, host.ListenerFunc(got.sink)); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("an agent that does not exist: %v", err)
	}
	run, err := refused.program.ReadRun(t.Context(), ann, refused.receipt.RunID)
	if err != nil || len(run.Tickets) != 1 || run.Tickets[0].Decision != nil {
		t.Errorf("a refused request has decided: %+v, %v", run.Tickets, err)
	}
}
