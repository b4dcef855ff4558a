package run_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// Two results were put by a claim that was lost, and the hooks of one of them had run what a
// sibling's tool had scheduled for them: when those of the other are asked again, before it,
// they leave that to it.
func TestWhatWaitsForAPhaseStaysACallsWhoseResultCameLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // BeforeToolExecute runs side by side
		var ran, asked, last []string
		died := false
		act := plugin.Action[string]{Phase: core.PhaseBeforeToolExecute, Name: "act"}
		s := &siblings{}
		s.world = newWorld(t, options{
			mode: agent.ParallelStreaming, model: replies(calls("work", "{}", "work", "{}", "work", "{}"), text("ok")),
			tools: []tool.Tool{toolFunc{name: "work", run: func(ctx context.Context, c tool.Call) (tool.Result, error) {
				result := tool.NewResult("ok")
				switch c.Index {
				case 0:
					time.Sleep(time.Second)
				case 1:
					<-ctx.Done()
				case 2:
					result.Command = act.Schedule("a")
				}
				return result, ctx.Err()
			}}},
			plugins: []plugin.Plugin{pluginFunc{"acts", func(r *plugin.Registrar) {
				r.Key(seenBy)
				act.Handle(r, func(_ context.Context, c plugin.HandlerContext, name string) (state.Command, error) {
					mu.Lock()
					defer mu.Unlock()
					ran = append(ran, fmt.Sprint(name, " at call ", c.CallIndex))
					return state.Command{}, nil
				})
				r.OnBeforeTool(func(_ context.Context, c plugin.BeforeTool) (state.Command, error) {
					list, err := seenBy.Read(c.Snapshot)
					mu.Lock()
					defer mu.Unlock()
					if died {
						asked = append(asked, fmt.Sprintf("call %d %s", c.CallIndex, c.Call.Name))
					}
					return seenBy.Update(append(slices.Clip(list), fmt.Sprint("hook", c.CallIndex))), err
				})
				r.OnStepEnd(func(_ context.Context, c plugin.StepEnd) (_ state.Command, err error) {
					if c.Step == 1 {
						last, err = seenBy.Read(c.Snapshot)
					}
					return state.Command{}, err
				})
			}}},
		})
		s.submit(t, key, "hi", mailbox.ModeQueue)
		time.AfterFunc(3*time.Second, func() { s.store.dead.Store(true) })
		_, _ = s.cut(t, 4*time.Second, false)
		s.store.dead.Store(false)
		s.reclaim(t)
		head := s.take(t, key)
		first := s.entry(t, head.Run.Base) // whose hooks have taken the action that call 2 has scheduled
		s.putResult(t, 1, first, func(e *thread.Entry) { e.Place, e.Attempt = 4, e.Attempt-1 })
		s.putResult(t, 0, first, func(e *thread.Entry) {
			command := seenBy.Update([]string{"hook0"})
			e.Hooks, e.Place, e.Attempt = &command, 5, e.Attempt-1
		})
		s.reclaim(t)
		ran, died = nil, true
		s.finish(t, key, nil)
		got := [][]string{ran, asked, last, s.results(t)}
		want := [][]string{{"a at call 1"}, {"call 0 work", "call 1 work"}, {"hook2", "hook0", "hook1"}, {`ok: "ok"`, `ok: "ok"`, `ok: "ok"`}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("actions, hooks that were asked, the list, and results (-want +got):\n%s", diff)
		}
	})
}

// Where places are fixed, results that were found at none are tried in the order of their
// calls, behind those that stand in the line, as elsewhere.
func TestFoundResultsWithoutAPlaceAreGivenTheirFixedOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaced(t, []int{9, 9, 9, 1}, []string{"a", "b", "c", "d"})
		_, _ = p.cut(t, 3*time.Second, false)
		p.leave(t, left{call: 0, adds: "a"}, left{call: 1, adds: "b"}, left{call: 2, adds: "c"})
		p.puts = nil
		p.under(t, 2, 3, 4, 1)
		p.finish(t, key, nil)
		time.Sleep(20 * time.Second) // until the tools of the first claim have ended
		var places []string
		for i := range 4 {
			places = append(places, fmt.Sprint(p.entry(t, uint64(3+i)).Place))
		}
		if diff := cmp.Diff([]string{"2", "3", "4", "1", "dabc"}, append(places, p.left)); diff != "" {
			t.Errorf("places and the key (-want +got):\n%s\n%s", diff, &p.log)
		}
	})
}

// A tool that changes nothing may say all the same for which state its result is: siblings
// that change the state meanwhile are not in its way.
func TestAResultThatChangesNothingAppliesBehindAnyChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPair(t)
		s.tool = func(c tool.Call) tool.Result {
			result := tool.NewResult("ok").With(s.effect.Emit(fmt.Sprint("tool", c.Index)))
			if c.Index == 1 {
				return result.With(s.list.Update("tool1"))
			}
			result.Command.Batch = result.Command.Batch.On(c.Snapshot)
			return result
		}
		s.comesTo(t, []string{`ok: "ok"`, `ok: "ok"`}, "[tool1]", []string{"tool0", "tool1"})
		if first, second := s.entry(t, 3), s.entry(t, 4); first.Place != 0 || second.Place != 1 {
			t.Errorf("the results stand at %d and %d, want 0 and 1", first.Place, second.Place)
		}
	})
}

// What a decision that cancels a call leaves to be remembered may not apply behind what a
// sibling has changed: the call stays cancelled, and no gate is asked again.
func TestWhatIsRememberedOfACancelledCallMayNotApply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		asked, left, refused := 0, "", ""
		w := newWorld(t, options{
			mode: agent.ParallelStreaming, model: replies(calls("other", "{}", "take", "{}", "sleeps", `"9s"`), text("ok")), logger: slog.New(slog.NewTextHandler(&log, nil)),
			tools: []tool.Tool{sleeps, toolFunc{name: "take"}, toolFunc{name: "other", run: func(context.Context, tool.Call) (tool.Result, error) {
				return tool.NewResult("other").With(sole.Update("other")), nil
			}}},
			plugins: []plugin.Plugin{pluginFunc{"guard", func(r *plugin.Registrar) {
				r.Key(sole)
				r.Gate(func(_ context.Context, c plugin.GateCall) (v plugin.Verdict, err error) {
					if c.CallIndex == 1 {
						asked++
						v = plugin.Suspend(core.TicketRequest{Mode: core.ResumeAsResult})
					}
					return v, nil
				})
				r.OnRefusal(func(_ context.Context, c plugin.GateCall) (state.Command, error) {
					refused = fmt.Sprint(c.CallIndex, " ", c.Call.Name)
					return sole.Update("refused"), nil
				})
				r.OnStepEnd(func(_ context.Context, c plugin.StepEnd) (_ state.Command, err error) {
					left, err = sole.Read(c.Snapshot)
					return state.Command{}, err
				})
			}}},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		time.AfterFunc(time.Second, func() { // a sibling's result has come, and another runs
			w.mustDecide(t, 1, core.Decision{ID: "about-ask", Action: core.DecisionCancel, Reason: "too late", Remember: core.RememberRun, RememberAs: core.RememberRule})
		})
		w.finish(t, key, nil)
		want := []string{`ok: "other"`, "cancelled: cancelled: too late after about-ask", `ok: "slept"`, "other", "1 take"}
		if diff := cmp.Diff(want, append(w.results(t), left, refused)); diff != "" || asked != 1 {
			t.Errorf("after %d questions, results, the key, and the call that was refused (-want +got):\n%s", asked, diff)
		}
		if n := strings.Count(log.String(), "change of a call conflicts with its siblings"); n != 1 {
			t.Errorf("%d complaints, want one:\n%s", n, &log)
		}
	})
}
