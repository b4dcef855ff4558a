package replay_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/tool"
)

// A call that is decided while another one runs may end the run over a gate: the other's
// result is there all the same. In the records both were decided before the round continued.
func TestReplayOfARoundThatIsBlockedWhileACallRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *recorder
		var run mailbox.Receipt
		approve := func(call int) error {
			info, err := r.ReadRun(t.Context(), ann, run.RunID)
			if err != nil {
				return err
			}
			_, err = r.Decide(t.Context(), ann, run.RunID, mailbox.Deciding{Target: info.Tickets[call].Suspension.ID, Decision: core.Decision{Action: core.DecisionResume}})
			return err
		}
		blocks := code{
			mode: agent.ParallelStreaming,
			gate: func(c plugin.GateCall) (plugin.Verdict, error) {
				switch {
				case c.Resume == nil:
					return plugin.Suspend(core.TicketRequest{Action: "ask"}), nil
				case c.CallIndex == 0:
					return plugin.Block("no"), nil
				}
				return plugin.Allow, nil
			},
			turns: func(n int, yield func(model.Delta, error) bool, _ model.Request) {
				for range 2 {
					_ = yield(model.Delta{Type: model.DeltaToolStart, Name: "work"}, nil) && yield(model.Delta{Type: model.DeltaToolArgument, Text: "{}"}, nil)
				}
				yield(model.Delta{Type: model.DeltaStop, Stop: core.StopToolUse}, nil)
			},
		}
		blocks.run = func(_ context.Context, c tool.Call) (tool.Result, error) {
			err := approve(0)
			time.Sleep(5 * time.Second)
			return tool.NewResult("done"), err
		}
		r = newRecorder(t, blocks)
		run = r.submit(t, "hi", "")
		r.work(t)
		if err := approve(1); err != nil {
			t.Fatal(err)
		}
		r.work(t)
		if diff := cmp.Diff("thread t1 run RUN1 (agent a, 1 steps, 6 records): the same", r.replayed(t, blocks, core.ID{}, run)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
