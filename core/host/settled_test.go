package host_test

import (
	"context"
	"encoding/json"
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

// uneven makes each call of echo take as many seconds as its text says.
func uneven(t *testing.T) func(*host.Options) {
	t.Helper()
	echo := tool.New(tool.Spec{Name: "echo"}, func(_ context.Context, _ tool.Call, a echoArguments) (tool.Result, error) {
		d, err := time.ParseDuration(a.Text)
		if err != nil {
			return tool.Result{}, err
		}
		time.Sleep(d)
		return tool.NewResult(a), nil
	})
	return func(c *host.Options) { c.Agents.Tools = []tool.Tool{echo} }
}

// Of two calls that run side by side the first result is stored while the second still
// runs: from then on the run is no suspect, and others are claimed beside it.
func TestTheFirstResultOfAParallelRoundSettlesASuspect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		suspect := submission("s", "parallel: 3s, 8s")
		if _, err := r.process("sender", r.store, parallel).Submit(t.Context(), suspect); err != nil {
			t.Fatal(err)
		}
		for range 3 { // the first claim commits the turn, the next two come to nothing
			diesAfter(t, r, suspect.Thread, time.Second, parallel)
		}
		if head := r.head(suspect.Thread); !head.Suspect() {
			t.Fatalf("the run is no suspect: %+v", head.Run)
		}
		process := r.process("w", r.store, parallel, uneven(t))
		for _, name := range []string{"during a", "during b"} {
			if _, err := process.Submit(t.Context(), submission(name[7:], "hello")); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		ends := map[string]time.Duration{}
		var mu sync.Mutex
		var wait sync.WaitGroup
		works := func(thread string, after time.Duration) {
			wait.Go(func() {
				time.Sleep(after)
				if err := process.WorkLocal(t.Context(), core.WakeUp{Tenant: "local", Thread: thread}); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				ends[thread] = time.Since(began)
			})
		}
		works("s", 0)
		works("a", time.Second)   // while the first call runs: it waits for its result
		works("b", 4*time.Second) // while the second one runs: it starts at once
		wait.Wait()
		if diff := cmp.Diff(map[string]time.Duration{"s": 8 * time.Second, "a": 3 * time.Second, "b": 4 * time.Second}, ends); diff != "" {
			t.Errorf("when work on a thread ends (-want +got):\n%s", diff)
		}
	})
}

// A run that only waits for a decision is no work: a worker goes on with other threads,
// even if the run was a suspect.
func TestARunThatWaitsForADecisionHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p := confirming(t, r.store)
		began := time.Now()
		ask(t, p, "local", "waits", "", `confirm {"text":"one"}`)
		if n := p.Stats().Working; n != 0 {
			t.Errorf("%d runs are worked on", n)
		}
		say(t, p, "local", "other", "", "hello")
		if run, ok, err := p.ActiveRun(t.Context(), local, "waits"); !ok || err != nil || run.Status != core.RunWaiting {
			t.Errorf("%+v, %t, %v", run, ok, err)
		}
		if run, ok, err := p.ActiveRun(t.Context(), local, "other"); ok || err != nil {
			t.Errorf("the other run is still %+v, %v", run, err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("it took %s", took)
		}
	})
}

// A call that only waits, as its run comes after one that waits for a decision, works on
// other threads meanwhile, also on what is submitted later; and it goes on when the decision
// is there.
func TestACallThatWaitsForADecisionWorksOnOtherThreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newSolo(t, soloParts())
		began := time.Now()
		waiting, err := r.Play(t.Context(), submission("t1", "approve: it"), nil, nil)
		if err != nil || len(waiting.Tickets) != 1 {
			t.Fatalf("%d tickets, %v", len(waiting.Tickets), err)
		}
		before, err := r.Submit(t.Context(), submission("before", "hello"))
		if err != nil {
			t.Fatal(err)
		}
		behind := submission("t1", "behind")
		behind.Origin, behind.Mode = core.OriginInternal, mailbox.ModeQueue
		type outcome struct {
			text string
			err  error
		}
		done := make(chan outcome, 1)
		go func() {
			result, err := r.Play(t.Context(), behind, nil, nil)
			done <- outcome{result.Text, err}
		}()
		over := func(receipt mailbox.Receipt) {
			t.Helper()
			synctest.Wait()
			if run, err := r.ReadRun(t.Context(), local, receipt.RunID); err != nil || run.Status != core.RunDone {
				t.Errorf("while a call waits for a decision a run of another thread is %s, %v", run.Status, err)
			}
		}
		over(before)
		after, err := r.Submit(t.Context(), submission("after", "hello"))
		if err != nil {
			t.Fatal(err)
		}
		over(after)
		select {
		case got := <-done:
			t.Fatalf("the call did not wait: %+v", got)
		default:
		}
		d := waiting.Tickets[0].Suspension.ID
		if _, err := r.Decide(t.Context(), local, waiting.Run.ID, mailbox.Deciding{Target: d, Decision: core.Decision{Action: core.DecisionResume, Payload: json.RawMessage(`null`)}}); err != nil {
			t.Fatal(err)
		}
		if got := <-done; got.text != "You said: behind" || got.err != nil {
			t.Errorf("then it returns %+v", got)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("it took %s", took)
		}
	})
}
