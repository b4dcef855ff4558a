package run_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// While a round waits, hooks and gates are shown the results of the calls that were merged
// and of the one that they are asked about, in the order of the calls, and no others.
func TestResultsThatHooksAreShownOfARoundThatWaits(t *testing.T) {
	tests := []struct {
		mode agent.ExecutionMode
		ask  int // the call that waits
		want []string
	}{
		{agent.Sequential, 1, []string{
			"gate 0:", "after 0: a", "gate 1: a", "gate 1: a", "after 1: a asked", "gate 2: a asked", "after 2: a asked c", "end: a asked c",
		}},
		{agent.ParallelStreaming, 0, []string{
			"gate 0:", "gate 1:", "gate 2:", "after 1: b", "after 2: b c", "gate 0: b c", "after 0: asked b c", "end: asked b c",
		}},
		{agent.ParallelStreaming, 1, []string{
			"gate 0:", "gate 1:", "gate 2:", "after 0: a", "after 2: a c", "gate 1: a c", "after 1: a asked c", "end: a asked c",
		}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.mode, " ", tt.ask), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var shown []string
				show := func(step int, where string, messages []core.Message) {
					line := where + ":"
					for _, m := range messages {
						if m.ToolResult != nil {
							line += " " + string(m.ToolResult.Data[1:len(m.ToolResult.Data)-1])
						}
					}
					if step == 1 {
						shown = append(shown, line)
					}
				}
				turn := []string{"says", `"a"`, "says", `"b"`, "says", `"c"`}
				turn[2*tt.ask], turn[2*tt.ask+1] = "ask", `"asked"`
				says := func(name string) tool.Tool {
					return toolFunc{name: name, run: func(_ context.Context, c tool.Call) (tool.Result, error) {
						afterSiblings(c)
						return tool.NewResult(c.Arguments), nil
					}}
				}
				o := options{
					mode: tt.mode, model: replies(calls(turn...), text("ok")), tools: []tool.Tool{says("says"), says("ask")},
					plugins: []plugin.Plugin{asking("ask"), pluginFunc{"shown", func(r *plugin.Registrar) {
						r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
							show(c.Step, fmt.Sprint("gate ", c.CallIndex), c.Messages)
							return plugin.Allow, nil
						})
						r.OnAfterTool(func(_ context.Context, c plugin.AfterTool) (state.Command, error) {
							show(c.Step, fmt.Sprint("after ", c.CallIndex), c.Messages)
							return state.Command{}, nil
						})
						r.OnStepEnd(func(_ context.Context, c plugin.StepEnd) (state.Command, error) {
							show(c.Step, "end", c.Messages)
							return state.Command{}, nil
						})
					}}},
				}
				w := newWorld(t, o)
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				w.stepper = w.other(t, o)
				w.mustDecide(t, tt.ask, approve)
				w.finish(t, key, nil)
				if diff := cmp.Diff(tt.want, shown); diff != "" {
					t.Errorf("shown (-want +got):\n%s", diff)
				}
			})
		})
	}
}
