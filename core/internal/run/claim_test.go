package run_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// takeOver gives the run to another claim, as after a lost lease.
func (w *world) takeOver(t *testing.T) thread.Head {
	t.Helper()
	w.reclaim(t)
	return w.take(t, key)
}

// A claim that was lost is fenced at its first write, and nothing of it is seen.
func TestLostClaimStopsTheStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		w.submit(t, key, "echo: a", mailbox.ModeQueue)
		head := w.take(t, key)
		now := w.takeOver(t)
		if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil); !errors.Is(err, thread.ErrFenced) {
			t.Errorf("the step returns %v, want ErrFenced", err)
		}
		if h := w.head(t, key); h.Version != now.Version {
			t.Errorf("the head went from version %d to %d", now.Version, h.Version)
		}
	})
}

// The watch sees within 2 s that the claim was lost, whatever the step waits
// for, and gives a tool 2 s more. Its late result is not put.
func TestLostClaimIsSeenWhileTheStepWaits(t *testing.T) {
	stubborn := toolFunc{name: "stubborn", run: func(context.Context, tool.Call) (tool.Result, error) {
		time.Sleep(7 * time.Second)
		return tool.NewResult("late"), nil
	}}
	tests := []struct {
		name    string
		options options
		text    string
		took    time.Duration
	}{
		{"for the model", options{}, "slow: 600", 4 * time.Second},
		{"for a tool that listens", options{model: replies(calls("nap", "{}", "nap", "{}")), tools: []tool.Tool{nap}}, "hi", 4 * time.Second},
		{"for a tool that does not", options{model: replies(calls("stubborn", "{}", "echo", `{"text":"a"}`)), tools: []tool.Tool{stubborn}}, "hi", 6 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, tt.options)
				w.submit(t, key, tt.text, mailbox.ModeQueue)
				head := w.take(t, key)
				time.AfterFunc(3*time.Second, func() { w.takeOver(t) })
				began := time.Now()
				_, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
				if took := time.Since(began); !errors.Is(err, thread.ErrFenced) || took != tt.took {
					t.Errorf("the step returns %v after %s, want ErrFenced after %s", err, took, tt.took)
				}
				time.Sleep(2 * time.Second) // the tool comes to its end
				if _, ok, err := w.store.Backend.Get(t.Context(), key, store.LogName(3)); ok || err != nil {
					t.Errorf("a result of the lost claim was put: %v, %v", ok, err)
				}
			})
		})
	}
}

// A host that stops before it has looked whether its claim still stands gives it back, and
// takes no fence for work that it will not do.
func TestAHostThatStopsTakesNoFence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		w.submit(t, key, "echo: a", mailbox.ModeQueue)
		head := w.take(t, key)
		time.Sleep(time.Minute) // the lease is over
		stopped, stop := context.WithCancel(t.Context())
		stop()
		stepped, err := w.stepper.Step(stopped, run.Work{Key: key, Head: head}, nil)
		if err != nil || !stepped.Retry || stepped.Head.Fence != 1 || stepped.Head.Version != head.Version+1 {
			t.Errorf("the step is %+v, %v; want one write, under fence 1, that gives the claim back", stepped, err)
		}
	})
}

// Whoever lost the claim of a closing run runs no RunEnd for it.
func TestLostClaimClosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen closed
		w := newWorld(t, options{plugins: []plugin.Plugin{seen.plugin()}})
		receipt := w.submit(t, key, "echo: a", mailbox.ModeQueue)
		w.step(t, key)
		if _, err := w.box.Cancel(t.Context(), key, receipt.RunID); err != nil {
			t.Fatal(err)
		}
		head := w.take(t, key)
		w.takeOver(t)
		if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil); !errors.Is(err, thread.ErrFenced) {
			t.Errorf("the step returns %v, want ErrFenced", err)
		}
		if len(seen.saw) != 0 {
			t.Errorf("RunEnd saw %q under a lost claim", seen.saw)
		}
	})
}

// Who steps in a loop keeps the claim: one fence, and no hint before the end.
func TestKeepHoldsTheClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		w.submit(t, key, "echo: a", mailbox.ModeQueue)
		head := w.take(t, key)
		w.queue.Clear()
		time.Sleep(time.Second)
		var outcomes []string
		for {
			stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head, Keep: true}, nil)
			if err != nil {
				t.Fatal(err)
			}
			outcomes = append(outcomes, stepped.Outcome.String())
			if lease := time.Now().Add(30 * time.Second).UnixMilli(); stepped.Outcome == thread.Continue && stepped.Head.Claim.Lease != lease {
				t.Errorf("the claim is leased until %d, want %d", stepped.Head.Claim.Lease, lease)
			}
			if head = stepped.Head; stepped.Outcome != thread.Continue {
				break
			}
		}
		if diff := cmp.Diff([]string{"continue", "done"}, outcomes); diff != "" {
			t.Error(diff)
		}
		if head.Fence != 1 || len(w.queue.Messages()) != 0 {
			t.Errorf("fence %d and hints %q, want 1 and none", head.Fence, w.queue.Lines())
		}
	})
}

// Steps that are kept return what a step alone does when the program may not
// claim the run any more: it yields, uncounted.
func TestKeepYieldsToANewerProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		w.submit(t, key, "echo: a", mailbox.ModeQueue)
		head := w.take(t, key)
		newer, err := mailbox.New(mailbox.Options{
			Env: env.System(), Store: w.store, Waker: w.queue, Logger: quiet,
			Records: thread.Records{Schemas: thread.Schemas{Reads: 3, Writes: 3}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := newer.Submit(t.Context(), mailbox.Submission{Thread: key, Opening: mailbox.Opening{AgentID: "demo"}, Messages: []core.Message{core.UserMessage("next")}}); err != nil {
			t.Fatal(err)
		}
		stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head, Keep: true}, nil)
		if err != nil || stepped.Outcome != thread.Yield || stepped.Head.Run.Attempts != 0 {
			t.Errorf("the step is %s with %d attempts, %v; want yield with none", stepped.Outcome, stepped.Head.Run.Attempts, err)
		}
	})
}
