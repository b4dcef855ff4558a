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
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// Where no hook waits for results, the gates of a call and the end of the step are shown what
// the calls before it came to all the same.
func TestGatesAreShownTheResultsBeforeTheirCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shown []string
		show := func(where string, messages []core.Message) {
			line := where
			for _, m := range messages {
				if line += " " + string(m.Role); m.ToolResult != nil {
					line += fmt.Sprintf("<%s>", m.ToolResult.Text())
				}
			}
			shown = append(shown, line)
		}
		w := newWorld(t, options{plugins: []plugin.Plugin{pluginFunc{"shown", func(r *plugin.Registrar) {
			r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
				show(fmt.Sprint("gate ", c.CallIndex), c.Messages)
				return plugin.Allow, nil
			})
			r.OnStepEnd(func(_ context.Context, c plugin.StepEnd) (state.Command, error) {
				if c.Step == 1 {
					show("end", c.Messages)
				}
				return state.Command{}, nil
			})
		}}}})
		w.submit(t, key, "parallel: a, b, c", mailbox.ModeQueue)
		w.finish(t, key, nil)
		want := []string{
			"gate 0 user assistant", `gate 1 user assistant tool<{"text":"a"}>`, `gate 2 user assistant tool<{"text":"a"}> tool<{"text":"b"}>`,
			`end user assistant tool<{"text":"a"}> tool<{"text":"b"}> tool<{"text":"c"}>`,
		}
		if diff := cmp.Diff(want, shown); diff != "" {
			t.Errorf("shown (-want +got):\n%s", diff)
		}
	})
}

// A call of which nobody knows whether it has run, or which did not, has nothing that a hook
// could look at.
func TestHooksAreShownNoResultOfACallWithoutOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard []string
		died := false
		once := toolFunc{name: "once", atMostOnce: true, run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		}}
		w := newWorld(t, options{
			model: replies(calls("once", "{}", "echo", `{"text":"a"}`, "echo", `{"text":"b"}`, "echo", `{"text":"c"}`), text("ok")), tools: []tool.Tool{once},
			plugins: []plugin.Plugin{pluginFunc{"hears", func(r *plugin.Registrar) {
				r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) { return blockB(c) })
				r.OnAfterTool(func(_ context.Context, c plugin.AfterTool) (state.Command, error) {
					heard = append(heard, fmt.Sprint(c.CallIndex, " ", c.Result.Status))
					return state.Command{}, nil
				})
			}}},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		time.AfterFunc(time.Second, func() { died = true; w.store.dead.Store(true) })
		_, _ = w.cut(t, 3*time.Second, false)
		if !died {
			t.Fatal("the process did not die")
		}
		w.store.dead.Store(false)
		w.reclaim(t)
		w.finish(t, key, nil)
		if diff := cmp.Diff([]core.ResultStatus{core.ResultUnknown, core.ResultOK, core.ResultBlocked, core.ResultNotExecuted}, w.statuses(t)); diff != "" {
			t.Errorf("statuses (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"1 ok", "2 blocked"}, heard); diff != "" {
			t.Errorf("heard (-want +got):\n%s", diff)
		}
	})
}

// When a run ends in the middle of a round its last hook is shown what each call came to.
func TestTheEndOfARunIsShownTheResultsOfItsRound(t *testing.T) {
	for _, mode := range []agent.ExecutionMode{agent.Sequential, agent.ParallelStreaming} {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var shown []string
				w := newWorld(t, options{
					mode: mode, model: replies(calls("echo", `{"text":"a"}`, "nap", "{}", "none", "{}")), tools: []tool.Tool{nap},
					plugins: []plugin.Plugin{pluginFunc{"shown", func(r *plugin.Registrar) {
						r.OnRunEnd(func(_ context.Context, c plugin.RunEnd) (state.Command, error) {
							for _, m := range c.Messages {
								if m.ToolResult != nil {
									shown = append(shown, m.ToolResult.Name+" "+string(m.ToolResult.Status))
								}
							}
							return state.Command{}, nil
						})
					}}},
				})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				time.AfterFunc(time.Second, func() {
					if _, err := w.box.Cancel(t.Context(), key, receipt.RunID); err != nil {
						t.Error(err)
					}
				})
				w.step(t, key)
				want := map[agent.ExecutionMode]string{agent.Sequential: "none not_executed", agent.ParallelStreaming: "none invalid"}[mode]
				if diff := cmp.Diff([]string{"echo ok", "nap unknown", want}, shown); diff != "" {
					t.Errorf("shown (-want +got):\n%s", diff)
				}
			})
		})
	}
}
