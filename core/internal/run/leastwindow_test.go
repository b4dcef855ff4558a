package run_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
)

// A process that allows a conversation of one token shows its models the newest messages, as
// many as the agent keeps at least; one that says nothing leaves it to the model.
func TestTheLeastWindowOfAProcess(t *testing.T) {
	for most, want := range map[int][]int{0: {1, 3, 5, 7}, 1: {1, 1, 1, 1}} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &counting{perByte: 300, say: func(int, model.Request) []model.Delta { return text("ok") }}
				policy := &agent.ContextWindowPolicy{MinRecentMessages: new(1)}
				w := newWorld(t, options{window: most, agents: bound(t, m, 100_000, agent.Spec{Context: policy}, nil)})
				for range want {
					w.submit(t, key, "hi", mailbox.ModeQueue)
					w.finish(t, key, nil)
				}
				var shown []int
				for _, r := range m.requests {
					shown = append(shown, len(r.Messages))
				}
				if diff := cmp.Diff(want, shown); diff != "" {
					t.Errorf("messages of each request (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A record that takes back what has changed no state leads to no other revision of it.
func TestWhatIsTakenBackWithoutAStateChangesNoRevision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		w.submit(t, key, "one", mailbox.ModeQueue)
		w.finish(t, key, nil)
		sent := requesting("other", 0)
		sent.Opening.Supersede = 1
		if _, err := w.box.Submit(t.Context(), sent); err != nil {
			t.Fatal(err)
		}
		w.finish(t, key, nil)
		if e := w.entry(t, 3); e.Revision != 0 || e.Patch != nil || *e.Superseded != (thread.Range{From: 1, To: 2}) {
			t.Errorf("the record is %+v", e)
		}
	})
}
