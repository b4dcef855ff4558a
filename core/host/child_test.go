package host_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/tool"
)

type delegateArguments struct {
	Prompt     string `json:"prompt"`
	Mode       string `json:"mode,omitempty"` // resume mode
	Background bool   `json:"background,omitempty"`
	Thread     string `json:"thread,omitempty"`
	Kept       string `json:"kept,omitempty"`
}

// delegate is a tool that leaves its work to a run of the agent helper.
func delegate() tool.Tool {
	return tool.New(tool.Spec{Name: "delegate", Description: "Has a helper do it."}, func(ctx context.Context, c tool.Call, a delegateArguments) (tool.Result, error) {
		if end, ok := c.ChildEnd(); ok {
			return tool.NewResult(fmt.Sprintf("%s after %d: %s", end.Termination.Type, end.Steps, end.Response)), nil
		}
		run, err := c.Start(ctx, tool.Child{
			Agent: "helper", Thread: a.Thread, Kept: a.Kept, Messages: []core.Message{core.UserMessage(a.Prompt)}, Background: a.Background,
		})
		if err != nil || a.Background {
			return tool.NewResult("started"), err
		}
		return tool.AwaitChild(run, core.ResumeMode(a.Mode)), nil
	})
}

func withHelper(c *host.Options) {
	c.Agents.Tools = append(c.Agents.Tools, delegate(), askOnce())
	c.Agents.Specs = append(c.Agents.Specs, agent.Spec{ID: "helper", Model: "m"})
}

// childOf is the thread of the only child of the thread t1.
func (r *rig) childOf(process *host.Host) core.ThreadKey {
	r.t.Helper()
	head := r.head(core.ThreadKey{Tenant: "local", Thread: "t1"})
	return core.ThreadKey{Tenant: "local", Thread: fmt.Sprintf("child.%s.%d.0", head.Run.ID, head.Run.Base-1)}
}

// A call waits for a child run without a claim, and goes on with what the child came
// to: as its result, or in the tool again.
func TestParentGoesOnWithTheChildsEnd(t *testing.T) {
	tests := []struct{ mode, want string }{
		{"replay_tool_call", `natural_end after 2: Echo: hello`},
		{"use_decision_as_tool_result", `"termination":{"type":"natural_end"},"response":"Echo: hello","steps":2`},
	}
	for _, tt := range tests {
		t.Run(tt.mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				process := r.process("w", r.store, withHelper)
				s := submission("t1", `call: delegate {"prompt":"echo: hello","mode":"`+tt.mode+`"}`)
				receipt, err := process.Submit(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				hint, _ := r.queue.Receive()
				if err := process.WorkLocal(t.Context(), hint); err != nil {
					t.Fatal(err)
				}
				head := r.head(s.Thread)
				if head.Run.Status != thread.Waiting || head.Claim.Fence != 0 || len(head.Tickets) != 1 || head.Tickets[0].Kind != thread.TicketChild {
					t.Fatalf("the parent does not wait for a child: %+v", head)
				}
				child := r.childOf(process)
				waitsFor := host.CallChild{RunID: core.ID{}, ThreadID: child.Thread, AgentID: "helper"}
				waits := stepCall(t, process, receipt.RunID)
				if waits.Child != nil {
					waitsFor.RunID = waits.Child.RunID
				}
				if diff := cmp.Diff(&waitsFor, waits.Child); diff != "" || waitsFor.RunID.IsZero() {
					t.Errorf("while the call waits it has the child (-want +got):\n%s", diff)
				}
				r.settle(process, s.Thread, child)
				if diff := cmp.Diff(&waitsFor, stepCall(t, process, receipt.RunID).Child); diff != "" {
					t.Errorf("with its result it has the child (-want +got):\n%s", diff)
				}
				read, err := process.ReadRun(t.Context(), local, receipt.RunID)
				if err != nil || read.Status != core.RunDone || !strings.Contains(read.Response, tt.want) {
					t.Errorf("run %+v, %v; want a response with %s", read, err, tt.want)
				}
				if r.runs[child.Thread+" hello"] != 1 {
					t.Errorf("the child's tool ran %d times", r.runs[child.Thread+" hello"])
				}
			})
		})
	}
}

// stepCall is the wait of the first call of a run.
func stepCall(t *testing.T, process *host.Host, run core.ID) host.CallWait {
	t.Helper()
	page, err := process.Steps(t.Context(), local, run, host.StepQuery{})
	if err != nil || len(page.Steps) == 0 || len(page.Steps[0].Calls) == 0 {
		t.Fatalf("%+v, %v", page, err)
	}
	return page.Steps[0].Calls[0].Wait
}

// A child that waits for a person is resumed on its own thread: the parent keeps
// waiting until the child is over.
func TestDecisionOnAChildsTicketContinuesTheChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		to := &receiver{}
		process := r.process("w", r.store, withHelper, func(c *host.Options) { c.Publisher = to })
		s := submission("t1", `call: delegate {"prompt":"call: ask","mode":"replay_tool_call"}`)
		receipt, child := r.delegates(process, s)
		r.settle(process, s.Thread, child)
		waits, asks := r.head(s.Thread), r.head(child)
		if waits.Run.Status != thread.Waiting || asks.Run.Status != thread.Waiting {
			t.Fatalf("the parent is %s, the child %s", waits.Run.Status, asks.Run.Status)
		}
		if diff := cmp.Diff([]string{"run.waiting local/" + child.Thread + " helper 1 [ask tool:ask person]"}, to.lines()); diff != "" {
			t.Errorf("published (-want +got):\n%s", diff)
		}
		r.decide(process, asks.Run.ID)
		if head := r.head(s.Thread); head.Version != waits.Version {
			t.Errorf("the decision on the child changed the parent")
		}
		r.settle(process, s.Thread, child)
		read, err := process.ReadRun(t.Context(), local, receipt.RunID)
		if err != nil || read.Status != core.RunDone || !strings.Contains(read.Response, "natural_end after 2: ") {
			t.Errorf("run %+v, %v", read, err)
		}
	})
}

// delegates submits what makes the model delegate, and does the first step. It returns the
// receipt and the child's thread.
func (r *rig) delegates(process *host.Host, s mailbox.Submission) (mailbox.Receipt, core.ThreadKey) {
	r.t.Helper()
	receipt, err := process.Submit(r.t.Context(), s)
	if err != nil {
		r.t.Fatal(err)
	}
	hint, _ := r.queue.Receive()
	if err := process.WorkLocal(r.t.Context(), hint); err != nil {
		r.t.Fatal(err)
	}
	return receipt, r.childOf(process)
}

// A child that is cancelled, also before it began, is over like any other.
func TestParentIsToldOfACancelledChild(t *testing.T) {
	for _, begun := range []bool{true, false} {
		t.Run(fmt.Sprint("begun ", begun), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				process := r.process("w", r.store, withHelper)
				s := submission("t1", `call: delegate {"prompt":"call: ask","mode":"replay_tool_call"}`)
				receipt, child := r.delegates(process, s)
				if begun {
					r.settle(process, s.Thread, child)
				} else {
					r.queue.Clear()
				}
				if _, err := process.CancelThread(t.Context(), local, child.Thread); err != nil {
					t.Fatal(err)
				}
				r.settle(process, s.Thread, child)
				read, err := process.ReadRun(t.Context(), local, receipt.RunID)
				if err != nil || read.Status != core.RunDone || !strings.Contains(read.Response, "cancelled after ") {
					t.Errorf("run %+v, %v", read, err)
				}
			})
		})
	}
}

// Whoever does not wait with a call reads of the child's end as input, if the run is
// still open; of one that is over nobody reads.
func TestParentReadsOfAChildInTheBackground(t *testing.T) {
	for _, open := range []bool{true, false} {
		t.Run(fmt.Sprint("open ", open), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				process := r.process("w", r.store, withHelper)
				s := submission("t1", `call: delegate {"prompt":"echo: hello","background":true,"thread":"aside"}`)
				if _, err := process.Submit(t.Context(), s); err != nil {
					t.Fatal(err)
				}
				hints := map[string][]core.WakeUp{}
				work := func(name string) {
					for hint, ok := r.queue.Receive(); ok; hint, ok = r.queue.Receive() {
						hints[hint.Thread] = append(hints[hint.Thread], hint)
					}
					for _, hint := range hints[name] {
						if err := process.WorkLocal(t.Context(), hint); err != nil {
							t.Fatal(err)
						}
					}
					hints[name] = nil
				}
				work("t1") // the turn and its call
				if !open {
					work("t1")
				}
				work("aside")
				work("aside")
				for _, list := range hints {
					for _, hint := range list {
						_ = r.queue.Wake(t.Context(), hint, 0)
					}
				}
				r.settle(process, s.Thread, core.ThreadKey{Tenant: "local", Thread: "aside"})
				told := 0
				for _, line := range transcript(t, process, "t1") {
					if strings.HasPrefix(line, "user: A run that you started is over: ") && strings.Contains(line, `"response":"Echo: hello"`) {
						told++
					}
				}
				if want := map[bool]int{true: 1}[open]; told != want {
					t.Errorf("told %d times, want %d:\n%s", told, want, strings.Join(transcript(t, process, "t1"), "\n"))
				}
			})
		})
	}
}

// Whatever fails, and wherever a process dies: one child, and a parent that goes on
// with its end once.
func TestChildIsToldOnceWhateverFails(t *testing.T) {
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			operations := 0
			for k, reached := 1, true; reached; k++ {
				synctest.Test(t, func(t *testing.T) {
					reached = childWithFault(t, fault, k)
					if reached {
						operations++
					}
				})
			}
			if operations < 20 {
				t.Errorf("%d operations had the fault", operations)
			}
		})
	}
}

func childWithFault(t *testing.T, fault fault, k int) (reached bool) {
	r := newRig(t)
	way := newWay(r.store)
	way.fault, way.at = fault, k
	process := r.process("first", way, withHelper)
	s := submission("t1", `call: delegate {"prompt":"echo: hello","mode":"replay_tool_call","kept":"aside"}`)
	s.Key.Value = "once"
	child := core.ThreadKey{Tenant: "local", Thread: "kept.c4b978c0f3315a1a36a0139cb750af28"}
	begun := r.through(way, process, func() (mailbox.Receipt, error) { return process.Submit(t.Context(), s) })
	if way.isDead() || way.isAsleep() {
		process = r.process("second", r.store, withHelper)
	}
	r.settle(process, s.Thread, child)
	receipt, refused := begun()
	if refused != nil {
		var err error
		if receipt, err = process.Submit(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // of the two threads, each may wake the other
		r.settle(process, s.Thread, child)
	}
	reader := r.process("reader", r.store)
	read, err := reader.ReadRun(t.Context(), local, receipt.RunID)
	if err != nil || read.Status != core.RunDone || !strings.Contains(read.Response, "natural_end after 2: Echo: hello") {
		t.Errorf("operation %d: run %+v, %v", k, read, err)
	}
	head := r.head(child)
	if head.Busy(0) || len(head.Outbox) != 0 || head.DueAt != 0 {
		t.Errorf("operation %d: the child's head %+v", k, head)
	}
	inputs := 0
	for _, line := range transcript(t, reader, child.Thread) {
		if line == "user: echo: hello" {
			inputs++
		}
	}
	if inputs != 1 {
		t.Errorf("operation %d: %d children", k, inputs)
	}
	return way.reached()
}
