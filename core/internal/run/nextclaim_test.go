package run_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// The record of a run that has ended and has said nothing tells the next claim how, where the
// process has died that was to make the end final.
func TestTheNextClaimKnowsHowARunEndedThatHasSaidNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ends []string
		fails := true
		o := options{plugins: []plugin.Plugin{pluginFunc{"fails", func(r *plugin.Registrar) {
			r.OnRunStart(func(context.Context, plugin.RunStart) (state.Command, error) {
				if fails {
					return state.Command{}, errors.New("not today")
				}
				return state.Command{}, nil
			})
			r.OnRunEnd(func(_ context.Context, c plugin.RunEnd) (state.Command, error) {
				ends = append(ends, c.Termination.Code)
				return state.Command{}, nil
			})
		}}}}
		w := newWorld(t, o)
		failed := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		receipt, err := w.box.TakeUp(t.Context(), key, "", failed.RunID)
		if err != nil {
			t.Fatal(err)
		}
		head := w.take(t, key)
		w.befall(2, mishap{dies: true})
		if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil); !errors.Is(err, errDead) {
			t.Fatalf("the step that dies: %v", err)
		}
		if got := w.head(t, key).Run; got.Status != thread.Closing || got.Cursor != thread.CursorStart {
			t.Fatalf("the run is %v at %v, want it closing at its start", got.Status, got.Cursor)
		}
		fails = false
		w.revive(t, o)
		w.finish(t, key, nil)
		want := `done 0 {"type":"error","code":"plugin","detail":"phase run_start: plugin \"fails\" failed"} ""`
		if got := w.end(t, key, receipt); got != want {
			t.Errorf("the run is %s\nwant %s", got, want)
		}
		if diff := cmp.Diff([]string{"plugin", "plugin", "plugin"}, ends); diff != "" { // of the run before, and twice of this one
			t.Errorf("RunEnd is shown (-want +got):\n%s", diff)
		}
	})
}

// What a finished call has asked for is left undone where nobody knows the run's agent any
// more: its result stands all the same.
func TestEffectsOfACallWhoseAgentIsGoneAreLeftUndone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		o := options{
			tools: []tool.Tool{tells, nap}, model: replies(calls("tells", "1", "nap", "2"), text("ok")), leaveFor: -1,
			plugins: []plugin.Plugin{pluginFunc{"p", func(r *plugin.Registrar) {
				plugin.Effect[string]{Name: "tell"}.Handle(r, func(context.Context, plugin.HandlerContext, string) error {
					ran++
					return nil
				})
			}}},
		}
		w := newWorld(t, o)
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		time.AfterFunc(3*time.Second, func() { w.store.dead.Store(true) })
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		if _, err := w.stepper.Step(ctx, run.Work{Key: key, Head: w.take(t, key)}, nil); err == nil {
			t.Fatal("the process did not die")
		}
		w.store.dead.Store(false)
		w.reclaim(t)
		if _, err := w.box.Cancel(t.Context(), key, receipt.RunID); err != nil {
			t.Fatal(err)
		}
		gone := o
		gone.agents = newRegistry(t, o.complete(t), "another")
		w.stepper = w.other(t, gone)
		w.finish(t, key, nil)
		want := []string{"user: hi", "assistant: [tells 1][nap 2]", `tool: "told"`, "tool: outcome unknown: the run was ended while the tool may have run"}
		if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		if got, want := w.end(t, key, receipt), `done 1 {"type":"cancelled"} ""`; got != want || ran != 0 {
			t.Errorf("the run is %s, and %d effects ran; want %s, and none", got, ran, want)
		}
	})
}
