package run_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/stop"
	"github.com/reveille-run/reveille/core/tool"
)

// A policy that a newer program has may stop a run in whose round an earlier claim has started
// tools: of those calls nobody says that they did not run, and of the others somebody does.
func TestAPolicyStopsARoundInWhichToolsHaveRun(t *testing.T) {
	const may = "unknown: outcome unknown: the tool may have run before it was stopped (not executed: test)"
	const not = "not_executed: not executed: test"
	tests := []struct {
		name     string
		mode     agent.ExecutionMode
		delivery tool.Delivery
		calls    []string
		claims   []bool // before the newer program's; true: its process dies
		want     []string
	}{
		{"a claim was given back", agent.ParallelStreaming, tool.AtLeastOnce, []string{"ask", "deaf", "ask"}, []bool{false}, []string{not, may, not}},
		{"a claim was lost, and another one given back", agent.ParallelStreaming, tool.AtLeastOnce, []string{"ask", "deaf", "ask"}, []bool{true, false}, []string{not, may, not}},
		{"only the first tool was started", agent.ParallelStreaming, tool.AtLeastOnce, []string{"deaf", "ask", "ask"}, []bool{false}, []string{may, not, not}},
		{"one call after the other", agent.Sequential, tool.AtLeastOnce, []string{"deaf", "ask"}, []bool{false}, []string{may, not}},
		{"a claim was lost behind a result", agent.ParallelStreaming, tool.AtLeastOnce, []string{"count", "deaf", "ask"}, []bool{true}, []string{`ok: "count ran"`, may, not}},
		{"the call is marked", agent.ParallelStreaming, tool.AtMostOnce, []string{"ask", "deaf", "ask"}, []bool{true}, []string{not, may, not}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var turn []string
				for _, name := range tt.calls {
					turn = append(turn, name, "{}")
				}
				o := options{
					mode: tt.mode, model: replies(calls(turn...), text("ok")), plugins: []plugin.Plugin{asking("ask")},
					tools: []tool.Tool{deaf(tt.delivery, 9*time.Second), counted("ask", tool.AtLeastOnce, new(int)), counted("count", tool.AtLeastOnce, new(int))},
				}
				w := newWorld(t, o)
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				for _, dies := range tt.claims {
					if dies {
						time.AfterFunc(time.Second, func() { w.store.dead.Store(true) })
					}
					_, _ = w.cut(t, 3*time.Second, false)
					if dies {
						w.store.dead.Store(false)
						w.reclaim(t)
					}
					time.Sleep(time.Minute) // until it is due again
				}
				o.stop = []stop.Policy{stopAtOnce}
				w.stepper = w.other(t, o)
				w.finish(t, key, nil)
				want := append(tt.want, `done 1 {"type":"stopped","code":"test"} ""`)
				if diff := cmp.Diff(want, append(w.results(t), w.end(t, key, receipt))); diff != "" {
					t.Errorf("results and end (-want +got):\n%s", diff)
				}
			})
		})
	}
}
