package run_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// A commit whose records were stored, and whose head was not, leaves a record behind the
// results of its round: whoever takes the round over does not look there.
func TestWhatLiesBehindTheResultsOfARoundIsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		o := options{
			model: replies(calls("count", "{}"), text("ok")), tools: []tool.Tool{counted("count", false, &ran)},
			plugins: []plugin.Plugin{pluginFunc{"notes", func(r *plugin.Registrar) {
				r.Key(seenBy)
				r.OnStepEnd(func(context.Context, plugin.StepEnd) (state.Command, error) {
					return seenBy.Update([]string{"step"}), nil
				})
			}}},
		}
		w := newWorld(t, o)
		w.submit(t, key, "hi", mailbox.ModeQueue)
		head, commits := w.take(t, key), 0
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if commits++; commits < commitB {
				return w.store.Backend.Commit(ctx, key, c)
			}
			w.store.dead.Store(true)
			return store.Outcome{}, errors.Join(w.store.partly(ctx, key, c), errDead)
		}
		if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil); !errors.Is(err, errDead) {
			t.Fatalf("the step ended with %v", err)
		}
		w.store.dead.Store(false)
		w.store.OnCommit = nil
		if e := w.entry(t, 4); e.Message != nil || len(e.Patch) == 0 {
			t.Fatalf("behind the result stands %+v, want what the step has changed", e)
		}
		w.reclaim(t)
		w.stepper = w.other(t, o)
		w.finish(t, key, nil)
		want := []string{"user: hi", "assistant: [count {}]", `tool: "count ran"`, "state", "assistant: ok"}
		if diff := cmp.Diff(want, w.log(t, key)); diff != "" || ran != 1 {
			t.Errorf("after %d runs of the tool, log (-want +got):\n%s", ran, diff)
		}
	})
}
