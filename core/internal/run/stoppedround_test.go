package run_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// A policy that a newer program has may stop a run in whose round an earlier claim has started
// tools: of those calls nobody says that they did not run, and of the others somebody does.
func TestAPolicyStopsARoundInWhichToolsHaveRun(t *testing.T) {
	const may = "unknown: outcome unknown: the tool may have run before it was stopped (not executed: test)"
	const not = "not_executed: not executed: test"
	tests := []struct {
		name       string
		mode       agent.ExecutionMode
		atMostOnce bool
		calls      []string
		claims     []string // before the newer program's, and how they end
		want       []string
	}{
		{"a claim was given back", agent.ParallelStreaming, false, []string{"ask", "deaf", "ask"}, []string{"given back"}, []string{not, may, not}},
		{"a claim was lost, and another one given back", agent.ParallelStreaming, false, []string{"ask", "deaf", "ask"}, []string{"lost", "given back"}, []string{not, may, not}},
		{"a claim was lost, and another one started nothing", agent.ParallelStreaming, false, []string{"ask", "deaf", "ask"}, []string{"lost", "waits"}, []string{not, not, not}},
		{"only the first tool was started", agent.ParallelStreaming, false, []string{"deaf", "ask", "ask"}, []string{"given back"}, []string{may, not, not}},
		{"one call after the other", agent.Sequential, false, []string{"deaf", "ask"}, []string{"given back"}, []string{may, not}},
		{"a claim was lost behind a result", agent.ParallelStreaming, false, []string{"count", "deaf", "ask"}, []string{"lost"}, []string{`ok: "count ran"`, may, not}},
		{"the call is marked", agent.ParallelStreaming, true, []string{"ask", "deaf", "ask"}, []string{"lost"}, []string{not, may, not}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var turn []string
				for _, name := range tt.calls {
					turn = append(turn, name, "{}")
				}
				waits := false
				o := options{
					mode: tt.mode, model: replies(calls(turn...), text("ok")),
					plugins: []plugin.Plugin{asking("ask"), pluginFunc{"waits", func(r *plugin.Registrar) {
						r.Gate(func(ctx context.Context, _ plugin.GateCall) (v plugin.Verdict, err error) {
							if waits {
								<-ctx.Done()
							}
							return v, ctx.Err()
						})
					}}},
					tools: []tool.Tool{deaf(tt.atMostOnce, 9*time.Second), counted("ask", false, new(int)), counted("count", false, new(int))},
				}
				w := newWorld(t, o)
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				for _, end := range tt.claims {
					waits = end == "waits"
					if end == "lost" {
						time.AfterFunc(time.Second, func() { w.store.dead.Store(true) })
					}
					_, _ = w.cut(t, 3*time.Second, false)
					if end == "lost" {
						w.store.dead.Store(false)
						w.reclaim(t)
					}
					time.Sleep(time.Minute) // until it is due again
				}
				waits = false
				o.stop = []agent.StopPolicy{stopAtOnce}
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

// A decision may come while its claim still stands, which is lost then. Of calls that run one
// after the other none behind the decided one has run, whatever a policy of a newer program
// says next.
func TestAPolicyStopsASequentialRoundBehindADecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asks := toolFunc{name: "asks", run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			<-ctx.Done()
			return tool.Suspended(core.TicketRequest{}), nil
		}}
		o := options{model: replies(calls("asks", "{}", "count", "{}"), text("ok")), tools: []tool.Tool{asks, counted("count", false, new(int))}}
		w := newWorld(t, o)
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			outcome, err := w.store.Backend.Commit(ctx, key, c)
			if len(c.Head.Tickets) > 0 {
				w.store.OnCommit = nil
				w.mustDecide(t, 0, approve)
				w.store.dead.Store(true)
			}
			return outcome, err
		}
		_, _ = w.cut(t, 3*time.Second, false)
		w.store.dead.Store(false)
		w.reclaim(t)
		if head := w.head(t, key); w.stands(t) != "running [resuming new]" || head.Run.Through.Ran != 2 {
			t.Fatalf("the round is %s, and calls of it may have run: %+v", w.stands(t), head.Run.Through)
		}
		o.stop = []agent.StopPolicy{stopAtOnce}
		w.stepper = w.other(t, o)
		w.finish(t, key, nil)
		const not = "not_executed: not executed: test"
		want := []string{not, not, `done 1 {"type":"stopped","code":"test"} ""`}
		if diff := cmp.Diff(want, append(w.results(t), w.end(t, key, receipt))); diff != "" {
			t.Errorf("results and end (-want +got):\n%s", diff)
		}
	})
}
