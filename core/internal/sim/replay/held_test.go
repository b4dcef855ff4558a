package replay_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// interposed is a store in which something happens before a write.
type interposed struct {
	store.Backend
	writes *int // so many, the one included; 0: nothing happens
	before func()
}

func (i interposed) Commit(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
	if *i.writes > 0 {
		if *i.writes--; *i.writes == 0 {
			i.before()
		}
	}
	return i.Backend.Commit(ctx, key, c)
}

// A batch waits for a person and a timer when a message ends a third wait. The timer wakes before
// the claim that has the result of the third call waits: until then it holds back the first one.
// The run is cancelled in the next claim.
func TestReplayOfADecisionThatATimerHoldsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var other *host.Host
		var run mailbox.Receipt
		var writes int
		c := code{mode: agent.ParallelBatchApproval, turns: calls(3)}
		c.run = func(ctx context.Context, call tool.Call) (tool.Result, error) {
			switch {
			case call.Resume != nil:
				err := other.CancelRun(ctx, ann, run.RunID)
				<-ctx.Done()
				return tool.Result{}, err
			case call.Index == 1:
				return tool.Suspended(core.TicketRequest{Kind: core.TicketTimer, WakeAt: time.Now().Add(time.Hour), Keep: true}), nil
			}
			return tool.Suspended(core.TicketRequest{Action: "ask"}), nil
		}
		r := newRecorder(t, c)
		other = r.another(t, c, r.store)
		timer := func() {
			if err := decide(t.Context(), other, run.RunID, 1, core.DecisionResume); err != nil {
				t.Error(err)
			}
		}
		r.Host = r.another(t, c, interposed{r.store, &writes, timer})
		run = r.submit(t, "hi", "")
		r.work(t)
		if err := decide(t.Context(), r.Host, run.RunID, 0, core.DecisionCancel); err != nil {
			t.Fatal(err)
		}
		r.submit(t, "never mind", mailbox.ModeSteer)
		writes = 2 // the claim, and the wait
		r.work(t)
		r.wantReplay(t, c, run, "thread t1 run RUN1 (agent a, 1 steps, 6 records): the same")
	})
}
