package run_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/run"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
	"github.com/reveille-run/reveille/core/tool"
)

// crash takes one step in a process that dies before the nth write of a head
// that the step makes, then frees the thread as after the lease.
func (w *world) crash(t *testing.T, n int) {
	t.Helper()
	head := w.take(t, key)
	writes := 0
	w.store.set = func(ctx context.Context, key core.ThreadKey, next thread.Head) (thread.Head, bool, error) {
		if writes++; writes >= n {
			return thread.Head{}, false, context.Canceled
		}
		return w.store.Backend.CompareAndSet(ctx, key, next)
	}
	if _, err := w.stepper.Step(t.Context(), run.Claim{Key: key, Head: head}, nil); err == nil {
		t.Fatal("the step did not crash")
	}
	w.store.set = nil
	if err := w.box.Reclaim(t.Context(), []core.ThreadKey{key}); err != nil {
		t.Fatal(err)
	}
}

const commitA, commitB = 1, 2

// counted is a tool that counts its executions.
func counted(name string, delivery tool.Delivery, runs *int) tool.Tool {
	return toolFunc{name: name, delivery: delivery, run: func(context.Context, tool.Call) (tool.Result, error) {
		*runs++
		return tool.Text(name + " ran"), nil
	}}
}

func TestStoredResultIsAdoptedUnderTheNewFence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		o := options{model: answers(calls("count", "{}"), text("ok")), tools: []tool.Tool{counted("count", tool.AtLeastOnce, &ran)}}
		w := newWorld(t, o)
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.crash(t, commitB)
		before, _, err := w.store.Get(t.Context(), key, store.LogName(3))
		if err != nil || before.Fence != 1 {
			t.Fatalf("result %+v, %v; want fence 1", before, err)
		}
		w.stepper = w.other(t, o)
		w.finish(t, key, nil)
		after, _, err := w.store.Get(t.Context(), key, store.LogName(3))
		if err != nil || after.Fence != 2 || string(after.Payload) != string(before.Payload) {
			t.Errorf("result %+v, %v; want the same bytes under fence 2", after, err)
		}
		if ran != 1 {
			t.Errorf("the tool ran %d times", ran)
		}
	})
}

func TestToolThatMayHaveRun(t *testing.T) {
	tests := []struct {
		name     string
		delivery tool.Delivery
		runs     int
		result   string
	}{
		{"at least once", tool.AtLeastOnce, 2, `tool: "count ran"`},
		{"at most once", tool.AtMostOnce, 1, "tool: outcome unknown: the tool may have run, and it must not run twice"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ran := 0
				o := options{model: answers(calls("count", "{}"), text("ok")), tools: []tool.Tool{counted("count", tt.delivery, &ran)}}
				w := newWorld(t, o)
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.store.put = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
					if r.Name == store.LogName(3) {
						return context.Canceled // dies between the tool and its put
					}
					return w.store.Backend.Put(ctx, key, r)
				}
				w.crash(t, commitB)
				w.store.put = nil
				w.stepper = w.other(t, o)
				w.finish(t, key, nil)
				want := []string{"user: hi", "assistant: [count {}]", tt.result, "assistant: ok"}
				if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
					t.Error(diff)
				}
				if ran != tt.runs {
					t.Errorf("the tool ran %d times, want %d", ran, tt.runs)
				}
			})
		})
	}
}

// Whoever takes an open round over judges its turn and asks its gates again.
func TestVerdictsHoldAfterACrash(t *testing.T) {
	tests := []struct {
		name    string
		options options
		crash   int
		log     []string
		end     string
	}{
		{
			name: "stop policy", options: options{stop: []run.StopCheck{stopAtOnce}}, crash: commitA + 1,
			log: []string{"tool: not executed: test", "tool: not executed: test", "tool: not executed: test"},
			end: `done 1 {"type":"stopped","code":"test"} ""`,
		},
		{
			name: "block", options: options{plugins: []plugin.Plugin{gates(blockB)}}, crash: commitB,
			log: []string{`tool: {"text":"a"}`, "tool: blocked: not b", "tool: not executed: an earlier call was blocked"},
			end: `done 1 {"type":"blocked","detail":"not b"} ""`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, tt.options)
				receipt := w.submit(t, key, "parallel: a, b, c", mailbox.ModeQueue)
				w.store.put = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
					if r.Name == store.LogName(5) { // the last result
						return context.Canceled
					}
					return w.store.Backend.Put(ctx, key, r)
				}
				w.crash(t, tt.crash)
				w.store.put = nil
				w.stepper = w.other(t, tt.options)
				w.finish(t, key, nil)
				want := append([]string{"user: parallel: a, b, c", `assistant: [echo {"text":"a"}][echo {"text":"b"}][echo {"text":"c"}]`}, tt.log...)
				if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
				if got := w.end(t, key, receipt); got != tt.end {
					t.Errorf("the run is %s, want %s", got, tt.end)
				}
			})
		})
	}
}

// A conversation that a failed step added to is never used again.
func TestDeadAttemptLeavesNothingInTheCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := 0
		w := newWorld(t, options{model: modelFunc(func(ctx context.Context, r model.Request) iterator {
			said++
			return answers(text("attempt "+string(rune('0'+said))), text("second"))(ctx, r)
		})})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.crash(t, 1)
		w.finish(t, key, nil)
		w.submit(t, key, "again", mailbox.ModeQueue)
		w.finish(t, key, nil)
		want := []string{"user: hi", "assistant: attempt 2", "user: again", "assistant: second"}
		if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestStepWithoutTimeLeft(t *testing.T) {
	sleeper := toolFunc{name: "sleep", run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	}}
	stubborn := toolFunc{name: "sleep", run: func(context.Context, tool.Call) (tool.Result, error) {
		time.Sleep(12 * time.Second)
		return tool.Text("done late"), nil
	}}
	inTool := answers(calls("sleep", "{}"), text("ok"))
	tests := []struct {
		name    string
		options options
		text    string
		whole   bool
		log     []string
		end     string // "": given back at once
	}{
		{name: "in the model", text: "slow: 600"},
		{name: "in the model, whole", text: "slow: 600", whole: true, log: []string{"user: slow: 600"},
			end: `done 0 {"type":"error","code":"timeout","detail":"the step did not finish within a whole invocation"} ""`},
		{name: "in a tool", text: "hi", options: options{model: inTool, tools: []tool.Tool{sleeper}}, log: []string{"user: hi", "assistant: [sleep {}]"}},
		{name: "in a tool, whole", text: "hi", options: options{model: inTool, tools: []tool.Tool{sleeper}}, whole: true,
			log: []string{"user: hi", "assistant: [sleep {}]", "tool: no result: the run ended first (timeout)"},
			end: `done 1 {"type":"error","code":"timeout","detail":"the step did not finish within a whole invocation"} ""`},
		{name: "in a tool that comes to its end", text: "hi", options: options{model: inTool, tools: []tool.Tool{stubborn}}, whole: true,
			log: []string{"user: hi", "assistant: [sleep {}]", `tool: "done late"`},
			end: `done 1 {"type":"error","code":"timeout","detail":"the step did not finish within a whole invocation"} ""`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, tt.options)
				receipt := w.submit(t, key, tt.text, mailbox.ModeQueue)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				result, err := w.stepper.Step(ctx, run.Claim{Key: key, Head: w.take(t, key), Whole: tt.whole}, nil)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.log, w.log(t, key)); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
				if tt.end != "" {
					if got := w.end(t, key, receipt); got != tt.end {
						t.Errorf("the run is %s, want %s", got, tt.end)
					}
					return
				}
				if h := w.head(t, key); !result.Retry || !h.Run.Ready || h.Run.AvailableAt != 0 || h.Claim.Fence != 0 {
					t.Errorf("result %+v, head %+v; want it claimable at once", result, h)
				}
			})
		})
	}
}

// Every call of a run that was ended from outside has its result, adopted or not.
func TestClosingRunKeepsWhatIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		receipt := w.submit(t, key, "parallel: a, b", mailbox.ModeQueue)
		w.store.put = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			if r.Name == store.LogName(4) { // the second result, after the first
				time.Sleep(time.Second)
				return context.Canceled
			}
			return w.store.Backend.Put(ctx, key, r)
		}
		w.crash(t, commitB)
		w.store.put = nil
		w.submit(t, key, "steered away", mailbox.ModeSteer)
		if _, err := w.box.Cancel(t.Context(), key, receipt.RunID); err != nil {
			t.Fatal(err)
		}
		var got events
		w.finish(t, key, got.sink)
		want := []string{
			"user: parallel: a, b", `assistant: [echo {"text":"a"}][echo {"text":"b"}]`,
			`tool: {"text":"a"}`, "tool: no result: the run was ended first (cancelled)",
		}
		if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
			t.Error(diff)
		}
		events := []string{
			`tool_call_done echo {"text":"a"}`,
			`tool_call_done echo {"error":"no result: the run was ended first (cancelled)"}`,
			"step_end", "run_finish cancelled",
		}
		if diff := cmp.Diff(events, got.lines); diff != "" {
			t.Error(diff)
		}
		if got := w.end(t, key, receipt); got != `done 1 {"type":"cancelled"} ""` {
			t.Errorf("the run is %s", got)
		}
	})
}

// A model error while the inbox holds input must not try that input for ever.
func TestFailingRunTakesItsInboxAlong(t *testing.T) {
	for _, lost := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			inferences := 0
			w := newWorld(t, options{model: modelFunc(func(ctx context.Context, r model.Request) iterator {
				inferences++
				return answers(calls("echo", `{"text":"a"}`), []model.Delta{{Text: "broken pipe"}})(ctx, r)
			})})
			receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
			if _, err := w.stepper.Step(t.Context(), run.Claim{Key: key, Head: w.take(t, key)}, nil); err != nil {
				t.Fatal(err)
			}
			steered := w.submit(t, key, "and this", mailbox.ModeSteer)
			if steered.RunID != receipt.RunID {
				t.Errorf("steered into run %s, want %s", steered.RunID, receipt.RunID)
			}
			want := []string{"user: hi", `assistant: [echo {"text":"a"}]`, `tool: {"text":"a"}`, "user: and this"}
			if lost {
				want = want[:3]
				w.store.get = func(ctx context.Context, key core.ThreadKey, name string) (store.Record, bool, error) {
					if name == store.InputName(steered.DispatchID, 0) {
						return store.Record{}, false, nil
					}
					return w.store.Backend.Get(ctx, key, name)
				}
			}
			w.finish(t, key, nil)
			if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
				t.Error(diff)
			}
			if got := w.end(t, key, receipt); got != `done 1 {"type":"error","code":"model","detail":"broken pipe"} ""` || inferences != 2 {
				t.Errorf("the run is %s after %d inferences, want 2", got, inferences)
			}
		})
	}
}

// An agent that is taken away ends the runs that need it, whatever waits there.
func TestAgentGoneAtALaterStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		receipt := w.submit(t, key, "echo: a", mailbox.ModeQueue)
		if _, err := w.stepper.Step(t.Context(), run.Claim{Key: key, Head: w.take(t, key)}, nil); err != nil {
			t.Fatal(err)
		}
		w.submit(t, key, "and this", mailbox.ModeSteer)
		w.stepper = w.other(t, options{agents: gone{}})
		w.finish(t, key, nil)
		want := []string{"user: echo: a", `assistant: [echo {"text":"a"}]`, `tool: {"text":"a"}`, "user: and this"}
		if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
			t.Error(diff)
		}
		if got := w.end(t, key, receipt); got != `done 1 {"type":"error","code":"resolution","detail":"agent \"demo\" not found, known are: none"} ""` {
			t.Errorf("the run is %s", got)
		}
	})
}

// A sink that panics is a reader that went away.
func TestPanickingSinkDoesNotStopTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, func(core.Event) error { panic("boom") })
		if got := w.end(t, key, receipt); got != `done 1 {"type":"natural_end"} "You said: hi"` {
			t.Errorf("the run is %s", got)
		}
	})
}

// A claim that was lost is fenced at every write.
func TestLostClaimStopsTheStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		w.submit(t, key, "echo: a", mailbox.ModeQueue)
		head := w.take(t, key)
		if err := w.box.Reclaim(t.Context(), []core.ThreadKey{key}); err != nil {
			t.Fatal(err)
		}
		w.take(t, key)
		if _, err := w.stepper.Step(t.Context(), run.Claim{Key: key, Head: head}, nil); !errors.Is(err, thread.ErrFenced) {
			t.Errorf("the step answers %v, want ErrFenced", err)
		}
	})
}

func TestRepeatedCallIDsAreMadeUnique(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := []model.Delta{
			{Type: model.DeltaToolStart, Index: 0, CallID: "c", Name: "echo"},
			{Type: model.DeltaToolArgument, Index: 0, Text: `{"text":"a"}`},
			{Type: model.DeltaToolStart, Index: 0, CallID: "c", Name: "echo"}, // the index repeats, too
			{Type: model.DeltaToolArgument, Index: 0, Text: `{"text":"b"}`},
			{Type: model.DeltaStop},
		}
		w := newWorld(t, options{model: answers(turn, turn, text("ok"))})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		want := []string{
			"user: hi", `assistant: [echo {"text":"a"}][echo {"text":"b"}]`, `tool: {"text":"a"}`, `tool: {"text":"b"}`,
			`assistant: [echo {"text":"a"}][echo {"text":"b"}]`, `tool: {"text":"a"}`, `tool: {"text":"b"}`, "assistant: ok",
		}
		if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
			t.Error(diff)
		}
		var ids []string
		entries, err := store.ReadLog(t.Context(), w.store, key, 1, 8)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			for _, c := range e.Message.ToolCalls {
				ids = append(ids, c.ID)
			}
		}
		if slices.Sort(ids); len(ids) != 4 || len(slices.Compact(ids)) != 4 || !slices.Contains(ids, "c") {
			t.Errorf("call ids are %s", strings.Join(ids, ", "))
		}
	})
}

// Input that changes after a step has read it is read again.
func TestEditedInputIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		w.submit(t, key, "echo: a", mailbox.ModeQueue)
		if _, err := w.stepper.Step(t.Context(), run.Claim{Key: key, Head: w.take(t, key)}, nil); err != nil {
			t.Fatal(err)
		}
		steered := w.submit(t, key, "old", mailbox.ModeSteer)
		edited := thread.Queued{Dispatch: steered.DispatchID, Messages: []core.Message{core.UserMessage("m", "new")}}
		w.store.put = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			if r.Name == store.LogName(5) && w.head(t, key).Inbox[0].Revision == 0 { // the step has read the old text
				payload, err := edited.Encode()
				if err != nil {
					t.Fatal(err)
				}
				if err := w.store.Backend.Put(ctx, key, store.Record{Name: store.InputName(steered.DispatchID, 1), Payload: payload}); err != nil {
					t.Error(err)
				}
				if _, _, err := w.box.Commit(ctx, key, thread.Head{}, thread.Edit{ID: steered.DispatchID, Revision: 1}); err != nil {
					t.Error(err)
				}
			}
			return w.store.Backend.Put(ctx, key, r)
		}
		w.finish(t, key, nil)
		want := []string{"user: echo: a", `assistant: [echo {"text":"a"}]`, `tool: {"text":"a"}`, "user: new", "assistant: You said: new"}
		if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
			t.Error(diff)
		}
	})
}

// Input that comes while the last answer is made keeps the run open.
func TestInputAtTheEndContinuesTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		receipt := w.submit(t, key, "one", mailbox.ModeQueue)
		head := w.take(t, key)
		var once sync.Once
		w.store.put = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			if r.Name == store.LogName(2) {
				once.Do(func() { w.submit(t, key, "two", mailbox.ModeSteer) })
			}
			return w.store.Backend.Put(ctx, key, r)
		}
		var got events
		result, err := w.stepper.Step(t.Context(), run.Claim{Key: key, Head: head}, got.sink)
		if err != nil || result.Outcome != thread.Yield {
			t.Fatalf("the step is %+v, %v; want it to yield", result, err)
		}
		if got := w.end(t, key, receipt); got != `running 1 null ""` {
			t.Errorf("the run is %s", got)
		}
		w.finish(t, key, got.sink)
		if got := w.end(t, key, receipt); got != `done 2 {"type":"natural_end"} "You said: two"` {
			t.Errorf("the run is %s", got)
		}
		want := []string{
			"run_start", "step_start", "text_delta You sai", "text_delta d: one", "inference_complete", "step_end",
			"step_start", "text_delta You sai", "text_delta d: two", "inference_complete", "step_end", "run_finish natural_end",
		}
		if diff := cmp.Diff(want, got.lines); diff != "" {
			t.Error(diff)
		}
	})
}
