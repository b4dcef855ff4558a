package run_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/run/live"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// beforeWait does something once, right before the write with which a round is to wait.
func (w *world) beforeWait(act func() error) {
	w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
		if c.Head.Run.Status == thread.Waiting {
			w.store.OnCommit = nil
			if err := act(); err != nil {
				return store.Outcome{}, err
			}
		}
		return w.store.Backend.Commit(ctx, key, c)
	}
}

// asksBesideANap is a round of which a call waits for a decision while another one runs.
func asksBesideANap() options {
	return options{
		chunks: true, mode: agent.ParallelStreaming, model: replies(calls("ask", "{}", "nap", "{}"), text("ok")), tools: []tool.Tool{toolFunc{name: "ask"}, nap},
		plugins: []plugin.Plugin{asking("ask")},
	}
}

// A round that is to wait and finds a decision goes on at once: under the same claim, whose
// lease the write renews, or by whoever follows the hint; both know who follows the run.
func TestARoundThatFindsADecisionWhereItIsToWait(t *testing.T) {
	for _, keep := range []bool{false, true} {
		t.Run(fmt.Sprint("keep ", keep), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, asksBesideANap())
				w.submit(t, key, "hi", mailbox.ModeQueue)
				head, until := w.take(t, key), time.Now().Add(time.Minute).UnixMilli()
				for _, ok := w.queue.Receive(); ok; _, ok = w.queue.Receive() { // of the submission
				}
				w.beforeWait(func() error { return w.decide(context.WithoutCancel(t.Context()), 0, approve) })
				stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head, Keep: keep, Followed: until}, nil)
				if err != nil {
					t.Fatal(err)
				}
				want := run.Stepped{Outcome: thread.Yield, Head: w.head(t, key), Followed: until}
				if keep {
					want.Outcome = thread.Continue
				}
				if diff := cmp.Diff(want, stepped); diff != "" {
					t.Errorf("the step (-want +got):\n%s", diff)
				}
				if lease := time.Now().Add(30 * time.Second).UnixMilli(); keep && stepped.Head.Claim.Lease != lease {
					t.Errorf("the lease goes until %d, want %d", stepped.Head.Claim.Lease, lease)
				}
				followed := int64(0)
				for hint, ok := w.queue.Receive(); ok; hint, ok = w.queue.Receive() {
					followed = max(followed, hint.Followed)
				}
				if (followed == until) == keep {
					t.Errorf("a hint says that the run is followed until %d, want %d: %t", followed, until, !keep)
				}
			})
		})
	}
}

// A wait that the store does not take is tried again, and does not judge the run.
func TestAWaitThatTheStoreDoesNotTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got notebook
		o := asksBesideANap()
		o.logger = got.logger()
		w := newWorld(t, o)
		w.submit(t, key, "hi", mailbox.ModeQueue)
		head := w.take(t, key)
		w.beforeWait(func() error { return core.Errorf(core.CodeInvalid, "no such table") })
		stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
		if err != nil || !stepped.Retry || len(got.lines) != 1 || !strings.HasSuffix(got.lines[0], `no such table"`) {
			t.Errorf("the step is %+v, %v; the log says %q", stepped, err, got.lines)
		}
		w.finish(t, key, nil)
		if got := w.stands(t); got != "waiting [suspended done]" {
			t.Errorf("the run is %s", got)
		}
	})
}

// A run that has waited for another build long enough goes on without it in all its steps.
func TestARunThatGoesOnWithoutWaitsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options{model: replies(calls("echo", `{"text":"a"}`), calls("echo", `{"text":"b"}`), text("ok"))}
		o.agents = without{newRegistry(t, o.complete(t), "demo"), "fresh"}
		w := newWorld(t, o)
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		began := time.Now()
		w.finish(t, key, nil)
		if got := w.end(t, key, receipt); got != `done 3 {"type":"natural_end"} "ok"` || time.Since(began) != 10*time.Minute {
			t.Errorf("the run is %s after %s, want 10m0s", got, time.Since(began))
		}
	})
}

// Tools are called on behalf of the thread's owner, and the step is heard until it is over.
func TestForWhomAStepWorksAndUntilWhenItIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *world
		var who []core.Identity
		var heard []bool
		hears := func() {
			_, here := w.stepper.Hear(key, &live.Hearing{Attempt: live.Attempt{Step: 1, Fence: 1}})
			heard = append(heard, here)
		}
		w = newWorld(t, options{model: replies(calls("who", "{}")), tools: []tool.Tool{toolFunc{name: "who", run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			id, _ := core.IdentityFrom(ctx)
			who = append(who, id)
			hears()
			return tool.NewResult("ok"), nil
		}}}})
		if _, err := w.box.Submit(t.Context(), mailbox.Submission{
			Thread: key, Opening: mailbox.Opening{AgentID: "demo"}, User: "ann", Messages: []core.Message{core.UserMessage("hi")},
		}); err != nil {
			t.Fatal(err)
		}
		w.step(t, key)
		hears()
		if diff := cmp.Diff([]core.Identity{{Tenant: "t", User: "ann"}}, who); diff != "" {
			t.Errorf("for whom (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]bool{true, false}, heard); diff != "" {
			t.Errorf("heard (-want +got):\n%s", diff)
		}
	})
}

// A program that writes a schema of its own writes all of a run's records in it.
func TestAllRecordsOfARunHaveTheSchemaOfTheProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options{
			records: thread.Records{Schemas: thread.Schemas{Reads: 3, Writes: 3}, Extra: "x"}, model: replies(calls("ask", "{}"), text("ok")),
			tools: []tool.Tool{counted("ask", false, new(int))}, plugins: []plugin.Plugin{asking("ask"), (&leaving{}).plugin()},
		}
		w := newWorld(t, o)
		w.submit(t, key, "hi", mailbox.ModeQueue)
		head := w.take(t, key)
		others, kinds, refused := map[string]string{}, map[string]bool{}, 0
		note := func(r store.Record) {
			kind := r.Name[:1]
			if strings.Contains(r.Name, "#end#") {
				kind = "end"
			}
			kinds[kind] = true
			if schema, err := o.records.Schema(r.Payload); schema != 3 || err != nil { // which has the field
				others[r.Name] = string(r.Payload)
			}
		}
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if !c.Head.Open() && refused < 7 { // RunEnd has run, and its claim is given back
				refused++
				return store.Outcome{}, store.ErrThrottled
			}
			for _, r := range c.Records {
				note(r)
			}
			return w.store.Backend.Commit(ctx, key, c)
		}
		w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			note(r)
			return w.store.Backend.Put(ctx, key, r)
		}
		if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil); err != nil {
			t.Fatal(err)
		}
		head, err := w.box.Head(t.Context(), key)
		if err != nil || head.Run.Status != thread.Waiting {
			t.Fatalf("the head is %+v, %v", head, err)
		}
		if _, err := w.box.Cancel(t.Context(), key, core.ID{}); err != nil {
			t.Fatal(err)
		}
		w.finish(t, key, nil)
		if diff := cmp.Diff(map[string]string(nil), others, cmp.Comparer(func(a, b map[string]string) bool { return len(a) == len(b) })); diff != "" || !kinds["M"] || !kinds["R"] || !kinds["L"] || !kinds["end"] {
			t.Errorf("of the kinds %v these have another (-want +got):\n%s", kinds, diff)
		}
	})
}
