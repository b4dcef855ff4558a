package host_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
)

// reader is a listener that waits until it is let go on.
type reader struct {
	events
	slow chan struct{}
}

func (r *reader) Emit(e core.Event) error { return r.sink(e) }

func (r *reader) Ready(ctx context.Context) error {
	select {
	case <-r.slow:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Who only shows what is stored goes no further than its reader; a run never waits.
func TestOnlyAReplayWaitsForItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store)
		live := &reader{slow: make(chan struct{})}
		receipt, err := process.Stream(t.Context(), submission("t1", "parallel: a, b"), live)
		if err != nil {
			t.Fatal(err)
		}
		if last := live.lines[len(live.lines)-1]; last != `run_finish {"type":"natural_end"}` {
			t.Errorf("the inline stream ends with %s", last)
		}
		replay := &reader{slow: make(chan struct{})}
		done := make(chan error)
		go func() { done <- process.Follow(t.Context(), local, receipt.RunID, replay) }()
		for range 3 { // the question, which no reader is shown, the turn and the first result
			synctest.Wait()
			replay.slow <- struct{}{}
		}
		synctest.Wait()
		if diff := cmp.Diff(replayed[:10], replay.lines); diff != "" {
			t.Errorf("while the reader is slow (-want +got):\n%s", diff)
		}
		close(replay.slow)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(replayed, replay.lines); diff != "" {
			t.Error(diff)
		}
	})
}

// A run that decisions let go on does not wait for the reader of what came before.
func TestARunThatIsDecidedDoesNotWaitForItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store, parallel, func(c *host.Options) {
			c.Agents.Plugins, c.Agents.Specs[0].Plugins = []plugin.Plugin{asking{}}, []string{"asking"}
		})
		s := submission("t1", "parallel: b, b")
		receipt, err := process.Stream(t.Context(), s, host.ListenerFunc(func(core.Event) error { return nil }))
		if err != nil {
			t.Fatal(err)
		}
		waiting, err := process.ReadRun(t.Context(), local, receipt.RunID)
		if err != nil || len(waiting.Tickets) != 2 {
			t.Fatalf("%d tickets, %v", len(waiting.Tickets), err)
		}
		var decisions []mailbox.Deciding
		for _, ticket := range waiting.Tickets {
			decisions = append(decisions, mailbox.Deciding{Target: ticket.Suspension.ID, Decision: core.Decision{Action: core.DecisionResume}})
		}
		if _, err := process.Decide(t.Context(), local, receipt.RunID, decisions[0]); err != nil {
			t.Fatal(err)
		}
		r.settle(process, s.Thread) // the first call runs, and the second waits on
		began, slow := time.Now(), &reader{slow: make(chan struct{})}
		if _, err := process.StreamDecisions(t.Context(), local, "t1", decisions, slow); err != nil {
			t.Fatal(err)
		}
		if last := slow.lines[len(slow.lines)-1]; last != `run_finish {"type":"natural_end"}` || time.Since(began) > time.Second {
			t.Errorf("the stream ended after %s with %s, want the run's end at once", time.Since(began), last)
		}
	})
}

// A listener that failed, while it took an event or while it was waited for, is
// not called again, and nobody else is told.
func TestAListenerThatFailsIsGone(t *testing.T) {
	broken := errors.New("broken pipe")
	tests := []struct {
		name     string
		listener func(calls *int) host.Listener
	}{
		{"while it took an event", func(calls *int) host.Listener {
			return host.ListenerFunc(func(core.Event) error { *calls++; return broken })
		}},
		{"while it was waited for", func(calls *int) host.Listener { return unready{calls, func() error { return broken }} }},
		{"by a panic", func(calls *int) host.Listener { return unready{calls, func() error { panic("boom") }} }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				process := r.process("w", r.store)
				receipt, err := process.Submit(t.Context(), submission("t1", "parallel: a, b"))
				if err != nil {
					t.Fatal(err)
				}
				r.settle(process, core.ThreadKey{Tenant: "local", Thread: "t1"})
				calls := 0
				if err := process.Follow(t.Context(), local, receipt.RunID, tt.listener(&calls)); err != nil || calls != 1 {
					t.Errorf("Follow returns %v after %d calls, want none after 1", err, calls)
				}
			})
		})
	}
}

// unready is a listener that cannot be waited for.
type unready struct {
	calls *int
	ready func() error
}

func (u unready) Emit(core.Event) error       { *u.calls++; return nil }
func (u unready) Ready(context.Context) error { return u.ready() }
