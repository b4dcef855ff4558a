package run_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// Where the hooks of one of several calls fail, none of their tools starts, however long
// those of the others take.
func TestHooksOfALaterCallThatFailStartNoTool(t *testing.T) {
	for failing := range 4 {
		t.Run(fmt.Sprint("call ", failing), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ran := 0
				w := newWorld(t, options{
					mode: agent.ParallelStreaming, model: replies(calls("count", "{}", "count", "{}", "count", "{}", "count", "{}")),
					tools: []tool.Tool{counted("count", false, &ran)},
					plugins: []plugin.Plugin{pluginFunc{"hooks", func(r *plugin.Registrar) {
						r.OnBeforeTool(func(_ context.Context, c plugin.BeforeTool) (state.Command, error) {
							if c.CallIndex == failing {
								return state.Command{}, errors.New("no room")
							}
							time.Sleep(time.Second)
							return state.Command{}, nil
						})
					}}},
				})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				end := `done 1 {"type":"error","code":"plugin","detail":"phase before_tool_execute of call CALL: plugin \"hooks\" failed"} ""`
				end = strings.Replace(end, "CALL", fmt.Sprintf("call_%s_1_%d", receipt.RunID.String()[24:], failing), 1)
				if got := w.end(t, key, receipt); got != end || ran != 0 {
					t.Errorf("after %d runs of the tool the run is %s, want %s", ran, got, end)
				}
			})
		})
	}
}

// What a tool schedules for BeforeToolExecute while its siblings run is for the first whose
// hooks are asked again behind it. What these change for one state is for that which they
// were asked on last.
func TestHooksThatAreAskedAgainRunWhatASiblingHasScheduled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // BeforeToolExecute runs side by side
		var ran, last []string
		act := plugin.Action[string]{Phase: core.PhaseBeforeToolExecute, Name: "act"}
		lasts := []time.Duration{3 * time.Second, time.Second, 2 * time.Second}
		w := newWorld(t, options{
			mode: agent.ParallelStreaming, model: replies(calls("work", "{}", "work", "{}", "work", "{}"), text("ok")),
			tools: []tool.Tool{toolFunc{name: "work", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
				time.Sleep(lasts[c.Index])
				result := tool.NewResult("ok")
				if c.Index == 1 {
					result.Command = act.Schedule("a")
				}
				return result, nil
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
					command := seenBy.Update(append(slices.Clip(list), fmt.Sprint("hook", c.CallIndex)))
					command.Batch = command.Batch.On(c.Snapshot)
					return command, err
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
		w.finish(t, key, nil)
		var bases []string
		for i := range 3 {
			e := w.entry(t, uint64(3+i))
			bases = append(bases, fmt.Sprint(e.Place, " for ", *e.Hooks.Batch.Base))
		}
		want := [][]string{{"a at call 2"}, {"hook1", "hook2", "hook0"}, {"3 for 3", "1 for 0", "2 for 2"}, {`ok: "ok"`, `ok: "ok"`, `ok: "ok"`}}
		if diff := cmp.Diff(want, [][]string{ran, last, bases, w.results(t)}); diff != "" {
			t.Errorf("actions, the list, places with revisions, and results (-want +got):\n%s", diff)
		}
	})
}
