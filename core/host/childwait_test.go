package host_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/tool"
)

// withDelegate are parts whose agent leaves work to the agent helper.
func withDelegate() agent.Parts {
	parts := soloParts()
	parts.Tools = append(parts.Tools, delegate())
	parts.Specs = append(parts.Specs, agent.Spec{ID: "helper", Model: "m"})
	return parts
}

// nap is a tool that waits for ten seconds.
func nap() tool.Tool {
	var began time.Time
	return tool.New(tool.Spec{Name: "nap"}, func(_ context.Context, c tool.Call, _ struct{}) (tool.Result, error) {
		if c.Resume == nil {
			began = time.Now()
			return tool.Suspended(core.TicketRequest{Kind: core.TicketTimer, WakeAt: began.Add(10 * time.Second)}), nil
		}
		return tool.NewResult("woken after " + time.Since(began).Round(time.Second).String()), nil
	})
}

// A run in memory that waits for child runs goes on: the call that waits for it steps the
// children too.
func TestACallThatWaitsStepsTheChildrenOfItsRun(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"one", `call: delegate {"prompt":"echo: hello","mode":"replay_tool_call"}`, "The result of delegate: natural_end after 2: Echo: hello"},
		{"one that waits for a time", `call: delegate {"prompt":"call: nap {}","mode":"replay_tool_call"}`,
			"The result of delegate: natural_end after 2: The result of nap: woken after 10s"},
		{"a child's child", `call: delegate {"prompt":"call: delegate {\"prompt\":\"echo: deep\",\"mode\":\"replay_tool_call\"}","mode":"replay_tool_call"}`,
			"The result of delegate: natural_end after 2: The result of delegate: natural_end after 2: Echo: deep"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parts := withDelegate()
				parts.Tools = append(parts.Tools, nap())
				r := newSolo(t, parts)
				result, err := r.Run(t.Context(), "demo", test.text)
				if err != nil || result.Text != test.want || result.Termination.Type != core.TerminationNatural {
					t.Errorf("%q, %+v, %v; want %q", result.Text, result.Termination, err, test.want)
				}
			})
		})
	}
}

// The stream of such a run stays open while it waits for a child.
func TestTheEventsOfARunGoOnPastAWaitForAChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newSolo(t, withDelegate())
		var got []core.EventType
		for e, err := range r.Events(t.Context(), "demo", `call: delegate {"prompt":"hello","mode":"replay_tool_call"}`) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Type != core.EventTextDelta && e.Type != core.EventToolCallDelta && e.Child == nil {
				got = append(got, e.Type)
			}
		}
		want := []core.EventType{
			core.EventRunStart, core.EventStepStart, core.EventToolCallStart, core.EventToolCallReady, core.EventInferenceComplete,
			core.EventToolCallSuspended, core.EventToolCallResumed, core.EventToolCallDone, core.EventStepEnd,
			core.EventStepStart, core.EventInferenceComplete, core.EventStepEnd, core.EventRunFinish,
		}
		if diff := cmp.Diff(want, slices.DeleteFunc(got, func(e core.EventType) bool { return e == core.EventStateDelta })); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// A run whose child waits for a person waits for that person too, and goes on with the
// decision on the child.
func TestARunWhoseChildAsksAPersonWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newSolo(t, withDelegate())
		result, err := r.Run(t.Context(), "demo", `call: delegate {"prompt":"approve: it","mode":"replay_tool_call"}`)
		if err != nil || result.Termination.Type != core.TerminationSuspended || len(result.Tickets) != 1 || result.Tickets[0].Kind != core.TicketChild {
			t.Fatalf("%+v, %d tickets, %v; want it suspended for its child", result.Termination, len(result.Tickets), err)
		}
		page, err := r.Approvals(t.Context(), core.Identity{}, host.ApprovalQuery{})
		if err != nil || len(page.Items) != 1 {
			t.Fatalf("%d approvals, %v", len(page.Items), err)
		}
		asked := page.Items[0]
		if _, err := r.Decide(t.Context(), core.Identity{}, asked.RunID, host.Approve(asked.Ticket)); err != nil {
			t.Fatal(err)
		}
		done, err := r.Await(t.Context(), core.Identity{}, result.Run.ID)
		if want := "The result of delegate: natural_end after 2: Done: it"; err != nil || done.Text != want {
			t.Errorf("%q, %v; want %q", done.Text, err, want)
		}
	})
}

// A run that waits for a child which waits for a person costs nothing for a day: each sweep looks
// at the 16 shards of the index, and neither thread is there. A hint that is sent anyway
// reads one head.
func TestOperationsOfARunThatWaitsForAChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		way := newWay(r.store)
		process := r.process("w", indexed{way}, withHelper)
		s := submission("t1", `call: delegate {"prompt":"call: ask"}`)
		_, child := r.delegates(process, s)
		workNext(t, r, process)
		if parent, asks := r.head(s.Thread).Run, r.head(child).Run; parent.Status != thread.Waiting || asks.Status != thread.Waiting {
			t.Fatalf("the parent is %s, the child %s; want both to wait", parent.Status, asks.Status)
		}
		way.counts()
		sent, woken := r.queue.Asked(), 0
		for range 24 * 60 {
			time.Sleep(time.Minute)
			n, err := process.Sweep(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			woken += n
		}
		wantCounts(t, "a day of sweeps", way, counts{"overdue": 23_040})
		if sent = r.queue.Asked() - sent; sent != 0 || woken != 0 || len(r.queue.Messages()) != 0 {
			t.Errorf("%d hints were sent, %d threads woken, and the queue has %d hints; want none", sent, woken, len(r.queue.Messages()))
		}
		for _, id := range []string{"t1", child.Thread} {
			if err := process.WorkLocal(t.Context(), core.WakeUp{Tenant: "local", Thread: id}); err != nil {
				t.Fatal(err)
			}
			wantCounts(t, "a hint of "+id, way, counts{"head": 1})
		}
	})
}

// turnThenWords is a model that answers with a turn of calls, and their results with words, one
// each 700 ms.
type turnThenWords struct {
	calls scripted.Turn
	words drawl
}

func (m turnThenWords) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	if r.Messages[len(r.Messages)-1].Role == core.RoleTool {
		return m.words.Stream(ctx, r)
	}
	return scripted.Turns(m.calls).Stream(ctx, r)
}

// A call that steps a child run of the background shows what its own run does while another call
// steps that: the results of the calls first, and then the words that follow from them.
func TestACallThatStepsAChildRunShowsItsOwnRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parts := withNap()
		parts.Models["m"] = agent.ModelBinding{Model: humming{scripted.Rules()}}
		parts.Models["turns"] = agent.ModelBinding{Model: turnThenWords{
			scripted.Turn{Calls: []core.ToolCall{
				scripted.Call("delegate", delegateArguments{Prompt: "hum: 1 2 3 4 5 6 7 8 9", Background: true}),
				scripted.Call("delegate", delegateArguments{Prompt: "hum: a b", Mode: "replay_tool_call"}),
			}}, drawl{"All ", "done."},
		}}
		parts.Specs = append(parts.Specs, agent.Spec{ID: "boss", Model: "turns", ExecutionMode: agent.ParallelStreaming})
		r := onStore(t, memory.New(), parts)
		began := time.Now()
		aside := make(chan error)
		go func() { // it waits, and takes the steps that are due and that the stream's call does not
			time.Sleep(500 * time.Millisecond)
			_, err := r.Play(t.Context(), submission("aside", "call: nap {}"), nil, nil)
			aside <- err
		}()
		var got []string
		for e, err := range r.Events(t.Context(), "boss", "go") {
			if err != nil {
				t.Fatal(err)
			}
			switch e.Type {
			case core.EventStepStart, core.EventTextDelta, core.EventToolCallDone, core.EventStepEnd, core.EventRunFinish:
				if e.Child == nil {
					got = append(got, fmt.Sprintf("%.1fs %s %d %s", time.Since(began).Seconds(), e.Type, e.Step, e.Delta))
				}
			}
		}
		if err := <-aside; err != nil {
			t.Error(err)
		}
		want := []string{
			"0.0s step_start 1 ", "0.0s tool_call_done 1 ",
			"1.4s tool_call_done 1 ", "1.4s step_end 1 ", "1.4s step_start 2 ",
			"2.1s text_delta 2 All ", "2.8s text_delta 2 done.", "2.8s step_end 2 ", "2.8s run_finish 2 ",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
