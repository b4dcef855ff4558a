package run_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// While a result cannot be stored none is that stands behind it: what was tried on its
// change may not apply without it, and nobody is told of a result that may become another.
func TestNoResultIsStoredBeforeOneThatStandsBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		joined := state.Key[string, string]{Name: "joined", Scope: state.ScopeRun, Apply: func(had, set string) string {
			if had+set == "ac" {
				panic("c applies behind b, or alone")
			}
			return had + set
		}}
		lasts := []time.Duration{2 * time.Second, time.Second, 3 * time.Second}
		w := newWorld(t, options{
			mode: agent.ParallelStreaming, model: replies(calls("set", "{}", "set", "{}", "set", "{}"), text("ok")),
			tools: []tool.Tool{toolFunc{name: "set", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
				time.Sleep(lasts[c.Index])
				result := tool.NewResult("set")
				result.Command = joined.Update(string("abc"[c.Index]))
				return result, nil
			}}},
			plugins: []plugin.Plugin{pluginFunc{"joins", func(r *plugin.Registrar) { r.Key(joined) }}},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		var told []string
		sink := func(e core.Event) error {
			if e.Type == core.EventToolCallDone {
				told = append(told, string(e.Status))
			}
			return nil
		}
		second := store.LogName(4) // behind the input, the turn and the first result
		w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			if r.Name == second {
				return store.ErrThrottled
			}
			return w.store.Backend.Put(ctx, key, r)
		}
		_, _ = w.stepper.Step(t.Context(), run.Work{Key: key, Head: w.take(t, key)}, sink)
		if len(told) > 0 {
			t.Errorf("told of %q while the first of the line is not stored", told)
		}
		w.store.OnPut = nil
		w.finish(t, key, sink)
		if diff := cmp.Diff([]string{`ok: "set"`, `ok: "set"`, `ok: "set"`}, w.results(t)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	})
}

// A call whose hooks could not be asked again, since the time was over, is not called done:
// its result is stored, and the next claim asks them on what siblings changed.
func TestHooksThatCouldNotBeAskedAgainAreAskedByTheNextClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last []string
		asked, ran := [2]int{}, [2]int{}
		w := newWorld(t, options{
			mode: agent.ParallelStreaming, model: replies(calls("set", "{}", "set", "{}"), text("ok")),
			tools: []tool.Tool{toolFunc{name: "set", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
				ran[c.Index]++
				time.Sleep(time.Duration(2-c.Index) * time.Second)
				return tool.NewResult("set"), nil
			}}},
			plugins: []plugin.Plugin{pluginFunc{"hooks", func(r *plugin.Registrar) {
				r.Key(seenBy)
				r.OnBeforeTool(func(ctx context.Context, c plugin.BeforeTool) (state.Command, error) {
					if asked[c.CallIndex]++; c.CallIndex == 0 && asked[0] == 2 {
						<-ctx.Done()
						return state.Command{}, ctx.Err()
					}
					list, err := seenBy.Read(c.Snapshot)
					return seenBy.Update(append(list[:len(list):len(list)], fmt.Sprint("hook", c.CallIndex))), err
				})
				r.OnStepEnd(func(_ context.Context, c plugin.StepEnd) (_ state.Command, err error) {
					if c.Step == 1 {
						last, err = seenBy.Read(c.Snapshot)
					}
					return state.Command{}, err
				})
			}}},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		_, _ = w.cut(t, 20*time.Second, false)
		head := w.head(t, key)
		if e := w.entry(t, head.Run.Base); e.Place != 0 || head.Run.Calls[0] == thread.CallDone {
			t.Errorf("the first call is %s with its result at place %d, want it open, and at none", head.Run.Calls[0], e.Place)
		}
		w.finish(t, key, nil)
		if diff := cmp.Diff([]string{"hook1", "hook0"}, last); diff != "" {
			t.Errorf("the list (-want +got):\n%s", diff)
		}
		if asked != [2]int{3, 1} || ran != [2]int{1, 1} {
			t.Errorf("the hooks were asked %v times and the tools ran %v times, want 3 and 1, once each", asked, ran)
		}
	})
}

// The put of a claim that was lost may come when the round has waited under another one.
// Its place says nothing then, also where nothing else stands in the line: what was for
// the state before the wait is not applied to what came of it.
func TestALateResultIsTriedAgainBehindAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaitingRound(t, setsList)
		_, _ = w.cut(t, 10*time.Second, false)
		lost := w.head(t, key).Fence
		w.asks = true
		w.step(t, key)
		head := w.head(t, key)
		if got := w.stands(t); got != "waiting [suspended done]" {
			t.Fatalf("the round is %s", got)
		}
		base, command := uint64(0), seenBy.Update([]string{"late"})
		command.Batch.Base = &base
		w.putResult(t, 0, w.entry(t, head.Run.Base+1), func(e *thread.Entry) {
			e.Place, e.Attempt, e.Intents = 1, lost, &command
		})
		w.mustDecide(t, 0, approve)
		w.finish(t, key, nil)
		want := []string{"error: execution failed: the batch is for revision 0, the state is at revision 1", `ok: "other"`}
		if diff := cmp.Diff(want, w.results(t)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"after1"}, w.last); diff != "" {
			t.Errorf("the list (-want +got):\n%s", diff)
		}
	})
}
