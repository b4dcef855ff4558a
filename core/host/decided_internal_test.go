package host

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
	"github.com/reveille-run/reveille/core/tool"
)

// asked is a run on the thread "t" that waits for decisions on its calls.
type asked struct {
	*Host
	over    *storetest.Faulty
	queue   *mailboxtest.Queue
	run     core.ID
	tickets []core.Ticket
}

var acme = core.Identity{Tenant: "acme"}

// allows is the decision that lets a call of the run go on.
func (a *asked) allows(call int) mailbox.Deciding { return Approve(a.tickets[call]) }

// asksForEach makes each call of echo wait for a person.
func asksForEach(c *Options) {
	c.Agents.Specs[0].ExecutionMode = agent.ParallelStreaming
	c.Agents.Tools = []tool.Tool{tool.New(tool.Spec{Name: "echo"}, func(_ context.Context, c tool.Call, _ struct {
		Text string `json:"text"`
	}) (tool.Result, error) {
		if c.Resume == nil {
			return tool.Suspended(core.TicketRequest{Action: "tool:echo"}), nil
		}
		return tool.NewResult("done"), nil
	})}
}

// waitsForTwo has two calls that wait.
func waitsForTwo(t *testing.T) *asked {
	t.Helper()
	a := &asked{over: &storetest.Faulty{Backend: memory.New()}}
	a.Host, a.queue = program(t, func(c *Options) {
		c.Store = a.over
		asksForEach(c)
	})
	s := hello("t")
	s.Messages[0] = core.UserMessage("parallel: a, b")
	receipt, err := a.Stream(t.Context(), s, ListenerFunc(discard))
	if err != nil {
		t.Fatal(err)
	}
	run, err := a.ReadRun(t.Context(), acme, receipt.RunID)
	if err != nil || len(run.Tickets) != 2 {
		t.Fatalf("%+v, %v", run, err)
	}
	a.run, a.tickets = receipt.RunID, run.Tickets
	a.queue.Clear()
	return a
}

// decides takes decisions and works them off.
func (a *asked) decides(t *testing.T, calls ...int) {
	t.Helper()
	for _, i := range calls {
		if _, err := a.Decide(t.Context(), acme, a.run, a.allows(i)); err != nil {
			t.Fatal(err)
		}
		workAll(t, a.Host, a.queue)
	}
}

// A stream of decisions waits for its reader unless they let its own run go on: not while
// the run waits for others, nor when the run that goes on is another.
func TestForWhomAStreamOfDecisionsHurries(t *testing.T) {
	for name, test := range map[string]struct {
		decided []int // before
		another bool  // run is queued
		asked   int   // how often the reader is waited for
	}{
		"its run goes on":               {[]int{0}, false, 0},
		"it waits for another decision": {[]int{0}, false, 1},
		"it is over":                    {[]int{0, 1}, false, 3},
		"another run goes on":           {[]int{0, 1}, true, 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := waitsForTwo(t)
			a.decides(t, test.decided...)
			if test.another {
				if _, err := a.Submit(t.Context(), hello("t")); err != nil {
					t.Fatal(err)
				}
				head, ok, err := a.mailbox.Claim(t.Context(), core.WakeUp{Tenant: "acme", Thread: "t"}, true)
				if err != nil || !ok {
					t.Fatal(ok, err)
				}
				if _, _, err := a.mailbox.Commit(t.Context(), roundKey, head, thread.Nack{Fence: head.Claim.Fence, Kind: thread.NackGiven}, nil); err != nil {
					t.Fatal(err)
				}
			}
			all := []mailbox.Deciding{a.allows(0)}
			if name == "its run goes on" {
				all = append(all, a.allows(1))
			}
			h := &hearer{}
			if _, err := a.StreamDecisions(t.Context(), acme, "t", all, h); err != nil || h.asked != test.asked {
				t.Errorf("%s: the reader is waited for %d times, want %d, shown %q, %v", name, h.asked, test.asked, h.brief(), err)
			}
		})
	}
}

// A stream whose run another process steps waits for its reader again.
func TestAStreamThatDoesNotStepItsRunWaitsForItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := waitsForTwo(t)
		other, _ := program(t, func(c *Options) {
			c.Store, c.Waker, c.Worker = a.over, a.queue, "w8"
			asksForEach(c)
		})
		suspect := a.worker.permits.newPermit()
		if !a.worker.permits.tryAcquire(suspect, true, false) {
			t.Fatal("the suspect does not run")
		}
		h := &hearer{}
		done := make(chan error)
		go func() {
			_, err := a.StreamDecisions(t.Context(), acme, "t", []mailbox.Deciding{a.allows(0), a.allows(1)}, h)
			done <- err
		}()
		synctest.Wait()
		workAll(t, other, a.queue)
		if run, err := other.ReadRun(t.Context(), acme, a.run); err != nil || run.Status != core.RunDone {
			t.Fatalf("%+v, %v", run, err)
		}
		if err := <-done; err != nil || h.asked == 0 || a.Stats().Working != 1 {
			t.Errorf("%v, the reader is waited for %d times, %d at work, shown %q", err, h.asked, a.Stats().Working, h.brief())
		}
		suspect.release()
	})
}

// Decisions let their run go on though the client has left before the first event.
func TestARunGoesOnWithoutTheClientThatDecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := waitsForTwo(t)
		a.decides(t, 0) // whose result there is to show
		h := &hearer{failed: errors.New("gone"), at: 1}
		decided, err := a.StreamDecisions(t.Context(), acme, "t", []mailbox.Deciding{a.allows(0), a.allows(1)}, h)
		if err != nil || len(decided) != 2 || len(h.events) != 1 {
			t.Errorf("%+v, %v, shown %q", decided, err, h.brief())
		}
		run, err := a.ReadRun(t.Context(), acme, a.run)
		if err != nil || run.Status != core.RunDone || a.Stats().Working != 0 {
			t.Errorf("%+v, %v, %d at work", run, err, a.Stats().Working)
		}
	})
}

// What is refused behind decisions that were taken leaves their run to the queue, at once.
func TestDecisionsWhoseInputIsRefusedGoOnInTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := waitsForTwo(t)
		commits := 0
		a.over.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if commits++; commits > 2 {
				return store.Outcome{}, errAway
			}
			return a.over.Backend.Commit(ctx, key, c)
		}
		h := &hearer{}
		receipt, err := a.StreamAnswered(t.Context(), acme, []mailbox.Deciding{a.allows(0), a.allows(1)}, hello("t"), h)
		if !errors.Is(err, errAway) || !receipt.RunID.IsZero() || len(h.events) > 0 {
			t.Errorf("%+v, %v, shown %q", receipt, err, h.brief())
		}
		a.over.OnCommit = nil
		head, err := a.mailbox.Head(t.Context(), core.ThreadKey{Tenant: "acme", Thread: "t"})
		if err != nil || head.Run.ID != a.run || !head.Ready() {
			t.Fatalf("%+v, %v", head.Run, err)
		}
		want := core.WakeUp{Tenant: "acme", Thread: "t", Dispatch: head.Run.Dispatch, Epoch: head.Epoch}
		var now []core.WakeUp
		for _, sent := range a.queue.Messages() {
			if sent.Delay == 0 {
				now = append(now, sent.Hint)
			}
		}
		if diff := cmp.Diff([]core.WakeUp{want}, now); diff != "" {
			t.Errorf("hints without a delay (-want +got):\n%s", diff)
		}
	})
}

// A call that resumes a run decides on that run alone, whatever is open on its thread, and
// leaves the caller's decisions as they are.
func TestAResumeIsOfItsOwnRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAlone(t)
		first, err := a.Run(t.Context(), "demo", "approve: one")
		if err != nil || len(first.Tickets) != 1 {
			t.Fatalf("%+v, %v", first, err)
		}
		decisions := []mailbox.Deciding{Approve(first.Tickets[0])}
		if done, err := a.Resume(t.Context(), first, decisions...); err != nil || done.Text != "Done: one" {
			t.Fatalf("%q, %v", done.Text, err)
		}
		if diff := cmp.Diff([]mailbox.Deciding{Approve(first.Tickets[0])}, decisions); diff != "" {
			t.Errorf("the caller's decisions (-want +got):\n%s", diff)
		}
		second, err := a.Play(t.Context(), first.Next("approve: two"), nil, nil)
		if err != nil || len(second.Tickets) != 1 {
			t.Fatalf("%+v, %v", second, err)
		}
		if got, err := a.Resume(t.Context(), first, Approve(second.Tickets[0])); core.CodeOf(err) != core.CodeNotFound || got.Run.ID != first.Run.ID {
			t.Errorf("the other run's ticket: %+v, %v", got.Run, err)
		}
		if now, err := a.ReadRun(t.Context(), core.Identity{Tenant: LocalTenant}, second.Run.ID); err != nil || now.Status != core.RunWaiting {
			t.Errorf("the other run: %s, %v", now.Status, err)
		}
	})
	r, _ := program(t, nil)
	bad := Result{Thread: "a#b", Run: core.Run{ID: theRun}, identity: acme}
	want := core.ThreadKey{Tenant: "acme", Thread: "a#b"}.Check()
	if _, err := r.Resume(t.Context(), bad); err == nil || err.Error() != want.Error() {
		t.Errorf("a thread that is no name, and no decision: %v, want %v", err, want)
	}
}
