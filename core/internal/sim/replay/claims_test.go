package replay_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// inOrder makes the value of the key tally depend on the order of the calls' results.
func inOrder(v, u int) int { return 3*v + u }

// asksTwice is a tool that asks two questions before it ends with its number.
func asksTwice(c tool.Call) tool.Result {
	switch call := strconv.Itoa(c.Index); {
	case c.Resume == nil:
		return tool.Suspended(core.TicketRequest{ID: "first" + call, Action: "ask"})
	case c.Resume.Suspension == "first"+call:
		return tool.Suspended(core.TicketRequest{ID: "second" + call, Action: "ask"})
	}
	return tool.NewResult("done").With(tally{}.key().Update(c.Index + 1))
}

// Of three calls that wait, one is decided, and continues. The two others are decided while it
// works, by a process that does not tell it: they continue in the next claim.
func TestReplayOfCallsThatContinueInDifferentClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var other *host.Host
		var run mailbox.Receipt
		c := code{mode: agent.ParallelStreaming, apply: inOrder, turns: calls(3)}
		c.after = func(c plugin.AfterTool) (state.Command, error) { return tally{}.key().Update(c.CallIndex + 4), nil }
		c.run = func(ctx context.Context, call tool.Call) (result tool.Result, err error) {
			if call.Index == 0 && call.Resume != nil {
				err = decide(ctx, other, run.RunID, 1, core.DecisionResume)
				if err == nil {
					err = decide(ctx, other, run.RunID, 2, core.DecisionCancel)
				}
				time.Sleep(time.Second)
				return tool.Suspended(core.TicketRequest{ID: "second0", Action: "ask", Mode: core.ResumeAsResult}), err
			}
			return asksTwice(call), nil
		}
		r := newRecorder(t, c)
		other = r.another(t, c, r.store)
		run = r.submit(t, "hi", "")
		r.work(t)
		for _, call := range []int{0, 0, 1} {
			if err := decide(t.Context(), r.Host, run.RunID, call, core.DecisionResume); err != nil {
				t.Fatal(err)
			}
			r.work(t)
		}
		r.wantReplay(t, c, run, "thread t1 run RUN1 (agent a, 2 steps, 9 records): the same")
	})
}

// A call asks, is decided, and asks again, all while another one works. Then a person speaks, and
// ends both waits for a person: the next claim has the results of both.
func TestReplayOfACallThatAsksTwiceInOneClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *recorder
		var run mailbox.Receipt
		c := code{mode: agent.ParallelStreaming, apply: inOrder, turns: calls(4)}
		c.run = func(ctx context.Context, call tool.Call) (tool.Result, error) {
			switch {
			case call.Index == 1:
				time.Sleep(time.Second)
				err := decide(ctx, r.Host, run.RunID, 0, core.DecisionResume)
				time.Sleep(5 * time.Second)
				r.submit(t, "and that", mailbox.ModeSteer)
				return tool.NewResult("done").With(tally{}.key().Update(2)), err
			case call.Index == 3 && call.Resume == nil:
				return tool.Suspended(core.TicketRequest{Kind: core.TicketTimer, WakeAt: time.Now().Add(time.Hour), Keep: true}), nil
			}
			return asksTwice(call), nil
		}
		r = newRecorder(t, c)
		run = r.submit(t, "hi", "")
		r.work(t)
		if err := decide(t.Context(), r.Host, run.RunID, 3, core.DecisionCancel); err != nil {
			t.Fatal(err)
		}
		r.work(t)
		r.wantReplay(t, c, run, "thread t1 run RUN1 (agent a, 2 steps, 11 records): the same")
	})
}

// A person ends the wait of one call by a message, and withdraws it before the next call waits.
func TestReplayOfAMessageThatIsWithdrawnBetweenTwoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := code{mode: agent.Sequential, apply: inOrder, turns: calls(2)}
		c.run = func(_ context.Context, call tool.Call) (tool.Result, error) {
			if call.Resume == nil {
				return tool.Suspended(core.TicketRequest{Action: "ask"}), nil
			}
			return tool.NewResult("done").With(tally{}.key().Update(call.Index + 1)), nil
		}
		r := newRecorder(t, c)
		run := r.submit(t, "hi", "")
		r.work(t)
		said := r.submit(t, "never mind", mailbox.ModeSteer)
		if err := r.RetractInput(t.Context(), ann, key.Thread, said.DispatchID); err != nil {
			t.Fatal(err)
		}
		r.work(t)
		if err := decide(t.Context(), r.Host, run.RunID, 1, core.DecisionResume); err != nil {
			t.Fatal(err)
		}
		r.work(t)
		r.wantReplay(t, c, run, "thread t1 run RUN1 (agent a, 2 steps, 8 records): the same")
	})
}

// Two calls wait, and are decided one after the other. A clock that does not move gives every
// claim the same time, and yet the decisions came between them.
func TestReplayOfDecisionsInOneMillisecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := code{mode: agent.ParallelStreaming, apply: inOrder, turns: calls(2)}
		c.after = func(c plugin.AfterTool) (state.Command, error) { return tally{}.key().Update(c.CallIndex + 4), nil }
		c.run = func(_ context.Context, call tool.Call) (tool.Result, error) {
			if call.Resume == nil {
				return tool.Suspended(core.TicketRequest{Action: "ask"}), nil
			}
			return tool.NewResult("done").With(tally{}.key().Update(call.Index + 1)), nil
		}
		r := newRecorder(t, c)
		run := r.submit(t, "hi", "")
		for _, call := range []int{1, 0} {
			hints := r.hints
			r.hints = nil
			if errs := r.WorkBatch(t.Context(), hints); errs[0] != nil {
				t.Fatal(errs)
			}
			if err := decide(t.Context(), r.Host, run.RunID, call, core.DecisionResume); err != nil {
				t.Fatal(err)
			}
		}
		r.work(t)
		r.wantReplay(t, c, run, "thread t1 run RUN1 (agent a, 2 steps, 8 records): the same")
	})
}

// A person ends a wait by a message, and withdraws it before the next step, which does not read it.
func TestReplayOfAMessageThatIsWithdrawnAfterAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := code{turns: calls(1), run: func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Suspended(core.TicketRequest{Action: "ask"}), nil
		}}
		r := newRecorder(t, c)
		run := r.submit(t, "hi", "")
		r.work(t)
		said := r.submit(t, "never mind", mailbox.ModeSteer)
		if err := r.RetractInput(t.Context(), ann, key.Thread, said.DispatchID); err != nil {
			t.Fatal(err)
		}
		r.work(t)
		r.wantReplay(t, c, run, "thread t1 run RUN1 (agent a, 2 steps, 7 records): the same")
	})
}

// In that step the run is cancelled while its model speaks: the log has the last words, since the
// step has read nothing.
func TestReplayOfLastWordsAfterAMessageWasWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *recorder
		var run mailbox.Receipt
		c := code{bare: true, run: func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Suspended(core.TicketRequest{Action: "ask"}), nil
		}}
		c.turns = func(n int, yield func(model.Delta, error) bool, q model.Request) {
			if n == 0 {
				calls(1)(n, yield, q)
				return
			}
			yield(model.Delta{Type: model.DeltaText, Text: "I say"}, nil)
			err := r.CancelRun(t.Context(), ann, run.RunID)
			time.Sleep(10 * time.Second)
			yield(model.Delta{}, errors.Join(context.Canceled, err))
		}
		r = newRecorder(t, c)
		run = r.submit(t, "hi", "")
		r.work(t)
		said := r.submit(t, "never mind", mailbox.ModeSteer)
		if err := r.RetractInput(t.Context(), ann, key.Thread, said.DispatchID); err != nil {
			t.Fatal(err)
		}
		r.work(t)
		r.wantReplay(t, c, run, "thread t1 run RUN1 (agent a, 1 steps, 4 records): the same")
	})
}

// A person ends the wait of one call by a message, and then the timer of another one wakes: the
// next claim has the results of both.
func TestReplayOfAMessageBeforeADecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := code{mode: agent.ParallelStreaming, apply: inOrder, turns: calls(3)}
		c.run = func(_ context.Context, call tool.Call) (tool.Result, error) {
			switch {
			case call.Resume != nil:
				return tool.NewResult("done").With(tally{}.key().Update(call.Index + 1)), nil
			case call.Index == 0:
				return tool.Suspended(core.TicketRequest{Action: "ask"}), nil
			}
			return tool.Suspended(core.TicketRequest{Kind: core.TicketTimer, WakeAt: time.Now().Add(time.Hour), Keep: true}), nil
		}
		r := newRecorder(t, c)
		run := r.submit(t, "hi", "")
		r.work(t)
		r.submit(t, "and that", mailbox.ModeSteer)
		for _, call := range []int{1, 2} {
			if err := decide(t.Context(), r.Host, run.RunID, call, core.DecisionResume); err != nil {
				t.Fatal(err)
			}
			r.work(t)
		}
		r.wantReplay(t, c, run, "thread t1 run RUN1 (agent a, 2 steps, 10 records): the same")
	})
}
