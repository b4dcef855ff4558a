package host_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
	"github.com/reveille-run/reveille/core/tool"
)

// onStore starts a process on a store, with a queue of its own.
func onStore(t *testing.T, over store.Backend, parts agent.Parts, change ...func(*host.Options)) *host.Host {
	t.Helper()
	c := host.Options{Store: over, Agents: parts, Logger: quiet}
	for _, f := range change {
		f(&c)
	}
	r, err := host.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// works lets a process work until the returned function is called, which waits for its end.
func works(t *testing.T, r *host.Host) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		if err := r.Work(ctx); err != nil {
			t.Errorf("work: %v", err)
		}
	})
	synctest.Wait() // until its workers wait, or step
	return func() {
		cancel()
		group.Wait()
	}
}

// countingParts are parts whose tool count counts its executions.
func countingParts(n *int, mu *sync.Mutex) agent.Parts {
	parts := withDelegate()
	parts.Tools = append(parts.Tools, tool.New(tool.Spec{Name: "count"}, func(context.Context, tool.Call, struct{}) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		*n++
		return "counted", nil
	}))
	return parts
}

const counted1 = "The result of count: counted"

// A process with a store takes the steps of the runs that its calls wait for, whoever has
// submitted them, in which process.
func TestACallTakesTheStepsOfItsRunOnAnyStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		n, over := 0, memory.New()
		a, b := onStore(t, over, countingParts(&n, &mu)), onStore(t, over, countingParts(&n, &mu))
		result, err := a.Play(t.Context(), submission("t1", "call: count"), nil, nil)
		if err != nil || result.Text != counted1 {
			t.Errorf("%q, %v", result.Text, err)
		}
		receipt, err := a.Submit(t.Context(), submission("t1", "call: count"))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []*host.Host{b, a} {
			result, err := r.Await(t.Context(), local, receipt.RunID)
			if err != nil || result.Text != counted1 || result.Run.ID != receipt.RunID || len(result.Messages) != 4 {
				t.Errorf("%q of run %s, %d messages, %v", result.Text, result.Run.ID, len(result.Messages), err)
			}
		}
		if n != 2 {
			t.Errorf("the tool has run %d times, want 2", n)
		}
	})
}

// One process works, another waits; each run is stepped once, wherever it was submitted.
func TestOneProcessWorksAndAnotherWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		n, over := 0, memory.New()
		a, b := onStore(t, over, countingParts(&n, &mu)), onStore(t, over, countingParts(&n, &mu))
		stop := works(t, a)
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() {
				receipt, err := []*host.Host{a, b}[i%2].Submit(t.Context(), submission(fmt.Sprint("t", i), "call: count"))
				if err != nil {
					t.Error(err)
					return
				}
				result, err := b.Await(t.Context(), local, receipt.RunID)
				if err != nil || result.Text != counted1 {
					t.Errorf("run %d: %q, %v", i, result.Text, err)
				}
			})
		}
		group.Wait()
		// What a process that does not work leaves behind, the sweep of another finds.
		left, err := b.Submit(t.Context(), submission("left", "call: count"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * time.Second)
		if run, err := a.ReadRun(t.Context(), local, left.RunID); err != nil || run.Status != core.RunDone {
			t.Errorf("the run that was left is %s, %v", run.Status, err)
		}
		stop()
		if n != 21 {
			t.Errorf("the tool has run %d times, want 21", n)
		}
	})
}

// With a store a run goes on when its call gives up; the next who waits, or works, continues it.
func TestARunOnAStoreOutlivesItsCall(t *testing.T) {
	for _, name := range []string{"another call", "another process", "Work"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				over := memory.New()
				a := onStore(t, over, soloParts())
				ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
				defer cancel()
				start := time.Now()
				given, err := a.Play(ctx, submission("t1", "slow: 20"), nil, nil)
				want := "run " + given.Run.ID.String() + " continues in the queue: context deadline exceeded"
				if fmt.Sprint(err) != want || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 250*time.Millisecond {
					t.Fatalf("%v after %s, want %s", err, time.Since(start), want)
				}
				if run, err := a.ReadRun(t.Context(), local, given.Run.ID); err != nil || run.Status != core.RunRunning {
					t.Errorf("the run is %s, %v", run.Status, err)
				}
				switch name {
				case "Work":
					stop := works(t, a)
					time.Sleep(3 * time.Second)
					stop()
					if run, err := a.ReadRun(t.Context(), local, given.Run.ID); err != nil || run.Status != core.RunDone {
						t.Errorf("the run is %s, %v", run.Status, err)
					}
					return
				case "another process":
					a = onStore(t, over, soloParts())
				}
				result, err := a.Await(t.Context(), local, given.Run.ID)
				if err != nil || result.Run.Status != core.RunDone || result.Termination.Type != core.TerminationNatural {
					t.Errorf("%s, %+v, %v", result.Run.Status, result.Termination, err)
				}
			})
		})
	}
}

// When the context of Work ends, the steps under way give their runs back, which costs them
// no attempt.
func TestWorkGivesBackWhatItHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := memory.New()
		a := onStore(t, over, soloParts())
		receipt, err := a.Submit(t.Context(), submission("t1", "slow: 20"))
		if err != nil {
			t.Fatal(err)
		}
		stop := works(t, a)
		time.Sleep(time.Second)
		began := time.Now()
		stop()
		head, err := over.Head(t.Context(), core.ThreadKey{Tenant: "local", Thread: "t1"})
		if err != nil || head.Claim.Fence != 0 || head.Run.Attempts != 0 || !head.Ready() || time.Since(began) != 0 {
			t.Errorf("the run is %+v under claim %+v after %s, %v", head.Run, head.Claim, time.Since(began), err)
		}
		if result, err := a.Await(t.Context(), local, receipt.RunID); err != nil || result.Termination.Type != core.TerminationNatural {
			t.Errorf("%+v, %v", result.Termination, err)
		}
	})
}

// A process that dies in a step leaves its run to the calls and the workers of others, after
// its lease.
func TestAProcessThatDiesLeavesItsRunToOthers(t *testing.T) {
	for _, work := range []bool{false, true} {
		t.Run(fmt.Sprint("work ", work), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				over := memory.New()
				var dead atomic.Bool
				dying := &storetest.Faulty{Backend: over}
				dying.Around = func(ctx context.Context, _ storetest.Operation, do func(context.Context) error) error {
					if dead.Load() {
						return errReset
					}
					return do(ctx)
				}
				a, b := onStore(t, dying, soloParts()), onStore(t, over, soloParts())
				receipt, err := a.Submit(t.Context(), submission("t1", "slow: 20"))
				if err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(time.Second, func() { dead.Store(true) })
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				if result, err := a.Await(ctx, local, receipt.RunID); err == nil {
					t.Errorf("the process that died returns %+v", result.Termination)
				}
				began := time.Now()
				if work {
					stop := works(t, b)
					time.Sleep(40 * time.Second)
					stop()
				}
				result, err := b.Await(t.Context(), local, receipt.RunID)
				if took := time.Since(began); err != nil || result.Run.Status != core.RunDone || took > 40*time.Second {
					t.Errorf("%s after %s, %v", result.Run.Status, took, err)
				}
			})
		})
	}
}

// Work starts a run of another process at its time, although that process has the hint.
func TestWorkStartsADelayedRunOfAnotherProcessInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := memory.New()
		s := submission("t1", "hello")
		s.Opening.Delay = 8 * time.Second
		began := time.Now()
		if _, err := onStore(t, over, soloParts()).Submit(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		b := onStore(t, over, soloParts())
		stop := works(t, b)
		defer stop()
		for done := false; !done; time.Sleep(10 * time.Millisecond) {
			th, err := b.Thread(t.Context(), local, "t1")
			if err != nil {
				t.Fatal(err)
			}
			done = th.Delayed == 0 && th.ActiveRun.IsZero()
		}
		if took := time.Since(began); took < 8*time.Second || took > 9*time.Second {
			t.Errorf("the run is over after %s, want it within a second after 8 s", took)
		}
	})
}

// Workers that are all in tools which wait for other runs do not stand in their way.
func TestWorkersThatWaitForOtherRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parts, r := soloParts(), (*host.Host)(nil)
		parts.Tools = append(parts.Tools, tool.New(tool.Spec{Name: "consult"}, func(ctx context.Context, c tool.Call, a soloText) (string, error) {
			s := submission("of."+c.Thread.Thread, a.Text)
			receipt, err := r.Submit(ctx, s)
			if err != nil {
				return "", err
			}
			result, err := r.Await(ctx, local, receipt.RunID)
			return result.Text, err
		}))
		r = onStore(t, memory.New(), parts, func(c *host.Options) { c.Workers = 2 })
		stop := works(t, r)
		defer stop()
		var group sync.WaitGroup
		for i := range 4 {
			group.Go(func() {
				result, err := r.Play(t.Context(), submission(fmt.Sprint("t", i), `call: consult {"text":"hello"}`), nil, nil)
				if want := "The result of consult: You said: hello"; err != nil || result.Text != want {
					t.Errorf("%q, %v; want %q", result.Text, err, want)
				}
			})
		}
		group.Wait()
	})
}

// A run waits for its child wherever the child is stepped, and hears of a person that the
// child waits for.
func TestChildrenAreSteppedByAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := memory.New()
		a, b := onStore(t, over, withDelegate()), onStore(t, over, withDelegate())
		stop := works(t, a)
		defer stop()
		receipt, err := b.Submit(t.Context(), submission("t1", `call: delegate {"prompt":"approve: it","mode":"replay_tool_call"}`))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second) // a has done what can be done
		waiting, err := b.Await(t.Context(), local, receipt.RunID)
		if err != nil || waiting.Termination.Type != core.TerminationSuspended {
			t.Fatalf("%+v, %v", waiting.Termination, err)
		}
		page, err := b.Approvals(t.Context(), local, host.ApprovalQuery{})
		if err != nil || len(page.Items) != 1 {
			t.Fatalf("%d approvals, %v", len(page.Items), err)
		}
		asked := page.Items[0]
		if _, err := a.Decide(t.Context(), local, asked.RunID, host.Approve(asked.Ticket)); err != nil {
			t.Fatal(err)
		}
		result, err := b.Await(t.Context(), local, receipt.RunID)
		if want := "The result of delegate: natural_end after 2: Done: it"; err != nil || result.Text != want {
			t.Errorf("%q, %v; want %q", result.Text, err, want)
		}
	})
}

// A store that knows which claims a killed process has left has them released when Work
// starts: no lease has to end.
func TestWorkReleasesTheClaimsOfAKilledProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := memory.New()
		faulty := &storetest.Faulty{Backend: over}
		a := onStore(t, faulty, soloParts())
		receipt, err := a.Submit(t.Context(), submission("t1", "slow: 5"))
		if err != nil {
			t.Fatal(err)
		}
		var dead atomic.Bool
		faulty.Around = func(ctx context.Context, _ storetest.Operation, do func(context.Context) error) error {
			if dead.Load() {
				return errReset
			}
			return do(ctx)
		}
		time.AfterFunc(200*time.Millisecond, func() { dead.Store(true) })
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := a.Await(ctx, local, receipt.RunID); err == nil {
			t.Fatal("the killed process returns a result")
		}
		b := onStore(t, lister{over, []core.ThreadKey{{Tenant: "local", Thread: "t1"}}}, soloParts())
		stop := works(t, b)
		time.Sleep(time.Second)
		stop()
		if run, err := b.ReadRun(t.Context(), local, receipt.RunID); err != nil || run.Status != core.RunDone {
			t.Errorf("the run is %s, %v", run.Status, err)
		}
	})
}

// lister is a store that lists claims without a holder.
type lister struct {
	store.Backend
	keys []core.ThreadKey
}

func (l lister) Claimed(context.Context) ([]core.ThreadKey, error) {
	if l.keys == nil {
		return nil, errReset
	}
	return l.keys, nil
}

func TestWorkThatCannotStart(t *testing.T) {
	r := onStore(t, memory.New(), soloParts(), func(c *host.Options) { c.Waker = &mailboxtest.Queue{} })
	want := "work: the wake-ups of this runtime go to another queue (Options.Waker); leave it empty, or handle its messages with WorkBatch"
	if err := r.Work(t.Context()); core.CodeOf(err) != core.CodeInvalid || fmt.Sprint(err) != want {
		t.Errorf("another queue: %v", err)
	}
	r = onStore(t, lister{memory.New(), nil}, soloParts())
	if err := r.Work(t.Context()); !errors.Is(err, errReset) {
		t.Errorf("claims that cannot be listed: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Work(ended); err != nil {
		t.Errorf("a context that has ended: %v", err)
	}
}

// A stream of a client takes no steps while workers do: they would end with the client.
func TestAStreamLeavesItsRunToWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := onStore(t, memory.New(), soloParts())
		stop := works(t, r)
		defer stop()
		receipt, err := r.Submit(t.Context(), submission("t1", "slow: 20"))
		if err != nil {
			t.Fatal(err)
		}
		gone, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		words := 0
		err = r.Follow(gone, local, receipt.RunID, host.ListenerFunc(func(e core.Event) error {
			if e.Type == core.EventTextDelta {
				words++
			}
			return nil
		}))
		if err != nil || words < 3 {
			t.Errorf("%d words, %v", words, err)
		}
		start := time.Now()
		if result, err := r.Await(t.Context(), local, receipt.RunID); err != nil || result.Run.Status != core.RunDone || time.Since(start) > 1600*time.Millisecond {
			t.Errorf("%s after %s, %v", result.Run.Status, time.Since(start), err)
		}
	})
}
