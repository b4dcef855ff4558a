package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
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

func TestStepWithoutTimeLeft(t *testing.T) {
	sleeper := toolFunc{name: "sleep", run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	}}
	stubborn := toolFunc{name: "sleep", run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		if deadline, _ := ctx.Deadline(); time.Until(deadline) < 5*time.Second {
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		}
		time.Sleep(11 * time.Second)
		return tool.NewResult("done late"), nil
	}}
	inTool := replies(calls("sleep", "{}"), text("ok"))
	tests := []struct {
		name    string
		options options
		text    string
		steps   int // the last one is taken without much time
		whole   bool
		log     []string
		end     string // "": given back at once
		calls   []thread.CallStatus
		tries   uint8
	}{
		{name: "in the model", text: "slow: 600", tries: 1},
		{name: "in the model, whole", text: "slow: 600", whole: true, log: []string{"user: slow: 600"},
			end: `done 0 {"type":"error","code":"timeout","detail":"the step did not finish within a whole invocation"} ""`},
		{name: "in a tool, whole, after commit A", text: "hi", options: options{model: inTool, tools: []tool.Tool{sleeper}}, whole: true,
			log: []string{"user: hi", "assistant: [sleep {}]"}, calls: []thread.CallStatus{thread.CallNew}},
		{name: "in a tool again", text: "hi", options: options{model: inTool, tools: []tool.Tool{sleeper}}, steps: 2,
			log: []string{"user: hi", "assistant: [sleep {}]"}, calls: []thread.CallStatus{thread.CallNew}, tries: 1},
		{name: "in a tool again, whole", text: "hi", options: options{model: inTool, tools: []tool.Tool{sleeper}}, steps: 2, whole: true,
			log: []string{"user: hi", "assistant: [sleep {}]", "tool: outcome unknown: the run was ended while the tool may have run"},
			end: `done 1 {"type":"error","code":"timeout","detail":"the step did not finish within a whole invocation"} ""`},
		{name: "in a tool that comes to its end", text: "hi", options: options{model: inTool, tools: []tool.Tool{stubborn}}, steps: 2, whole: true,
			log: []string{"user: hi", "assistant: [sleep {}]"}, calls: []thread.CallStatus{thread.CallDone}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, tt.options)
				receipt := w.submit(t, key, tt.text, mailbox.ModeQueue)
				if tt.steps == 2 { // commit A, and no time for the tool
					w.cut(t, time.Second, false)
				}
				began := time.Now()
				result, err := w.cut(t, 10*time.Second, tt.whole)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took != 10*time.Second && took != 11*time.Second {
					t.Errorf("the step took %s", took)
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
				h := w.head(t, key)
				if !result.Retry || result.Head.Version != h.Version || !h.Ready() || h.Run.AvailableAt != 0 || h.Run.Attempts != tt.tries {
					t.Errorf("result %+v, %d attempts; want it claimable at once after %d", result, h.Run.Attempts, tt.tries)
				}
				if diff := cmp.Diff(tt.calls, h.Run.Calls); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A whole invocation that is too short to read the thread says nothing about the
// run, which is tried again.
func TestTimeThatIsOverBeforeTheThreadIsReadEndsNoRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.store.takes = 11 * time.Second
		stepped, err := w.cut(t, 10*time.Second, true)
		if err != nil || !stepped.Retry {
			t.Errorf("the step is %+v, %v; want it given back", stepped, err)
		}
		w.store.takes = 0
		w.finish(t, key, nil)
		if got := w.end(t, key, receipt); got != `done 1 {"type":"natural_end"} "You said: hi"` {
			t.Errorf("the run is %s", got)
		}
	})
}

// A tool that comes to its end late is not run again, though a slower sibling is
// left behind.
func TestLateResultIsStoredBesideASlowerCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		takes := func(d time.Duration) func(context.Context, tool.Call) (tool.Result, error) {
			return func(context.Context, tool.Call) (tool.Result, error) {
				time.Sleep(d)
				return tool.NewResult("done late"), nil
			}
		}
		w := newWorld(t, options{
			model: replies(calls("late", "{}", "later", "{}"), text("ok")), mode: agent.ParallelStreaming,
			tools: []tool.Tool{toolFunc{name: "late", run: takes(11 * time.Second)}, toolFunc{name: "later", run: takes(20 * time.Second)}},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		began := time.Now()
		if stepped, err := w.cut(t, 10*time.Second, true); err != nil || !stepped.Retry || time.Since(began) != 12*time.Second {
			t.Errorf("the step is %+v, %v after %s; want it given back after 12s", stepped, err, time.Since(began))
		}
		if r := w.record(t, store.LogName(3)); r.Fence != 1 {
			t.Errorf("the late result is stored under fence %d, want 1", r.Fence)
		}
		if diff := cmp.Diff([]thread.CallStatus{thread.CallDone, thread.CallNew}, w.head(t, key).Run.Calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		time.Sleep(8 * time.Second) // the slower one comes to its end
	})
}

// A host that stops while a call is refused is not the call's result.
func TestHostThatStopsWhileArgumentsAreChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		picky := checkFunc{toolFunc{name: "picky"}, func() error {
			stop()
			return errors.New("not these")
		}}
		w := newWorld(t, options{model: replies(calls("picky", "{}"), text("ok")), tools: []tool.Tool{picky}})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		stepped, err := w.stepper.Step(ctx, run.Work{Key: key, Head: w.take(t, key)}, nil)
		if err != nil || !stepped.Retry {
			t.Errorf("the step is %+v, %v; want it given back", stepped, err)
		}
		w.finish(t, key, nil)
		want := []string{"user: hi", "assistant: [picky {}]", "tool: invalid arguments: not these", "assistant: ok"}
		if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
			t.Error(diff)
		}
	})
}

// A hook that a stopping host cuts short is no failure of the run.
func TestHostThatStopsWhileAHookRuns(t *testing.T) {
	for _, phase := range []core.Phase{core.PhaseStepStart, core.PhaseBeforeToolExecute, core.PhaseAfterToolExecute, core.PhaseStepEnd} {
		t.Run(string(phase), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				w := newWorld(t, options{plugins: []plugin.Plugin{hooks(phase, func(ctx context.Context, _ plugin.Context) (state.Command, error) {
					stop() // the first time; later ones have another context
					return state.Command{}, ctx.Err()
				})}})
				receipt := w.submit(t, key, "echo: a", mailbox.ModeQueue)
				stepped, err := w.stepper.Step(ctx, run.Work{Key: key, Head: w.take(t, key)}, nil)
				if err != nil || !stepped.Retry || stepped.Head.Run.Attempts != 0 {
					t.Errorf("the step is %+v, %v; want it given back, uncounted", stepped, err)
				}
				w.finish(t, key, nil)
				if got := w.end(t, key, receipt); got != `done 2 {"type":"natural_end"} "Echo: a"` {
					t.Errorf("the run is %s", got)
				}
			})
		})
	}
}

// checkFunc is a tool that takes what check takes.
type checkFunc struct {
	toolFunc
	check func() error
}

func (f checkFunc) Check(json.RawMessage) error { return f.check() }

// cut takes one step that has so much time.
func (w *world) cut(t *testing.T, d time.Duration, whole bool) (run.Stepped, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	return w.stepper.Step(ctx, run.Work{Key: key, Head: w.take(t, key), Whole: whole}, nil)
}

// A host that stops says nothing about the run: however often it does, the run
// goes on where it was, and no claim is counted.
func TestGracefulStopsAreNoAttempts(t *testing.T) {
	tests := []struct {
		name    string
		options options
		text    string
		end     string
	}{
		{"in the model", options{}, "slow: 60", `done 1 {"type":"natural_end"}`},
		{"in a tool", options{model: replies(calls("nap", "{}"), text("ok")), tools: []tool.Tool{nap}}, "hi", `done 2 {"type":"natural_end"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, tt.options)
				receipt := w.submit(t, key, tt.text, mailbox.ModeQueue)
				for range 7 {
					ctx, cancel := context.WithCancel(t.Context())
					time.AfterFunc(3*time.Second, cancel)
					began := time.Now()
					result, err := w.stepper.Step(ctx, run.Work{Key: key, Head: w.take(t, key), Whole: true}, nil)
					if err != nil || !result.Retry || time.Since(began) != 3*time.Second {
						t.Fatalf("result %+v, %v after %s; want it given back after 3s", result, err, time.Since(began))
					}
					if h := w.head(t, key); h.Run.Attempts != 0 || h.Run.Lost != 0 || h.Run.ModelFailed != 0 || h.Run.AvailableAt != 0 {
						t.Fatalf("the run is %+v, want nothing counted", h.Run)
					}
				}
				w.finish(t, key, nil)
				if got := w.end(t, key, receipt); !strings.HasPrefix(got, tt.end) {
					t.Errorf("the run is %s, want %s", got, tt.end)
				}
			})
		})
	}
}

// nap is a tool that takes 6 s and can be interrupted.
var nap = toolFunc{name: "nap", run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
	select {
	case <-ctx.Done():
		return tool.Result{}, ctx.Err()
	case <-time.After(6 * time.Second):
		return tool.NewResult("rested"), nil
	}
}}

// A cancelled run stops within one look at the head, 2 s, whatever it waits for.
func TestCancelStopsTheStepWithinOnePoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		receipt := w.submit(t, key, "slow: 600", mailbox.ModeQueue)
		head := w.take(t, key)
		time.AfterFunc(3*time.Second, func() {
			if _, err := w.box.Cancel(context.Background(), key, receipt.RunID); err != nil {
				t.Error(err)
			}
		})
		began := time.Now()
		stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
		if err != nil || stepped.Outcome != thread.Done || time.Since(began) != 4*time.Second {
			t.Errorf("the step is %s, %v after %s; want it done after 4s", stepped.Outcome, err, time.Since(began))
		}
		log := w.log(t, key) // what the model had said is the run's last message
		if len(log) != 2 || !strings.HasPrefix(log[1], "assistant: w1 w2 w3") || !strings.HasSuffix(log[1], " w40") {
			t.Errorf("the log is %q", log)
		}
	})
}

// What a model had said of its turn when a person ended the run is that turn.
func TestLastWordsOfACancelledRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{model: modelFunc(func(ctx context.Context, r model.Request) iterator {
			if len(r.Messages) == 1 {
				return replies(calls("echo", `{"text":"a"}`))(ctx, r)
			}
			return func(yield func(model.Delta, error) bool) {
				yield(model.Delta{Type: model.DeltaText, Text: "half a"}, nil)
				yield(model.Delta{Type: model.DeltaReasoning, Text: "hm"}, nil)
				yield(model.Delta{Type: model.DeltaText, Text: " sentence"}, nil)
				<-ctx.Done()
			}
		})})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.step(t, key)
		time.AfterFunc(3*time.Second, func() {
			if _, err := w.box.Cancel(context.Background(), key, receipt.RunID); err != nil {
				t.Error(err)
			}
		})
		w.step(t, key)
		got, err := thread.Records{}.DecodeEntry(w.record(t, store.LogName(4)).Payload)
		if err != nil {
			t.Fatal(err)
		}
		got.Sum = 0 // see TestTheLogHasItsChecksums
		want := thread.Entry{Run: receipt.RunID, Step: 2, At: 946684800000, Attempt: 2, Window: &core.Window{}, Message: &core.Message{
			ID: receipt.RunID.String() + ".2", Role: core.RoleAssistant, Content: []core.Block{
				{Type: core.BlockText, Text: "half a"}, {Type: core.BlockReasoning, Text: "hm"}, {Type: core.BlockText, Text: " sentence"},
			},
			RunID: receipt.RunID, Step: 2, Model: "scripted", StopReason: core.StopOther, CreatedAt: time.Now().UnixMilli(),
		}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("last record (-want +got):\n%s", diff)
		}
		if got := w.end(t, key, receipt); got != `done 1 {"type":"cancelled"} "half a sentence"` {
			t.Errorf("the run is %s", got)
		}
	})
}

// Words that follow input which was steered to the run are kept only without it:
// the cancel ends that input unread, and the log would have its reply alone.
func TestLastWordsThatFollowSteeredInputAreNotKept(t *testing.T) {
	before := []string{"user: hi", `assistant: [echo {"text":"a"}]`, `tool: {"text":"a"}`}
	tests := []struct {
		name      string
		steer     bool
		interrupt bool // instead of a cancel
		log       []string
		end       string
	}{
		{"steered", true, false, before, `done 1 {"type":"cancelled"} ""`},
		{"steered, and interrupted", true, true, before, `done 1 {"type":"superseded"} ""`},
		{"not steered", false, false, append(slices.Clip(before), "assistant: half a"), `done 1 {"type":"cancelled"} "half a"`},
		{"not steered, and interrupted", false, true, append(slices.Clip(before), "assistant: half a"), `done 1 {"type":"superseded"} "half a"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, options{model: modelFunc(func(ctx context.Context, r model.Request) iterator {
					if len(r.Messages) == 1 {
						return replies(calls("echo", `{"text":"a"}`))(ctx, r)
					}
					return func(yield func(model.Delta, error) bool) {
						yield(model.Delta{Type: model.DeltaText, Text: "half a"}, nil)
						<-ctx.Done()
					}
				})})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.step(t, key)
				var steered mailbox.Receipt
				if tt.steer {
					steered = w.submit(t, key, "and this", mailbox.ModeSteer)
				}
				time.AfterFunc(3*time.Second, func() {
					if tt.interrupt {
						w.submit(t, key, "now this", mailbox.ModeInterrupt)
						return
					}
					if _, err := w.box.Cancel(context.Background(), key, receipt.RunID); err != nil {
						t.Error(err)
					}
				})
				w.step(t, key)
				if diff := cmp.Diff(tt.log, w.log(t, key)); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
				if got := w.end(t, key, receipt); got != tt.end {
					t.Errorf("the run is %s, want %s", got, tt.end)
				}
				if !tt.steer || tt.interrupt {
					return
				}
				audit, err := thread.Records{}.DecodeAudit(w.record(t, recordname.Ended(steered.DispatchID)).Payload)
				if want := (thread.AuditRecord{Run: receipt.RunID, Status: core.DispatchCancelled}); err != nil || audit != want {
					t.Errorf("the steered input's end is %+v, %v; want %+v", audit, err, want)
				}
			})
		})
	}
}

// A slow step keeps its claim: the lease of 30 s is renewed once less than a
// third of it is left.
func TestLeaseIsRenewedWhileTheModelRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		receipt := w.submit(t, key, "slow: 600", mailbox.ModeQueue)
		head := w.take(t, key)
		var renewed []time.Duration
		began := time.Now()
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if len(c.Records) == 0 {
				renewed = append(renewed, time.Since(began))
				if left := c.Head.Claim.Lease - time.Now().UnixMilli(); left != 30_000 {
					t.Errorf("the lease is renewed by %d ms, want 30,000", left)
				}
			}
			return w.store.Backend.Commit(ctx, key, c)
		}
		if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]time.Duration{22 * time.Second, 44 * time.Second}, renewed); diff != "" {
			t.Errorf("renewals (-want +got):\n%s", diff)
		}
		if got := w.end(t, key, receipt); !strings.HasPrefix(got, `done 1 {"type":"natural_end"}`) {
			t.Errorf("the run is %s", got)
		}
	})
}

// Words of a model that has failed for good are no last words: readers were told that
// nothing of the step stands.
func TestWordsOfAFailedModelAreNoLastWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *world
		var receipt mailbox.Receipt
		m := modelFunc(func(context.Context, model.Request) iterator {
			return func(yield func(model.Delta, error) bool) {
				yield(say("half a"), nil)
				if _, err := w.box.Cancel(context.Background(), key, receipt.RunID); err != nil {
					t.Error(err)
				}
				yield(model.Delta{}, &model.Error{Kind: model.KindOverloaded, Message: "overloaded"})
			}
		})
		o := options{agents: spec(t, m, agent.Spec{Stop: []agent.StopSpec{{Type: "consecutive_errors", Max: 2}}, Retry: agent.Retry{MaxRetries: new(0)}})}
		w = newWorld(t, o)
		receipt = w.submit(t, key, "hi", mailbox.ModeQueue)
		w.step(t, key)
		if diff := cmp.Diff([]string{"user: hi"}, w.log(t, key)); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		if got, want := w.end(t, key, receipt), `done 0 {"type":"cancelled"} ""`; got != want {
			t.Errorf("the run is %s, want %s", got, want)
		}
	})
}
