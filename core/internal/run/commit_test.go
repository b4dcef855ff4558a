package run_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// A backend without transactions may store the records of a commit and not its
// head. What the next claim writes in their place need not be the same bytes.
func TestRecordsOfARefusedCommitStandInNobodysWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inferences := 0
		o := options{model: modelFunc(func(_ context.Context, r model.Request) iterator {
			inferences++
			return replies(text(fmt.Sprint("attempt ", inferences)))(t.Context(), r)
		})}
		w := newWorld(t, o)
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		for range 2 { // two attempts at the same end leave their records, run record included
			head := w.take(t, key)
			w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
				if err := w.store.partly(ctx, key, c); err != nil {
					t.Error(err)
				}
				w.store.dead.Store(true)
				return store.Outcome{}, errDead
			}
			if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil); err == nil {
				t.Fatal("the step did not crash")
			}
			w.store.dead.Store(false)
			w.store.OnCommit = nil
			w.reclaim(t)
			w.stepper = w.other(t, o)
		}
		w.finish(t, key, nil)
		if diff := cmp.Diff([]string{"user: hi", "assistant: attempt 3"}, w.log(t, key)); diff != "" {
			t.Error(diff)
		}
		if got := w.end(t, key, receipt); inferences != 3 || got != `done 1 {"type":"natural_end"} "attempt 3"` {
			t.Errorf("after %d inferences the run is %s, want 3", inferences, got)
		}
	})
}

// The response to commit B is lost on the way: the step finds that it was written,
// runs nothing twice, and sends the hint that goes with it.
func TestLostResponseAtCommitBKeepsTheHint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		w := newWorld(t, options{
			model: replies(calls("count", "{}"), text("ok")),
			tools: []tool.Tool{counted("count", false, &ran)},
		})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		head := w.take(t, key)
		w.queue.Clear()
		writes := 0
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			outcome, err := w.store.Backend.Commit(ctx, key, c)
			if writes++; writes == commitB {
				return store.Outcome{}, errors.New("connection reset by peer")
			}
			return outcome, err
		}
		began := time.Now()
		stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
		if err != nil || stepped.Outcome != thread.Yield || stepped.Retry || time.Since(began) != 0 {
			t.Fatalf("the step is %+v, %v after %s; want it to yield at once", stepped, err, time.Since(began))
		}
		if diff := cmp.Diff([]string{"t1 0s"}, w.queue.Lines()); diff != "" {
			t.Errorf("hints (-want +got):\n%s", diff)
		}
		w.finish(t, key, nil)
		if got := w.end(t, key, receipt); ran != 1 || got != `done 2 {"type":"natural_end"} "ok"` {
			t.Errorf("the tool ran %d times, and the run is %s", ran, got)
		}
	})
}

// Commit B is refused after its records were stored, since a person cancelled
// meanwhile. What closes the run goes to the same sequence with other bytes: the
// holder takes the next fence for them, and its attempt is not counted again.
func TestHolderRefencesWhereItsOwnOtherBytesStand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{plugins: []plugin.Plugin{pluginFunc{"p", func(r *plugin.Registrar) {
			r.Key(inThread)
			r.Hook(core.PhaseRunEnd, func(context.Context, plugin.Context) (state.Command, error) { return inThread.Update(1), nil })
		}}}})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		head := w.take(t, key)
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			w.store.OnCommit = nil
			if err := w.store.partly(ctx, key, c); err != nil {
				t.Error(err)
			}
			if _, err := w.box.Cancel(ctx, key, receipt.RunID); err != nil {
				t.Error(err)
			}
			return w.store.Backend.Commit(ctx, key, c)
		}
		stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
		if err != nil || stepped.Outcome != thread.Done || stepped.Head.Fence != 2 {
			t.Fatalf("the step is %s under fence %d, %v; want done under fence 2", stepped.Outcome, stepped.Head.Fence, err)
		}
		if diff := cmp.Diff([]string{"user: hi", "assistant: You said: hi", "state"}, w.log(t, key)); diff != "" {
			t.Error(diff)
		}
		if r := w.record(t, store.LogName(2)); r.Fence != 2 {
			t.Errorf("the last words stand under fence %d, want 2", r.Fence)
		}
		if got := w.end(t, key, receipt); got != `done 0 {"type":"cancelled"} "You said: hi"` {
			t.Errorf("the run is %s", got)
		}
	})
}

// Other bytes of this claim stand where a result belongs: the step is given back,
// and the result stored under the next fence before that.
func TestResultIsStoredUnderTheNextFenceWhereOtherBytesStand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, last := 0, 0
		w := newWorld(t, options{
			model: replies(calls("first", "{}", "last", "{}"), text("ok")), mode: agent.ParallelStreaming,
			tools: []tool.Tool{counted("first", false, &first), slowly("last", &last)},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		head := w.take(t, key)
		if err := w.store.Put(t.Context(), key, store.Record{Name: store.LogName(3), Fence: head.Fence, Payload: []byte("other bytes")}); err != nil {
			t.Fatal(err)
		}
		stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
		if err != nil || !stepped.Retry || !slices.Equal(stepped.Head.Run.Calls, []thread.CallStatus{thread.CallDone, thread.CallDone}) {
			t.Errorf("the step is %+v, %v; want it given back with both calls done", stepped, err)
		}
		if r := w.record(t, store.LogName(3)); r.Fence != 2 {
			t.Errorf("the first result stands under fence %d, want 2", r.Fence)
		}
		w.finish(t, key, nil)
		want := []string{"user: hi", "assistant: [first {}][last {}]", `tool: "first ran"`, `tool: "last ran"`, "assistant: ok"}
		if diff := cmp.Diff(want, w.log(t, key)); diff != "" || first != 1 || last != 1 {
			t.Errorf("the tools ran %d and %d times; log (-want +got):\n%s", first, last, diff)
		}
	})
}

// An entry that is edited while the step that read it ends is read again: no
// attempt is counted, and no pause made.
func TestStaleInputIsAnUncountedNack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		w.submit(t, key, "echo: a", mailbox.ModeQueue)
		w.step(t, key)
		steered := w.submit(t, key, "old", mailbox.ModeSteer)
		head := w.take(t, key)
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			w.store.OnCommit = nil
			if err := w.box.Edit(ctx, key, steered.DispatchID, []core.Message{core.UserMessage("new").WithID("m")}); err != nil {
				t.Error(err)
			}
			return w.store.Backend.Commit(ctx, key, c)
		}
		stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
		if err != nil || !stepped.Retry {
			t.Fatalf("the step is %+v, %v; want it given back", stepped, err)
		}
		if h := w.head(t, key); h.Run.Attempts != 0 || h.Run.AvailableAt != 0 {
			t.Errorf("%d attempts, available at %d; want neither", h.Run.Attempts, h.Run.AvailableAt)
		}
	})
}

// The last result of a round travels with commit B: one write less. When that
// commit is refused, the result is put alone, so that no tool runs twice.
func TestLastResultIsPutAloneWhenItsCommitFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran, puts, writes := 0, []string(nil), 0
		w := newWorld(t, options{
			model: replies(calls("count", "{}"), text("ok")),
			tools: []tool.Tool{counted("count", false, &ran)},
		})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			puts = append(puts, r.Name)
			return w.store.Backend.Put(ctx, key, r)
		}
		head := w.take(t, key)
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if writes++; writes == commitB {
				if len(puts) != 0 || len(c.Records) != 1 || c.Records[0].Name != store.LogName(3) {
					t.Errorf("before commit B stand %q, with it come %d records", puts, len(c.Records))
				}
				return store.Outcome{}, fmt.Errorf("no such table: %w", core.Errorf(core.CodeInvalid, "refused"))
			}
			return w.store.Backend.Commit(ctx, key, c)
		}
		stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
		if err != nil || !stepped.Retry {
			t.Fatalf("the step is %+v, %v; want it given back", stepped, err)
		}
		if diff := cmp.Diff([]string{store.LogName(3)}, puts); diff != "" {
			t.Errorf("records put alone (-want +got):\n%s", diff)
		}
		if h := w.head(t, key); len(h.Run.Calls) != 1 || h.Run.Calls[0] != thread.CallDone {
			t.Errorf("calls %v, want it done", h.Run.Calls)
		}
		w.store.OnCommit = nil
		w.finish(t, key, nil)
		if got := w.end(t, key, receipt); ran != 1 || got != `done 2 {"type":"natural_end"} "ok"` {
			t.Errorf("the tool ran %d times, and the run is %s", ran, got)
		}
	})
}

// A result that cannot be stored keeps no claim from being given back: its tool
// runs again.
func TestStepIsGivenBackWithoutAResultThatCannotBeStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran, writes := 0, 0
		w := newWorld(t, options{
			model: replies(calls("count", "{}"), text("ok")),
			tools: []tool.Tool{counted("count", false, &ran)},
		})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		refused := core.Errorf(core.CodeInvalid, "no such table")
		w.store.OnPut = func(context.Context, core.ThreadKey, store.Record) error { return refused }
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if writes++; writes == commitB+1 { // the claim was the first
				return store.Outcome{}, refused
			}
			return w.store.Backend.Commit(ctx, key, c)
		}
		if stepped := w.step(t, key); !stepped.Retry || !slices.Equal(stepped.Head.Run.Calls, []thread.CallStatus{thread.CallNew}) {
			t.Errorf("the step is %+v, want it given back with the call as new", stepped)
		}
		w.store.OnPut = nil
		w.finish(t, key, nil)
		if got := w.end(t, key, receipt); ran != 2 || got != `done 2 {"type":"natural_end"} "ok"` {
			t.Errorf("the tool ran %d times, and the run is %s", ran, got)
		}
	})
}

// afterTools is a plugin that waits for results, so that each is stored at once.
func afterTools() plugin.Plugin {
	return hooks(core.PhaseAfterToolExecute, func(context.Context, plugin.Context) (state.Command, error) { return state.Command{}, nil })
}

// Every call of a round whose commit is refused is done, also one that no hook
// is to see: no other claim needs to look at it again.
func TestCallsAreDoneAfterHooksHaveSeenThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{
			model:   replies(calls("echo", `{"text":"a"}`, "echo", `{"text":"b"}`, "echo", `{"text":"c"}`)),
			plugins: []plugin.Plugin{gates(blockB), afterTools()},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		head, writes := w.take(t, key), 0
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if writes++; writes == commitB {
				return store.Outcome{}, core.Errorf(core.CodeInvalid, "refused")
			}
			return w.store.Backend.Commit(ctx, key, c)
		}
		stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
		if err != nil || !stepped.Retry {
			t.Fatalf("the step is %+v, %v; want it given back", stepped, err)
		}
		if diff := cmp.Diff([]thread.CallStatus{thread.CallDone, thread.CallDone, thread.CallDone}, stepped.Head.Run.Calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}

// A result that waits for its hook is progress of the claim that stored it, and
// of no claim after that.
func TestResultThatWaitsForItsHookIsProgressOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran, tries := 0, 0
		second := toolFunc{name: "second", run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			if tries++; tries == 1 {
				<-ctx.Done()
			}
			return tool.NewResult("ok"), ctx.Err()
		}}
		o := options{
			model:   replies(calls("second", "{}", "count", "{}", "nap", "{}"), text("ok")),
			tools:   []tool.Tool{second, counted("count", false, &ran), nap},
			plugins: []plugin.Plugin{afterTools()}, mode: agent.ParallelStreaming,
		}
		w := newWorld(t, o)
		w.submit(t, key, "hi", mailbox.ModeQueue)
		for claim, attempts := range []uint8{0, 0, 1, 2} { // a result, another one, none
			w.cut(t, time.Second, false)
			h := w.head(t, key)
			if diff := cmp.Diff([]thread.CallStatus{thread.CallNew, thread.CallNew, thread.CallNew}, h.Run.Calls); diff != "" || h.Run.Attempts != attempts {
				t.Errorf("claim %d: %d attempts, want %d; calls (-want +got):\n%s", claim+1, h.Run.Attempts, attempts, diff)
			}
		}
		if ran != 1 || tries != 2 {
			t.Errorf("the tools ran %d and %d times, want once and twice", ran, tries)
		}
	})
}

// Two programs share a thread. A result that the newer one stored and did not
// live to commit is nothing that the older one can put in force: it gives the
// run back, uncounted, under a head that says what it takes to go on.
func TestResultOfANewerProgramIsLeftToIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, last := 0, 0
		o := options{
			model: replies(calls("first", "{}", "last", "{}"), text("ok")), mode: agent.ParallelStreaming,
			tools: []tool.Tool{counted("first", false, &first), slowly("last", &last)},
		}
		newer, older := o, o
		newer.records = thread.Records{Schemas: thread.Schemas{Reads: 3, Writes: 3}, Extra: "x"}
		older.records = thread.Records{Schemas: thread.Schemas{Reads: 1, Writes: 1}}
		w := newWorld(t, o)
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.crash(t, commitB) // the turn is committed under schema 1
		result := w.record(t, store.LogName(3))
		if err := w.store.Backend.Put(t.Context(), key, store.Record{ // a claim of the newer program, which died
			Name: result.Name, Fence: 2, Payload: inSchema3(t, result.Payload),
		}); err != nil {
			t.Fatal(err)
		}
		w.take(t, key)
		w.reclaim(t)

		began := time.Now()
		old := w.other(t, older)
		stepped, err := old.Step(t.Context(), run.Work{Key: key, Head: w.take(t, key)}, nil)
		if err != nil || !stepped.Retry {
			t.Fatalf("the older program's step is %+v, %v; want it given back", stepped, err)
		}
		h := w.head(t, key)
		if h.Schema != 3 || h.Run.Attempts != 1 || h.Run.AvailableAt != began.Add(30*time.Second).UnixMilli() {
			t.Errorf("schema %d, %d attempts, available at %d; want schema 3, the lost claim alone, in 30 s", h.Schema, h.Run.Attempts, h.Run.AvailableAt)
		}
		time.Sleep(30 * time.Second)
		w.withRecords(t, newer)
		w.finish(t, key, nil)
		if got := w.end(t, key, receipt); first != 1 || got != `done 2 {"type":"natural_end"} "ok"` {
			t.Errorf("the first tool ran %d times, and the run is %s", first, got)
		}
	})
}

// A program that reads what it adopts raises the head over it, so that one which
// does not leaves the thread alone.
func TestAdoptedResultRaisesTheHeadsSchema(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, last := 0, 0
		o := options{
			model: replies(calls("first", "{}", "last", "{}"), text("ok")), mode: agent.ParallelStreaming,
			tools: []tool.Tool{counted("first", false, &first), slowly("last", &last)},
		}
		w := newWorld(t, o)
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.crash(t, commitB)
		result := w.record(t, store.LogName(3))
		if err := w.store.Backend.Put(t.Context(), key, store.Record{
			Name: result.Name, Fence: 2, Payload: inSchema3(t, result.Payload),
		}); err != nil {
			t.Fatal(err)
		}
		w.take(t, key)
		w.reclaim(t)
		o.records = thread.Records{Schemas: thread.Schemas{Reads: 3, Writes: 1}, Extra: "x"}
		w.withRecords(t, o)
		if stepped := w.step(t, key); stepped.Outcome != thread.Yield || stepped.Head.Schema != 3 {
			t.Errorf("the step is %s and leaves schema %d, want yield and 3", stepped.Outcome, stepped.Head.Schema)
		}
	})
}

// Fields that only a newer program knows or writes are ignored, and kept when the run's
// record is rewritten.
func TestUnknownFieldsOfTheRunRecordAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		receipt := w.submit(t, key, "echo: a", mailbox.ModeQueue)
		w.step(t, key)
		r := w.record(t, recordname.Run(receipt.RunID))
		r.Version++
		const traced = `"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","trace_sampled":true`
		r.Payload = append(r.Payload[:len(r.Payload)-1:len(r.Payload)-1], `,"mood":{"of":"tomorrow"},`+traced+`}`...)
		if err := w.store.Backend.Put(t.Context(), key, r); err != nil {
			t.Fatal(err)
		}
		w.stepper = w.other(t, options{})
		w.finish(t, key, nil)
		if got := w.end(t, key, receipt); got != `done 2 {"type":"natural_end"} "Echo: a"` {
			t.Errorf("the run is %s", got)
		}
		after := string(w.record(t, recordname.Run(receipt.RunID)).Payload)
		if !strings.Contains(after, `"mood":{"of":"tomorrow"}`) || !strings.Contains(after, traced) || !strings.Contains(after, `"status":"done"`) {
			t.Errorf("the record is %s", after)
		}
	})
}

// A commit that has begun is seen through for 25 s, longer than the tries of
// the AWS client, but not past the 4 s that are left after the step's own time.
func TestTimeOfACommit(t *testing.T) {
	for step, want := range map[time.Duration]time.Duration{0: 25 * time.Second, 10 * time.Second: 14 * time.Second, 21 * time.Second: 25 * time.Second, time.Minute: 25 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, options{})
			w.submit(t, key, "hi", mailbox.ModeQueue)
			ctx, head, began := t.Context(), w.take(t, key), time.Now()
			if step > 0 {
				within, cancel := context.WithTimeout(ctx, step)
				defer cancel()
				ctx = within
			}
			w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
				if until, _ := ctx.Deadline(); until.Sub(began) != want {
					t.Errorf("a commit of a step of %s has %s, want %s", step, until.Sub(began), want)
				}
				return w.store.Backend.Commit(ctx, key, c)
			}
			if _, err := w.stepper.Step(ctx, run.Work{Key: key, Head: head}, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestStepperNeedsItsParts(t *testing.T) {
	w := newWorld(t, options{})
	complete := func() run.Options {
		return run.Options{Env: env.System(), Store: w.store, Committer: w.box, Agents: unpinned{resolver: gone{}}}
	}
	if _, err := run.New(complete()); err != nil {
		t.Error(err)
	}
	for name, leaveOut := range map[string]func(*run.Options){
		"Env": func(o *run.Options) { o.Env = nil }, "Store": func(o *run.Options) { o.Store = nil },
		"Committer": func(o *run.Options) { o.Committer = nil }, "Agents": func(o *run.Options) { o.Agents = nil },
	} {
		o := complete()
		leaveOut(&o)
		if _, err := run.New(o); core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("without %s: %v, want code invalid", name, err)
		}
	}
}
