package replay_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// unreachable is a store that a process can lose permanently.
type unreachable struct {
	store.Backend
	lost *atomic.Bool
}

var errUnreachable = errors.New("the store is unreachable")

func (u unreachable) Head(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
	if u.lost.Load() {
		return thread.Head{}, errUnreachable
	}
	return u.Backend.Head(ctx, key)
}

func (u unreachable) Commit(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
	if u.lost.Load() {
		return store.Outcome{}, errUnreachable
	}
	return u.Backend.Commit(ctx, key, c)
}

// Two calls of a batch are decided while a third one works, and run; then that one asks, and the
// claim is lost. The next claim holds back the call that has no result, since a ticket is
// undecided, and the run is cancelled: the tool may have run.
func TestReplayOfABatchWhoseClaimWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *recorder
		var run mailbox.Receipt
		var lost atomic.Bool
		c := code{
			mode: agent.ParallelBatchApproval,
			gate: func(c plugin.GateCall) (plugin.Verdict, error) {
				if c.CallIndex != 1 && c.Resume == nil {
					return plugin.Suspend(core.TicketRequest{Action: "ask"}), nil
				}
				return plugin.Allow, nil
			},
			turns: calls(3),
		}
		c.run = func(ctx context.Context, call tool.Call) (tool.Result, error) {
			switch call.Index {
			case 0:
				<-ctx.Done()
				lost.Store(true)
				return tool.Result{}, ctx.Err()
			case 1:
				time.Sleep(time.Second)
				err := decide(ctx, r.Host, run.RunID, 0, core.DecisionResume)
				if err == nil {
					err = decide(ctx, r.Host, run.RunID, 2, core.DecisionResume)
				}
				time.Sleep(10 * time.Second)
				return tool.Suspended(core.TicketRequest{Action: "ask"}), err
			}
			return tool.NewResult("done"), nil
		}
		r = newRecorder(t, c)
		other := r.another(t, c, r.store)
		r.Host = r.another(t, c, unreachable{r.store, &lost})
		run = r.submit(t, "hi", "")
		first := r.hints[0]
		r.hints = nil
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if errs := r.WorkBatch(ctx, []core.WakeUp{first}); errs[0] == nil {
			t.Fatal("the claim was not lost")
		}
		r.Host = other
		time.Sleep(time.Minute)
		r.hints = append(r.hints, first)
		r.work(t)
		if err := r.CancelRun(t.Context(), ann, run.RunID); err != nil {
			t.Fatal(err)
		}
		r.work(t)
		r.wantReplay(t, c, run, "thread t1 run RUN1 (agent a, 1 steps, 6 records): the same")
	})
}
