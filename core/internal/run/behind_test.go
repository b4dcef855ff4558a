package run_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/tool"
)

// While the first call waited for its decision, the call beside it was let through, and its
// process died in the tool. That the gate blocks the first call behind the decision does not
// say that the other one never ran.
func TestABlockOfTheFirstCallBehindADecisionLeavesASiblingUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *world
		ran := 0
		deadly := toolFunc{name: "deadly", run: func(context.Context, tool.Call) (tool.Result, error) {
			ran++
			w.store.dead.Store(true)
			return tool.NewResult("done"), nil
		}}
		w = newWorld(t, options{
			model: replies(calls("echo", `{"text":"a"}`, "deadly", "{}"), text("ok")), tools: []tool.Tool{deadly}, mode: agent.ParallelStreaming,
			plugins: []plugin.Plugin{gates(func(c plugin.GateCall) (plugin.Verdict, error) {
				switch {
				case c.Call.Name == "deadly":
					return plugin.Allow, nil
				case c.Resume == nil:
					return suspends("ask"), nil
				}
				return plugin.Block("not now"), nil
			})},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.die(t)
		w.mustDecide(t, 0, approve)
		w.finish(t, key, nil)
		want := []core.ResultStatus{core.ResultBlocked, core.ResultUnknown}
		if diff := cmp.Diff(want, w.statuses(t)); diff != "" || ran != 1 {
			t.Errorf("after %d executions, want 1 (-want +got):\n%s", ran, diff)
		}
	})
}
