package replay_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/point"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// A worker whose clock is slow claims a run for a timer that has run out by another's clock, and
// brings nothing: the round has two records of one wait. The next claim runs the call, and the run
// is cancelled during the call after it: what AfterToolExecute had changed then does not count.
func TestReplayOfARoundThatWaitedTwiceForOneTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *recorder
		var cancelled core.ID
		c := code{mode: agent.Sequential, turns: callsTwice}
		c.after = func(plugin.AfterTool) (state.Command, error) { return tally{code: c}.key().Update(1000), nil }
		c.run = func(ctx context.Context, call tool.Call) (tool.Result, error) {
			switch {
			case call.Index == 1:
				return tool.NewResult("done"), r.CancelRun(ctx, ann, cancelled)
			case call.Resume == nil:
				return tool.Suspended(core.TicketRequest{Kind: core.TicketTimer, WakeAt: time.Now()}), nil
			}
			return tool.NewResult("done"), nil
		}
		r = newRecorder(t, c)
		other := r.slow(t, c)
		run := r.submit(t, "hi", "")
		cancelled = run.RunID
		r.workTwice(t, other)
		r.work(t)
		r.wantReplay(t, c, run, "thread t1 run RUN1 (agent a, 1 steps, 5 records): the same")
	})
}

// In such a round a tool is abandoned after the timer: the outcome of its call is unknown.
func TestReplayOfAnUnknownOutcomeAfterTwoWaitsForOneTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := code{mode: agent.Sequential, limit: time.Second, turns: calls(2)}
		c.run = func(_ context.Context, call tool.Call) (tool.Result, error) {
			switch {
			case call.Index == 1:
				time.Sleep(3500 * time.Millisecond) // half a second more than it is waited for
			case call.Resume == nil:
				return tool.Suspended(core.TicketRequest{Kind: core.TicketTimer, WakeAt: time.Now()}), nil
			}
			return tool.NewResult("done"), nil
		}
		r := newRecorder(t, c)
		run := r.submit(t, "hi", "")
		r.workTwice(t, r.slow(t, c))
		r.work(t)
		r.wantReplay(t, c, run, "thread t1 run RUN1 (agent a, 2 steps, 8 records): the same")
	})
}

// slow is a worker whose clock is slow until it has claimed a run.
func (r *recorder) slow(t *testing.T, c code) *host.Host {
	t.Helper()
	slow, behind := env.System(), 2*time.Second
	slow.Now = func() time.Time { return time.Now().Add(-behind) }
	slow.Reach = func(p env.Point) func() {
		if p == point.ReadLog { // it has claimed the run
			behind = 0
		}
		return func() {}
	}
	other, err := host.New(host.Options{Env: slow, Store: r.store, Waker: r, Registry: c.registry(t), Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	return other
}

// workTwice follows the hints once, and then those that come of it, by another worker.
func (r *recorder) workTwice(t *testing.T, other *host.Host) {
	t.Helper()
	for _, worker := range []*host.Host{r.Host, other} {
		hints := r.hints
		r.hints = nil
		if errs := worker.WorkBatch(t.Context(), hints); errs[0] != nil {
			t.Fatal(errs)
		}
	}
}
