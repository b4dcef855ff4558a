package run_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// An action that a round finds waiting for BeforeToolExecute is the first call's. One that a
// call schedules while its siblings are on their way runs at the next that is asked on what
// that call has changed.
func TestWhoseTheActionsAreThatWaitForACall(t *testing.T) {
	const refused = "error: execution failed: its change of the state does not apply"
	tests := []struct {
		name      string
		mode      agent.ExecutionMode
		lasts     []int // seconds
		schedules int   // the call whose tool schedules another one
		once      []int // calls whose hooks set what one call alone may set
		sets      []int // calls whose hooks set what a sibling's setting collides with
		ran       []string
		list      []string
		results   []string
	}{
		{
			"one call after the other", agent.Sequential, []int{1, 1, 1}, 0, nil, []int{0, 1, 2},
			[]string{"first at call 0 of step 1", "late at call 1 of step 1"}, []string{"first", "late"}, []string{`ok: "done"`, `ok: "done"`, `ok: "done"`, `ok: "done"`},
		},
		{
			"one is asked again", agent.ParallelStreaming, []int{1, 9, 2}, 0, nil, []int{0, 2},
			[]string{"first at call 0 of step 1", "late at call 2 of step 1"}, []string{"first", "late"}, []string{`ok: "done"`, `ok: "done"`, `ok: "done"`, `ok: "done"`},
		},
		{
			"nobody is asked again", agent.ParallelStreaming, []int{1, 9, 2}, 0, nil, []int{0},
			[]string{"first at call 0 of step 1", "late at call 0 of step 2"}, []string{"first", "late"}, []string{`ok: "done"`, `ok: "done"`, `ok: "done"`, `ok: "done"`},
		},
		{
			"the first one is asked again", agent.ParallelStreaming, []int{9, 1, 2}, 9, nil, []int{0, 1},
			[]string{"first at call 0 of step 1", "first at call 0 of step 1"}, []string{"first"}, []string{`ok: "done"`, `ok: "done"`, `ok: "done"`, `ok: "done"`},
		},
		{
			"one is asked again before the first one has ended", agent.ParallelStreaming, []int{9, 1, 2}, 9, nil, []int{1, 2},
			[]string{"first at call 0 of step 1"}, []string{"first"}, []string{`ok: "done"`, `ok: "done"`, `ok: "done"`, `ok: "done"`},
		},
		{
			"what the first one's hooks change does not apply", agent.ParallelStreaming, []int{2, 1, 3}, 9, []int{0, 1}, []int{1, 2},
			[]string{"first at call 0 of step 1", "first at call 0 of step 2"}, []string{"first"}, []string{refused, `ok: "done"`, `ok: "done"`, `ok: "done"`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex // BeforeToolExecute runs side by side
				var ran, last []string
				act := plugin.Action[string]{Phase: "before_tool_execute", Name: "act"}
				list := state.List[string]("list", state.ScopeThread)
				once := state.Key[string, string]{Name: "once", Scope: state.ScopeRun, Commutative: true, Apply: sole.Apply}
				among := func(all []int, i int) bool {
					for _, n := range all {
						if n == i {
							return true
						}
					}
					return false
				}
				w := newWorld(t, options{
					mode: tt.mode, model: replies(calls("work", "{}", "work", "{}", "work", "{}"), calls("work", "{}"), text("ok")),
					tools: []tool.Tool{toolFunc{name: "work", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
						time.Sleep(time.Duration(tt.lasts[c.Index]) * time.Second)
						result := tool.NewResult("done")
						if c.Step == 1 && c.Index == tt.schedules {
							result.Command = act.Schedule("late")
						}
						return result, nil
					}}},
					plugins: []plugin.Plugin{pluginFunc{"acts", func(r *plugin.Registrar) {
						r.Key(list)
						r.Key(once)
						r.Key(seenBy)
						act.Handle(r, func(_ context.Context, c plugin.HandlerContext, name string) (state.Command, error) {
							mu.Lock()
							defer mu.Unlock()
							ran = append(ran, fmt.Sprintf("%s at call %d of step %d", name, c.CallIndex, c.Step))
							return list.Update(name), nil
						})
						r.OnStepStart(func(_ context.Context, c plugin.StepStart) (s state.Command, err error) {
							if c.Step == 1 {
								s = act.Schedule("first")
							}
							return s, nil
						})
						r.OnBeforeTool(func(_ context.Context, c plugin.BeforeTool) (s state.Command, err error) {
							if c.Step == 1 && among(tt.sets, c.CallIndex) {
								s = seenBy.Update([]string{fmt.Sprint(c.CallIndex)})
							}
							if c.Step == 1 && among(tt.once, c.CallIndex) {
								s = state.Combine(s, once.Update("x"))
							}
							return s, nil
						})
						r.OnStepEnd(func(_ context.Context, c plugin.StepEnd) (_ state.Command, err error) {
							last, err = list.Read(c.Snapshot)
							return state.Command{}, err
						})
					}}},
				})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				want, got := [][]string{tt.ran, tt.list, tt.results}, [][]string{ran, last, w.results(t)}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("actions, the list and results (-want +got):\n%s", diff)
				}
			})
		})
	}
}
