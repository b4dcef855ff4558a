package host_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/tool"
)

// receiver is a publisher that remembers what it was sent, and what it took.
type receiver struct {
	mu    sync.Mutex
	fails func(a mailbox.Announcement, tries int) bool // nil: it takes everything
	tries map[string]int                               // by id
	took  []mailbox.Announcement
}

func (r *receiver) Publish(_ context.Context, a mailbox.Announcement) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tries == nil {
		r.tries = map[string]int{}
	}
	r.tries[a.ID]++
	if r.fails != nil && r.fails(a, r.tries[a.ID]) {
		return errReset
	}
	r.took = append(r.took, a)
	return nil
}

// lines are what was taken, without the ids of runs.
func (r *receiver) lines() (lines []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.took {
		line := fmt.Sprintf("%s %s/%s %s %d", a.Type, a.Tenant, a.ThreadID, a.AgentID, a.Steps)
		if a.Termination != nil {
			line += " " + string(a.Termination.Type) + a.Termination.Code + a.Termination.Detail
		}
		for _, t := range a.Tickets {
			line += fmt.Sprintf(" [%s %s %s]", t.Tool, t.Action, t.Kind)
		}
		if a.Missed > 0 {
			line += fmt.Sprintf(" missed %d", a.Missed)
		}
		lines = append(lines, line)
	}
	return lines
}

// askOnce is a tool that waits for a person once.
func askOnce() tool.Tool {
	return tool.New(tool.Spec{Name: "ask", Description: "Asks."}, func(_ context.Context, c tool.Call, _ struct{}) (tool.Result, error) {
		if c.Resume != nil {
			return tool.NewResult("allowed"), nil
		}
		return tool.Suspended(core.TicketRequest{Action: "tool:ask", Message: "a secret"}), nil
	})
}

func withAsk(to mailbox.Publisher) func(*host.Options) {
	return func(c *host.Options) {
		c.Agents.Tools = append(c.Agents.Tools, askOnce())
		c.Publisher = to
	}
}

func (r *rig) decide(process *host.Host, run core.ID) {
	r.t.Helper()
	read, err := process.ReadRun(r.t.Context(), local, run)
	if err != nil || len(read.Tickets) != 1 {
		r.t.Fatalf("run %+v, %v; want one ticket", read, err)
	}
	_, err = process.Decide(r.t.Context(), local, run, mailbox.Deciding{
		Target: read.Tickets[0].Suspension.ID, Decision: core.Decision{ID: "yes", Action: core.DecisionResume},
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// A run waits, is approved and ends; its end is published once to a publisher that
// fails twice, and each try has the same id. Nothing of what was said is in it.
func TestWhatHappensToARunIsPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		to := &receiver{fails: func(a mailbox.Announcement, tries int) bool { return a.Type == mailbox.RunEnded && tries <= 2 }}
		process := r.process("w", r.store, withAsk(to))
		s := submission("t1", "call: ask")
		receipt, err := process.Submit(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		r.settle(process, s.Thread)
		waiting := []string{"run.waiting local/t1 demo 1 [ask tool:ask person]"}
		if diff := cmp.Diff(waiting, to.lines()); diff != "" {
			t.Errorf("while it waits (-want +got):\n%s", diff)
		}
		r.decide(process, receipt.RunID)
		began := time.Now()
		r.settle(process, s.Thread)
		if diff := cmp.Diff(append(waiting, "run.ended local/t1 demo 2 natural_end"), to.lines()); diff != "" {
			t.Errorf("when it is over (-want +got):\n%s", diff)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("two failed tries took %s", took)
		}
		end := to.took[1]
		if to.tries[end.ID] != 3 || !strings.HasPrefix(end.ID, receipt.RunID.String()+".") || !strings.HasSuffix(end.ID, ".ended") {
			t.Errorf("%d tries of %s", to.tries[end.ID], end.ID)
		}
		if end.RunID != receipt.RunID || end.At.IsZero() || end.Usage.Input == 0 {
			t.Errorf("the end is %+v", end)
		}
	})
}

// The newest state counts: while the publisher takes nothing, what is not true any
// more is dropped, and of many ends the last ones are kept, with the number of the
// others.
func TestWhatIsNotTakenForLongIsCoalesced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		down := true
		to := &receiver{fails: func(mailbox.Announcement, int) bool { return down }}
		process := r.process("w", r.store, withAsk(to))
		key := core.ThreadKey{Tenant: "local", Thread: "t1"}
		work := func() {
			for range 20 {
				for hint, ok := r.queue.Receive(); ok; hint, ok = r.queue.Receive() {
					if err := process.WorkLocal(t.Context(), hint); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(100 * time.Millisecond)
			}
		}
		for i := range 3 {
			receipt, err := process.Submit(t.Context(), submission("t1", "call: ask"))
			if err != nil {
				t.Fatal(err)
			}
			work()
			if head := r.head(key); len(head.Outbox) != i+1 {
				t.Fatalf("%d announcements stand in the head, want %d", len(head.Outbox), i+1)
			}
			r.decide(process, receipt.RunID)
			work()
		}
		for _, text := range []string{"echo: four", "echo: five", "call: ask"} {
			if _, err := process.Submit(t.Context(), submission("t1", text)); err != nil {
				t.Fatal(err)
			}
			work()
		}
		down = false
		time.Sleep(3 * time.Minute)
		r.settle(process, key)
		want := []string{
			"run.ended local/t1 demo 2 natural_end missed 2",
			"run.ended local/t1 demo 2 natural_end",
			"run.ended local/t1 demo 2 natural_end",
			"run.waiting local/t1 demo 1 [ask tool:ask person]",
		}
		if diff := cmp.Diff(want, to.lines()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Whoever ends a run without a worker wakes one to say so; also of a run that no step
// has begun, and of a thread that is gone.
func TestEndsWithoutAStepArePublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		to := &receiver{}
		door := r.process("door", r.store, func(c *host.Options) { c.Announce = true })
		worker := r.process("w", r.store, withAsk(to))
		s := submission("t1", "echo: never")
		receipt, err := door.Submit(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		r.queue.Clear()
		if err := door.CancelRun(t.Context(), local, receipt.RunID); err != nil {
			t.Fatal(err)
		}
		r.settle(worker, s.Thread)
		if diff := cmp.Diff([]string{"run.ended local/t1 demo 0 cancelled"}, to.lines()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// An inline run is told of by a worker, for its stream should end when the run does.
func TestAnInlineRunIsToldOfByAWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		to := &receiver{}
		door := r.process("door", r.store, func(c *host.Options) { c.Announce = true })
		worker := r.process("w", r.store, withAsk(to))
		s := submission("t1", "echo: hello")
		if _, err := door.Stream(t.Context(), s, host.ListenerFunc(func(core.Event) error { return nil })); err != nil {
			t.Fatal(err)
		}
		if len(to.took) != 0 {
			t.Errorf("published already: %v", to.lines())
		}
		began := time.Now()
		r.settle(worker, s.Thread)
		if diff := cmp.Diff([]string{"run.ended local/t1 demo 2 natural_end"}, to.lines()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// Whatever fails, and wherever a process dies, an end is published, at most twice.
func TestEndIsPublishedWhateverFails(t *testing.T) {
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			operations := 0
			for k, reached := 1, true; reached; k++ {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t)
					to := &receiver{}
					way := newWay(r.store)
					way.fault, way.at = fault, k
					publish := func(c *host.Options) { c.Publisher = to }
					process := r.process("first", way, publish)
					s := submission("t1", "echo: hello")
					s.Key.Value = "once"
					begun := r.through(way, process, func() (mailbox.Receipt, error) { return process.Submit(t.Context(), s) })
					if way.isDead() || way.isAsleep() {
						process = r.process("second", r.store, publish)
					}
					r.settle(process, s.Thread)
					if _, refused := begun(); refused != nil {
						if _, err := process.Submit(t.Context(), s); err != nil {
							t.Fatal(err)
						}
					}
					r.settle(process, s.Thread)
					ends := map[string]int{}
					for _, a := range to.took {
						ends[a.ID]++
					}
					if len(ends) != 1 || len(to.took) > 2 {
						t.Errorf("operation %d: published %v", k, ends)
					}
					if reached = way.reached(); reached {
						operations++
					}
				})
			}
			if operations < 8 {
				t.Errorf("%d operations had the fault", operations)
			}
		})
	}
}
