package run_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/tool"
)

// Nobody is asked about a run that is blocked: a call that has come to ask in the same moment
// does not, wherever it stands.
func TestACallThatIsAboutToAskInABlockedRun(t *testing.T) {
	const first, behind = "not_executed: not executed: the run was blocked", "not_executed: not executed: an earlier call was blocked"
	for _, mode := range []agent.ExecutionMode{agent.ParallelStreaming, agent.ParallelBatchApproval} {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, options{
					mode: mode, model: replies(calls("ask", "{}", "block", "{}", "ask", "{}")), tools: []tool.Tool{toolFunc{name: "ask"}, toolFunc{name: "block"}},
					plugins: []plugin.Plugin{gates(func(c plugin.GateCall) (plugin.Verdict, error) {
						if c.Call.Name == "block" {
							return plugin.Block("enough"), nil
						}
						return suspends(""), nil
					})},
				})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				want := []string{first, "blocked: blocked: enough", behind, `done 1 {"type":"blocked","detail":"enough"} ""`}
				if diff := cmp.Diff(want, append(w.results(t), w.end(t, key, receipt))); diff != "" {
					t.Errorf("results and end (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A call that was decided about, and waits for the decision about another one, is not asked
// about any more where a gate blocks a call behind it: it goes on.
func TestADecidedCallBeforeABlockedOneGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran, blocks := 0, false
		w := newWorld(t, options{
			mode: agent.ParallelBatchApproval, model: replies(calls("ask", "{}", "deaf", "{}", "ask", "{}")),
			tools: []tool.Tool{counted("ask", false, &ran), deaf(false, 9*time.Second)},
			plugins: []plugin.Plugin{asking("ask"), pluginFunc{"blocks", func(r *plugin.Registrar) {
				r.Gate(func(_ context.Context, c plugin.GateCall) (v plugin.Verdict, err error) {
					if c.Call.Name == "deaf" && blocks {
						v = plugin.Block("enough")
					}
					return v, nil
				})
			}}},
		})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		time.AfterFunc(time.Second, func() { w.store.dead.Store(true) })
		_, _ = w.cut(t, 3*time.Second, false)
		w.store.dead.Store(false)
		w.reclaim(t)
		w.mustDecide(t, 0, approve)
		blocks = true
		w.finish(t, key, nil)
		time.Sleep(20 * time.Second) // until the tool of the first claim has ended
		want := []string{
			`ok: "ask ran" after about-gate0`, "blocked: blocked: enough", "not_executed: not executed: an earlier call was blocked",
			`done 1 {"type":"blocked","detail":"enough"} ""`,
		}
		if diff := cmp.Diff(want, append(w.results(t), w.end(t, key, receipt))); diff != "" || ran != 1 {
			t.Errorf("after %d runs of the tool, results and end (-want +got):\n%s", ran, diff)
		}
	})
}
