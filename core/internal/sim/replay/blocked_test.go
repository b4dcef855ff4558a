package replay_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// A call that is decided while another one runs may end the run over a gate: the other's
// result is there all the same. In the records both were decided before the round continued.
func TestReplayOfARoundThatIsBlockedWhileACallRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *recorder
		var run mailbox.Receipt
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
			turns: callsTwice,
		}
		blocks.run = func(_ context.Context, c tool.Call) (tool.Result, error) {
			err := decide(t.Context(), r.Host, run.RunID, 0, core.DecisionResume)
			time.Sleep(5 * time.Second)
			return tool.NewResult("done"), err
		}
		r = newRecorder(t, blocks)
		run = r.submit(t, "hi", "")
		r.work(t)
		if err := decide(t.Context(), r.Host, run.RunID, 1, core.DecisionResume); err != nil {
			t.Fatal(err)
		}
		r.work(t)
		r.wantReplay(t, blocks, run, "thread t1 run RUN1 (agent a, 1 steps, 6 records): the same")
	})
}

// A gate ends the run over a call that was decided while another one ran, which then asks: it is
// asked too late, and was not executed.
func TestReplayOfARoundThatIsBlockedBeforeACallAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *recorder
		var run mailbox.Receipt
		blocks := code{
			mode: agent.ParallelBatchApproval,
			gate: func(c plugin.GateCall) (plugin.Verdict, error) {
				switch {
				case c.CallIndex == 0:
					return plugin.Allow, nil
				case c.Resume == nil:
					return plugin.Suspend(core.TicketRequest{Action: "ask"}), nil
				}
				return plugin.Block("no"), nil
			},
			turns: callsTwice,
		}
		blocks.run = func(context.Context, tool.Call) (tool.Result, error) {
			err := decide(t.Context(), r.Host, run.RunID, 1, core.DecisionResume)
			time.Sleep(5 * time.Second)
			return tool.Suspended(core.TicketRequest{Action: "ask"}), err
		}
		r = newRecorder(t, blocks)
		run = r.submit(t, "hi", "")
		r.work(t)
		r.wantReplay(t, blocks, run, "thread t1 run RUN1 (agent a, 1 steps, 6 records): the same")
	})
}

// A call is denied while another one runs, by a process that does not tell that one. The gate of a
// third one, which is decided before the next claim, ends the run: the denied call was not executed.
func TestReplayOfARoundThatIsBlockedBeforeADenialCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *recorder
		var other *host.Host
		var run mailbox.Receipt
		blocks := code{
			mode: agent.ParallelStreaming,
			gate: func(c plugin.GateCall) (plugin.Verdict, error) {
				switch {
				case c.CallIndex == 1:
					return plugin.Allow, nil
				case c.Resume == nil:
					return plugin.Suspend(core.TicketRequest{Action: "ask"}), nil
				}
				return plugin.Block("no"), nil
			},
			turns: func(step int, yield func(model.Delta, error) bool, q model.Request) {
				_ = yield(model.Delta{Type: model.DeltaToolStart, Name: "work"}, nil) && yield(model.Delta{Type: model.DeltaToolArgument, Text: "{}"}, nil)
				callsTwice(step, yield, q)
			},
		}
		blocks.apply = func(v, u int) int { return 10*v + u } // in the order of the calls' results
		blocks.after = func(c plugin.AfterTool) (state.Command, error) {
			return tally{code: blocks}.key().Update(c.CallIndex + 2), nil
		}
		blocks.run = func(context.Context, tool.Call) (tool.Result, error) {
			err := decide(t.Context(), other, run.RunID, 2, core.DecisionCancel)
			time.Sleep(time.Second) // before the step looks at the head
			return tool.NewResult("done"), err
		}
		r = newRecorder(t, blocks)
		other = r.another(t, blocks, r.store)
		run = r.submit(t, "hi", "")
		first := r.hints[0]
		r.hints = nil
		if errs := r.WorkBatch(t.Context(), []core.WakeUp{first}); errs[0] != nil {
			t.Fatal(errs)
		}
		if err := decide(t.Context(), other, run.RunID, 0, core.DecisionResume); err != nil {
			t.Fatal(err)
		}
		r.work(t)
		r.wantReplay(t, blocks, run, "thread t1 run RUN1 (agent a, 1 steps, 7 records): the same")
	})
}

// Of three calls two wait, and are decided while the third one works. The first is denied, the
// gate of the second ends the run, and the third, which asks then, was not executed.
func TestReplayOfARoundThatIsBlockedAfterADenial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *recorder
		var run mailbox.Receipt
		blocks := code{
			mode: agent.ParallelBatchApproval,
			gate: func(c plugin.GateCall) (plugin.Verdict, error) {
				switch {
				case c.CallIndex != 1:
					return plugin.Allow, nil
				case c.Resume == nil:
					return plugin.Suspend(core.TicketRequest{Action: "ask"}), nil
				}
				return plugin.Block("no"), nil
			},
			turns: calls(3),
		}
		blocks.run = func(ctx context.Context, c tool.Call) (tool.Result, error) {
			if c.Index == 0 {
				return tool.Suspended(core.TicketRequest{Action: "ask"}), nil
			}
			time.Sleep(time.Second)
			err := decide(ctx, r.Host, run.RunID, 1, core.DecisionResume)
			if err == nil {
				err = decide(ctx, r.Host, run.RunID, 0, core.DecisionCancel)
			}
			time.Sleep(5 * time.Second)
			return tool.Suspended(core.TicketRequest{Action: "ask"}), err
		}
		r = newRecorder(t, blocks)
		run = r.submit(t, "hi", "")
		r.work(t)
		r.wantReplay(t, blocks, run, "thread t1 run RUN1 (agent a, 1 steps, 7 records): the same")
	})
}

// A call is denied while another one works, and then a gate ends the run over a call before it.
func TestReplayOfADenialBeforeTheRoundIsBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *recorder
		var run mailbox.Receipt
		blocks := code{mode: agent.ParallelStreaming, gate: blocksFirst, turns: calls(3)}
		blocks.run = func(ctx context.Context, c tool.Call) (tool.Result, error) {
			if c.Index == 2 {
				return tool.Suspended(core.TicketRequest{Action: "ask"}), nil
			}
			time.Sleep(time.Second)
			err := decide(ctx, r.Host, run.RunID, 2, core.DecisionCancel)
			time.Sleep(5 * time.Second)
			if err == nil {
				err = decide(ctx, r.Host, run.RunID, 0, core.DecisionResume)
			}
			time.Sleep(5 * time.Second)
			return tool.NewResult("done"), err
		}
		r = newRecorder(t, blocks)
		run = r.submit(t, "hi", "")
		r.work(t)
		r.wantReplay(t, blocks, run, "thread t1 run RUN1 (agent a, 1 steps, 7 records): the same")
	})
}

// blocksFirst is a gate that asks about the first call, and ends the run over it.
func blocksFirst(c plugin.GateCall) (plugin.Verdict, error) {
	switch {
	case c.CallIndex != 0:
		return plugin.Allow, nil
	case c.Resume == nil:
		return plugin.Suspend(core.TicketRequest{Action: "ask"}), nil
	}
	return plugin.Block("no"), nil
}

// Two people have decided about one call at the same time, and both decisions are stored. It was
// allowed, and asked again, when a gate had ended the run over another call: it was not executed.
func TestReplayOfTwoDecisionsOnACallThatWasNotExecuted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocks := code{
			mode: agent.ParallelBatchApproval,
			gate: func(c plugin.GateCall) (plugin.Verdict, error) {
				switch {
				case c.Resume == nil:
					return plugin.Suspend(core.TicketRequest{Action: "ask"}), nil
				case c.CallIndex == 1:
					return plugin.Block("no"), nil
				}
				return plugin.Allow, nil
			},
			turns: calls(2),
			run: func(context.Context, tool.Call) (tool.Result, error) {
				return tool.Suspended(core.TicketRequest{Action: "ask again"}), nil
			},
		}
		r := newRecorder(t, blocks)
		run := r.submit(t, "hi", "")
		r.work(t)
		info, err := r.ReadRun(t.Context(), ann, run.RunID)
		if err != nil {
			t.Fatal(err)
		}
		suspension := info.Tickets[0].Suspension.ID
		name := func(id string) string { // of the record of a decision
			return recordname.Decision(run.RunID, 2, 0, thread.DecisionKey(run.RunID, suspension, id))
		}
		id := "no"
		for name(id) > name("yes") { // the refused one is listed first
			id += "!"
		}
		payload, err := thread.Records{}.Encode("decision", &thread.DecisionRecord{Decision: core.Decision{ID: id, Action: core.DecisionCancel}, Suspension: suspension})
		if err == nil {
			err = r.store.Put(t.Context(), key, store.Record{Name: name(id), Payload: payload})
		}
		if err == nil {
			_, err = r.Decide(t.Context(), ann, run.RunID, mailbox.Deciding{Target: suspension, Decision: core.Decision{ID: "yes", Action: core.DecisionResume}})
		}
		if err == nil {
			err = decide(t.Context(), r.Host, run.RunID, 1, core.DecisionResume)
		}
		if err != nil {
			t.Fatal(err)
		}
		r.work(t)
		r.wantReplay(t, blocks, run, "thread t1 run RUN1 (agent a, 1 steps, 6 records): the same")
	})
}
