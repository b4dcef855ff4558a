package run_test

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/tool"
)

// An answer is the natural end of a run, unless input has come that it has not read.
// A limit leaves it at that, however far behind it the run is; a policy that judges what
// is said ends the run, and the input becomes a run of its own.
func TestAnswerBeforeUnreadInput(t *testing.T) {
	tests := []struct {
		name string
		stop agent.StopSpec
		end  string
	}{
		{"max_rounds", agent.StopSpec{Type: "max_rounds", Rounds: 1}, `done 2 {"type":"natural_end"} "fine"`},
		{"timeout", agent.StopSpec{Type: "timeout", Seconds: 5}, `done 2 {"type":"natural_end"} "fine"`},
		{"token_budget", agent.StopSpec{Type: "token_budget", MaxTotal: 5}, `done 2 {"type":"natural_end"} "fine"`},
		{"content_match", agent.StopSpec{Type: "content_match", Pattern: "done"}, `done 1 {"type":"stopped","code":"content_match","detail":"the text matches \"done\""} "done"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				said := &takes10s{turns: [][]model.Delta{text("done"), text("fine")}}
				var w *world
				m := modelFunc(func(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
					if said.calls == 0 {
						w.submit(t, key, "more", mailbox.ModeSteer)
					}
					return said.Stream(ctx, r)
				})
				w = newWorld(t, options{agents: spec(t, m, agent.Spec{Stop: []agent.StopSpec{tt.stop}})})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				want := []string{"user: hi", "assistant: done", "user: more", "assistant: fine"}
				if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
				if got := w.end(t, key, receipt); got != tt.end {
					t.Errorf("the run is %s\nwant %s", got, tt.end)
				}
			})
		})
	}
}

// A round that waits for a person is counted when it is whole, by whichever process
// goes on with it; what the person refuses is nobody's failure.
func TestErrorsOfARoundThatWaited(t *testing.T) {
	tests := []struct {
		name     string
		decision core.Decision
		log      []string
		end      string
	}{
		{
			"a call that fails when it may run", approve, []string{"tool: no luck", "tool: no luck"},
			`done 1 {"type":"stopped","code":"consecutive_errors","detail":"failed steps in a row: 1, the limit is 1"} ""`,
		},
		{
			"a call that is refused beside one that failed", deny, []string{"tool: no luck", "tool: denied: not today"},
			`done 1 {"type":"stopped","code":"consecutive_errors","detail":"failed steps in a row: 1, the limit is 1"} ""`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := options{
					model: replies(calls("fails", "{}", "fails", "{}"), text("ok")), tools: []tool.Tool{failingTool}, mode: agent.ParallelBatchApproval,
					plugins: []plugin.Plugin{gates(func(c plugin.GateCall) (plugin.Verdict, error) {
						if c.CallIndex == 0 {
							return plugin.Allow, nil
						}
						return suspends("ask"), nil
					})},
					stop: []agent.StopPolicy{consecutiveErrors(1)},
				}
				w := newWorld(t, o)
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				if status := w.head(t, key).Run.Status; status != thread.Waiting {
					t.Fatalf("the run is %v, want it waiting", status)
				}
				w.stepper = w.other(t, o)
				w.mustDecide(t, 1, tt.decision)
				w.finish(t, key, nil)
				want := append([]string{"user: hi", "assistant: [fails {}][fails {}]"}, tt.log...)
				if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
				if got := w.end(t, key, receipt); got != tt.end {
					t.Errorf("the run is %s\nwant %s", got, tt.end)
				}
			})
		})
	}
}
