package run_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
	"github.com/reveille-run/reveille/core/tool"
)

// A round goes on from the newest head that was seen while its tool ran, so that its next
// write is not refused, and tried again, for one that is older.
func TestARoundWritesOnTheNewestHeadThatWasSeen(t *testing.T) {
	for _, mode := range []agent.ExecutionMode{agent.Sequential, agent.ParallelStreaming} {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var w *world
				behind := false
				var writes []uint64 // versions of heads that are written behind the tool
				w = newWorld(t, options{
					mode: mode, model: replies(calls("work", "{}"), text("ok")),
					tools: []tool.Tool{toolFunc{name: "work", run: func(context.Context, tool.Call) (tool.Result, error) {
						w.submit(t, key, "more", mailbox.ModeQueue)
						time.Sleep(5 * time.Second) // the watch looks every two
						behind = true
						return tool.NewResult("done"), nil
					}}},
				})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				head := w.take(t, key)
				w.store.Around = func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
					if op.Method == "Commit" && behind {
						writes = append(writes, op.Head.Version-head.Version)
					}
					return do(ctx)
				}
				if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil); err != nil {
					t.Fatal(err)
				}
				// The turn is the first behind the claim, the input the second.
				if diff := cmp.Diff([]uint64{3}, writes); diff != "" {
					t.Errorf("heads behind the tool (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A call that is decided while another one comes to its result runs in the same step.
func TestACallThatIsDecidedDuringAnotherOnesResultRunsInTheSameStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran []string
		w := newWorld(t, options{
			mode: agent.ParallelStreaming, model: replies(calls("work", "{}", "work", "{}"), text("ok")),
			tools: []tool.Tool{toolFunc{name: "work", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
				ran = append(ran, c.ID)
				return tool.NewResult("done"), nil
			}}},
			plugins: []plugin.Plugin{asking("work")},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		if got := w.step(t, key).Outcome; got != thread.Wait {
			t.Fatalf("the round comes to %v", got)
		}
		w.mustDecide(t, 1, deny)
		w.store.Around = func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
			if op.Method == "Put" && op.Name == store.LogName(4) {
				w.store.Around = nil
				w.mustDecide(t, 0, approve)
				w.stepper.Moved(key, w.head(t, key))
			}
			return do(ctx)
		}
		w.step(t, key)
		if len(ran) != 1 {
			t.Errorf("the decided call's tool has run %d times in the step", len(ran))
		}
		want := []string{`ok: "done" after about-gate0`, "denied: denied: not today after about-gate1"}
		if diff := cmp.Diff(want, w.results(t)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	})
}
