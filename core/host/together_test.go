package host_test

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
)

func TestRunsOfManyCallersDoNotMix(t *testing.T) {
	r := newSolo(t, soloParts())
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for j := range 4 {
				word := fmt.Sprintf("w%d-%d", i, j)
				result, err := r.Run(t.Context(), "demo", "echo: "+word)
				if err != nil || result.Text != "Echo: "+word || len(result.Messages) != 4 {
					t.Errorf("%s: %q, %d messages, %v", word, result.Text, len(result.Messages), err)
				}
			}
		})
	}
	group.Wait()
}

// TestInputOnABusyThreadDoesWhatItsModeSays: the first run says 10 words in a second;
// the other input comes after a third of it.
func TestInputOnABusyThreadDoesWhatItsModeSays(t *testing.T) {
	tests := []struct {
		mode          mailbox.Mode
		first, second string
	}{
		{mailbox.ModeQueue, "w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 / natural_end <nil>", "You said: hello / natural_end <nil>"},
		{mailbox.ModeInterrupt, "w1 w2 w3 / superseded <nil>", "You said: hello / natural_end <nil>"},
		{mailbox.ModeSteer, "You said: hello / natural_end <nil>", "You said: hello / natural_end <nil>"}, // one run
		{mailbox.ModeReject, "w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 / natural_end <nil>", ` /  run agent "demo": thread t1: another run is open or queued`},
	}
	say := func(result host.Result, err error) string {
		return fmt.Sprint(result.Text, " / ", result.Termination.Type, " ", err)
	}
	for _, test := range tests {
		t.Run(string(test.mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newSolo(t, soloParts())
				var first string
				done := make(chan struct{})
				go func() {
					defer close(done)
					first = say(r.Play(t.Context(), submission("t1", "slow: 10"), nil, nil))
				}()
				time.Sleep(320 * time.Millisecond)
				s := submission("t1", "hello")
				s.Mode = test.mode
				second := say(r.Play(t.Context(), s, nil, nil))
				<-done
				if first != test.first || second != test.second {
					t.Errorf("first %q, want %q;\nsecond %q, want %q", first, test.first, second, test.second)
				}
			})
		})
	}
}

// TestADecisionIsWorkedOffByWhoFollows: nobody waited when it came.
func TestADecisionIsWorkedOffByWhoFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newSolo(t, soloParts())
		waiting, err := r.Run(t.Context(), "demo", "approve: it")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Decide(t.Context(), local, waiting.Run.ID, host.Approve(waiting.Tickets[0])); err != nil {
			t.Fatal(err)
		}
		var said string
		err = r.Follow(t.Context(), local, waiting.Run.ID, host.ListenerFunc(func(e core.Event) error {
			said = e.Response
			return nil
		}))
		if err != nil || said != "Done: it" {
			t.Errorf("%q, %v", said, err)
		}
	})
}

// TestAWaitForSeveralTicketsGoesOnWithEach: the tools run one behind the other, each
// when it was decided about.
func TestAWaitForSeveralTicketsGoesOnWithEach(t *testing.T) {
	parts := soloParts()
	parts.Specs[0].ExecutionMode = agent.ParallelStreaming
	parts.Models["m"] = binding(twoCalls{parts.Models["m"].Model})
	r := newSolo(t, parts)
	result, err := r.Run(t.Context(), "demo", "both")
	var open []int
	for err == nil && len(result.Tickets) > 0 {
		open = append(open, len(result.Tickets))
		result, err = r.Resume(t.Context(), result, host.Approve(result.Tickets[0]))
	}
	if err != nil || fmt.Sprint(open) != "[2 1]" || result.Termination.Type != core.TerminationNatural {
		t.Errorf("tickets %v, %+v, %v", open, result.Termination, err)
	}
}

func TestStateIsReadFromTheStoreToo(t *testing.T) {
	parts := soloParts()
	w := newWorld(t, func(c *host.Options) {
		c.CacheSize, c.Agents, c.Logger = 1, parts, quiet // nothing fits
	})
	for want := 1; want <= 3; want++ {
		result, err := w.Play(context.Background(), submission("t1", "hello"), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := soloVisits.Read(result.State); n != want || err != nil {
			t.Errorf("%d visits, %v, want %d", n, err, want)
		}
	}
}

// twoCalls calls danger twice in a first turn, and then says what its model says.
type twoCalls struct{ model.Model }

func (m twoCalls) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	if last := r.Messages[len(r.Messages)-1]; last.Role != core.RoleUser {
		return m.Model.Stream(ctx, r)
	}
	return func(yield func(model.Delta, error) bool) {
		for i, text := range []string{"one", "two"} {
			if !yield(model.Delta{Type: model.DeltaToolStart, Index: i, Name: "danger"}, nil) ||
				!yield(model.Delta{Type: model.DeltaToolArgument, Index: i, Text: `{"text":"` + text + `"}`}, nil) {
				return
			}
		}
		yield(model.Delta{Type: model.DeltaStop, Stop: core.StopToolUse}, nil)
	}
}
