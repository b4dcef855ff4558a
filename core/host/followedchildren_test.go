package host_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

// bossed gives a process the agents of delegates.
func bossed(prompts ...string) func(*host.Options) {
	return func(c *host.Options) { c.Agents = partsWithDelegates(withNap(), prompts...) }
}

// asks is a submission for the agent boss.
func asksBoss() (s mailbox.Submission) {
	s = submission("t1", "go")
	s.Opening.AgentID = "boss"
	return s
}

// works lets a process take the steps of all threads, side by side, until the test ends.
func (r *rig) works(process *host.Host) {
	done := make(chan struct{})
	r.t.Cleanup(func() { close(done) })
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(10 * time.Millisecond):
			}
			for hint, ok := r.queue.Receive(); ok; hint, ok = r.queue.Receive() {
				go func() {
					if process.WorkLocal(context.Background(), hint) != nil {
						_ = r.queue.Wake(context.Background(), hint, time.Second)
					}
				}()
			}
		}
	}()
}

// A stream shows what the child runs do that other processes step, and a reader that comes later
// is shown it too, from what they do then.
func TestAStreamShowsChildRunsOfAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		change := bossed("hum: one two three four", "approve: it")
		a, b := r.process("a", r.store, change), r.process("b", r.store, change)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r.t = t
		r.works(b)
		got, late := newFamily(), newFamily()
		receipt := make(chan core.ID, 1)
		go func() {
			time.Sleep(2050 * time.Millisecond)
			late.began = got.began
			if err := a.Follow(ctx, local, <-receipt, host.ListenerFunc(late.sink)); err != nil {
				t.Error(err)
			}
		}()
		_, err := a.Stream(ctx, asksBoss(), host.ListenerFunc(func(e core.Event) error {
			if e.Type == core.EventRunStart {
				receipt <- e.RunID
			}
			return got.sink(e)
		}))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		inTime := []string{
			"0.0s call 1 helper created, 0 steps", "0.0s call 2 helper created, 0 steps",
			"0.0s tool_call_suspended of call 1", "0.0s tool_call_suspended of call 2",
			"0.5s call 1 helper running, 0 steps", "0.5s call 2 helper waiting, 0 steps",
			"0.5s tool_call_suspended of call 2: danger",
			`2.5s call 1 helper running, 0 steps, says "one two "`, // what was said until the mark is stored then
			`3.0s call 1 helper done, 1 steps, says "one two three four", natural_end`,
			"3.0s tool_call_done of call 1",
			"3.0s run_finish suspended",
		}
		lately := []string{
			`2.0s call 1 helper running, 0 steps, says "one two "`,
			"2.0s call 2 helper waiting, 0 steps",
			"2.0s tool_call_suspended of call 1", "2.0s tool_call_suspended of call 2",
			"2.0s tool_call_suspended of call 2: danger",
			`3.0s call 1 helper done, 1 steps, says "one two three four", natural_end`,
			"3.0s tool_call_done of call 1",
			"3.0s run_finish suspended",
		}
		if diff := cmp.Diff(inTime, got.stable()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(lately, late.stable()); diff != "" {
			t.Errorf("late (-want +got):\n%s", diff)
		}
	})
}

// A call of a child run is decided through the run that has started it, directly or through
// others. The stream of the decision continues where the run waited.
func TestACallOfAChildRunIsDecidedThroughItsParent(t *testing.T) {
	for name, test := range map[string]struct {
		prompt      string
		want, again []string
	}{
		"a child": {"approve: it", []string{
			`0.0s call 1 helper done, 2 steps, says "Done: it", natural_end`,
			"0.0s tool_call_done of call 1", "0.0s tool_call_done of call 1: danger", "0.0s run_finish natural_end",
		}, []string{
			`0.0s call 1 helper done, 2 steps, says "Done: it", natural_end`,
			"0.0s tool_call_done of call 1", "0.0s tool_call_done of call 1: danger", "0.0s run_finish natural_end",
		}},
		"a child's child": {`call: delegate {"prompt":"approve: it","mode":"replay_tool_call"}`, []string{
			`0.0s call 1 helper done, 2 steps, says "The result of delegate: natural_end after 2: Done: it", natural_end`,
			`0.0s call 1's helper done, 2 steps, says "Done: it", natural_end`,
			"0.0s tool_call_done of call 1's: danger",
			"0.1s tool_call_done of call 1", "0.1s run_finish natural_end",
		}, []string{
			"0.0s tool_call_done of call 1", "0.0s run_finish natural_end",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				a := r.process("a", r.store, bossed(test.prompt))
				r.works(a)
				got := newFamily()
				receipt, err := a.Stream(t.Context(), asksBoss(), host.ListenerFunc(got.sink))
				if err != nil {
					t.Fatal(err)
				}
				read, err := a.ReadRun(t.Context(), local, receipt.RunID)
				if err != nil || len(read.ChildTickets()) != 1 || len(read.Tickets) != 1 {
					t.Fatalf("%+v, %v; want one ticket of a child", read, err)
				}
				asked, shown := read.ChildTickets()[0], got.child["tool_call_suspended"]
				if diff := cmp.Diff(*shown.Child, asked.ChildRun); diff != "" || asked.CallID != shown.CallID || asked.AgentID != "helper" || asked.ParentCall == "" {
					t.Errorf("the run has the ticket %+v, the stream %+v", asked, shown)
				}
				decision := host.Approve(asked.Ticket)
				decision.Run = asked.RunID
				next := newFamily()
				next.names, next.calls = got.names, got.calls
				if _, err := a.StreamDecisions(t.Context(), local, "t1", []mailbox.Deciding{decision}, host.ListenerFunc(next.sink)); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, next.stable()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				// A client that did not see the end sends the decision again when all is over.
				retry := newFamily()
				retry.names, retry.calls = got.names, got.calls
				if _, err := a.StreamDecisions(t.Context(), local, "t1", []mailbox.Deciding{decision}, host.ListenerFunc(retry.sink)); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.again, retry.stable()); diff != "" {
					t.Errorf("again (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A decision through a run is refused on a run that the run has not started, and on the call
// that waits for a child run. Repeated it changes nothing.
func TestWhichDecisionsThroughAParentAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		a := r.process("a", r.store, bossed("approve: it"))
		r.works(a)
		s := asksBoss()
		s.User = "ann"
		receipt, err := a.Stream(t.Context(), s, host.ListenerFunc(newFamily().sink))
		if err != nil {
			t.Fatal(err)
		}
		other := submission("t2", "approve: that")
		other.User = "ann"
		stranger, err := a.Stream(t.Context(), other, host.ListenerFunc(newFamily().sink))
		if err != nil {
			t.Fatal(err)
		}
		ann := core.Identity{Tenant: "local", User: "ann"}
		read, err := a.ReadRun(t.Context(), ann, receipt.RunID)
		if err != nil || len(read.ChildTickets()) != 1 {
			t.Fatalf("%+v, %v", read, err)
		}
		child := read.ChildTickets()[0]
		parent, run := receipt.RunID.String(), child.RunID.String()
		strange := func(run string) string {
			return "run " + run + " was not started by run " + parent + ", or by a run that it has started"
		}
		waits := "tool call " + read.Tickets[0].CallID + ": the call waits for a child run, whose end alone decides it"
		for name, test := range map[string]struct {
			user, target   string
			run            core.ID
			code           core.Code
			byRun, byOther string // the error through the run, and through its thread
		}{
			"another run":  {"ann", child.CallID, stranger.RunID, core.CodeNotFound, strange(stranger.RunID.String()), `tool call or suspension "` + child.CallID + `" that waits: not found`},
			"another user": {"bob", child.CallID, child.RunID, core.CodeNotFound, strange(run), "thread t1 not found"},
			"no such call": {"ann", "nothing", child.RunID, core.CodeNotFound, `tool call or suspension "nothing" that waits: not found`, `tool call or suspension "nothing" that waits: not found`},
			"its own call": {"ann", read.Tickets[0].CallID, receipt.RunID, core.CodeChild, waits, waits},
		} {
			id := core.Identity{Tenant: "local", User: test.user}
			d := mailbox.Deciding{Run: test.run, Target: test.target, Decision: core.Decision{Action: core.DecisionResume}}
			_, byRun := a.Decide(t.Context(), id, receipt.RunID, d)
			_, byThread := a.DecideThread(t.Context(), id, "t1", d)
			_, streamed := a.StreamDecisions(t.Context(), id, "t1", []mailbox.Deciding{d}, host.ListenerFunc(newFamily().sink))
			for _, got := range []struct {
				err  error
				want string
			}{{byRun, test.byRun}, {byThread, test.byOther}, {streamed, test.byOther}} {
				if fmt.Sprint(got.err) != got.want || core.CodeOf(got.err) != test.code {
					t.Errorf("%s: %v (%s), want %s", name, got.err, core.CodeOf(got.err), got.want)
				}
			}
		}
		// A stream of a decision that is repeated begins where the first one did.
		decision := host.Approve(child.Ticket)
		decision.Run = child.RunID
		for i, duplicate := range []bool{false, true} {
			got := newFamily()
			decided, err := a.StreamDecisions(t.Context(), ann, "t1", []mailbox.Deciding{decision}, host.ListenerFunc(got.sink))
			if err != nil || len(decided) != 1 || decided[0].Duplicate != duplicate || decided[0].RunID != child.RunID || got.last.Response != "All done." {
				t.Errorf("decision %d: %+v, %v, the stream ends with %+v", i+1, decided, err, got.last)
			}
		}
		if got, err := a.Decide(t.Context(), ann, receipt.RunID, decision); err != nil || !got.Duplicate {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
