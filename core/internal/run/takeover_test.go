package run_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// TestAWorkerThatLostItsClaimStopsAtItsNextLook: it would pay for its inference
// to the end otherwise, and renew the lease of the worker that has the run now.
func TestAWorkerThatLostItsClaimStopsAtItsNextLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		w.submit(t, key, "slow: 600", mailbox.ModeQueue)
		head, began := w.take(t, key), time.Now()
		takes := make(chan thread.Head, 1)
		time.AfterFunc(3*time.Second, func() {
			defer close(takes) // also when nothing could be taken
			if err := w.box.Reclaim(t.Context(), []core.ThreadKey{key}); err != nil {
				t.Error(err)
			}
			takes <- w.take(t, key)
		})
		_, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
		if took := time.Since(began); !errors.Is(err, thread.ErrFenced) || took != 4*time.Second {
			t.Errorf("the step ended with %v after %s, want ErrFenced after 4s", err, took)
		}
		taken := <-takes
		if now := w.head(t, key); now.Claim != taken.Claim || now.Version != taken.Version {
			t.Errorf("the other worker's claim is %+v, want it as it was, %+v", now.Claim, taken.Claim)
		}
	})
}

// TestWhatLiesAtAResultsPlaceIsNotAdopted: only the record of that call is its
// result. Another one there is left from a write that was refused.
func TestWhatLiesAtAResultsPlaceIsNotAdopted(t *testing.T) {
	result := core.Message{Role: core.RoleTool, ToolResult: &core.ToolResult{Message: "left behind"}}
	spoken := core.UserMessage("left behind")
	tests := []struct {
		name  string
		other core.ID      // run; zero: this one
		id    string       // of the message, behind the run's
		m     core.Message // what was left
	}{
		{"a result of the turn before", core.ID{}, ".0.0", result},
		{"a result of another run", core.ID{1}, ".1.0", result},
		{"what a person said under the result's id", core.ID{}, ".1.0", spoken},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, options{model: replies(calls("nap", "{}"), text("ok")), tools: []tool.Tool{nap}})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.cut(t, time.Second, false) // commit A, and no time for the tool
				head := w.head(t, key)
				m, of := tt.m, head.Run.ID
				m.ID = of.String() + tt.id
				if tt.other != (core.ID{}) {
					of = tt.other
				}
				orphan, err := thread.Records{}.EncodeEntry(&thread.Entry{Run: of, Step: 1, Message: &m})
				if err != nil {
					t.Fatal(err)
				}
				if err := w.store.Put(t.Context(), key, store.Record{Name: store.LogName(head.Run.Base), Fence: head.Fence, Payload: orphan}); err != nil {
					t.Fatal(err)
				}
				w.finish(t, key, nil)
				want := []string{"user: hi", "assistant: [nap {}]", `tool: "rested"`, "assistant: ok"}
				if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// misplace puts an entry of the run where another one belongs.
func (w *world) misplace(t *testing.T, seq uint64, m *core.Message) {
	t.Helper()
	head := w.head(t, key)
	payload, err := thread.Records{}.EncodeEntry(&thread.Entry{Run: head.Run.ID, Step: 1, Message: m})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.store.Put(t.Context(), key, store.Record{Name: store.LogName(seq), Fence: head.Fence + 1, Payload: payload}); err != nil {
		t.Fatal(err)
	}
}

// TestADoneCallWhoseResultIsLostDoesNotRunAgain: its result was readable for
// good, so that without it the thread is damaged, and the run ends.
func TestADoneCallWhoseResultIsLostDoesNotRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		o := options{
			model: replies(calls("count", "{}", "nap", "{}"), text("ok")),
			tools: []tool.Tool{counted("count", false, &ran), nap},
		}
		w := newWorld(t, o)
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.cut(t, time.Second, false)
		head := w.head(t, key)
		if diff := cmp.Diff([]thread.CallStatus{thread.CallDone, thread.CallNew}, head.Run.Calls); diff != "" {
			t.Fatalf("calls (-want +got):\n%s", diff)
		}
		w.misplace(t, 3, nil)
		w.stepper = w.other(t, o)
		w.finish(t, key, nil)
		const end = `done 1 {"type":"error","code":"corrupt","detail":"the stored thread cannot be read"} ""`
		if got := w.end(t, key, receipt); got != end || ran != 1 {
			t.Errorf("the run is %s, and the tool ran %d times; want %s after one", got, ran, end)
		}
	})
}

// TestWhatAToolIsToldOfItsCall: whoever runs a call tells its tool the same. No
// other call has its key, which is made of the run, the turn's sequence and the
// call's index.
func TestWhatAToolIsToldOfItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		ask := toolFunc{name: "ask", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			told = append(told, fmt.Sprintf("%s of step %d: %s %s %s in run %s of %s", c.Key(), c.Step, c.ID, c.Name, c.Arguments, c.Run, c.Thread))
			return tool.NewResult("ok"), nil
		}}
		o := options{model: replies(calls("ask", `{"a":1}`), calls("echo", `{"text":"a"}`, "ask", "{}"), text("ok")), tools: []tool.Tool{ask}}
		w := newWorld(t, o)
		id := w.submit(t, key, "hi", mailbox.ModeQueue).RunID.String()
		w.crash(t, commitB)
		w.stepper = w.other(t, o)
		w.finish(t, key, nil)
		want := []string{
			"RUN/2/0 of step 1: call_END_1_0 ask {\"a\":1} in run RUN of t/t1",
			"RUN/2/0 of step 1: call_END_1_0 ask {\"a\":1} in run RUN of t/t1",
			"RUN/4/1 of step 2: call_END_2_1 ask {} in run RUN of t/t1",
		}
		ids := strings.NewReplacer("RUN", id, "END", id[24:])
		for i := range want {
			want[i] = ids.Replace(want[i])
		}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
	})
}

// A gate's word that cannot be stored, since the claim is lost, is the last thing
// that the claim does: no tool runs behind it.
func TestNoToolRunsBehindAResultThatIsRefused(t *testing.T) {
	tests := []struct {
		name  string
		calls []string
		put   string // the result that is refused
	}{
		{"of a tool that does not exist", []string{"none", "{}", "count", "{}"}, store.LogName(3)},
		{"that a gate sets", []string{"echo", `{"text":"set"}`, "count", "{}"}, store.LogName(3)},
		{"that a gate blocks", []string{"count", "{}", "echo", `{"text":"b"}`}, store.LogName(4)},
		{"behind one that a gate blocks", []string{"count", "{}", "echo", `{"text":"b"}`, "echo", `{"text":"c"}`}, store.LogName(5)},
		{"of a tool that may have run", []string{"once", "{}", "count", "{}"}, "M#"}, // every one, also of the claim before
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ran, once := 0, 0
				w := newWorld(t, options{
					model: replies(calls(tt.calls...), text("ok")), mode: agent.ParallelStreaming,
					tools: []tool.Tool{slowly("count", &ran), counted("once", true, &once)},
					plugins: []plugin.Plugin{gates(func(c plugin.GateCall) (plugin.Verdict, error) {
						if string(c.Call.Arguments) == `{"text":"set"}` {
							return plugin.SetResult(core.ToolResult{Message: "cached"}), nil
						}
						return blockB(c)
					})},
				})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
					if strings.HasPrefix(r.Name, tt.put) {
						return store.ErrFenced
					}
					return w.store.Backend.Put(ctx, key, r)
				}
				head := w.take(t, key)
				if tt.calls[0] == "once" {
					if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil); !errors.Is(err, thread.ErrFenced) || once != 1 {
						t.Fatalf("the first step ended with %v, and the tool ran %d times", err, once)
					}
					head, ran = w.takeOver(t), 0
				}
				_, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
				if !errors.Is(err, thread.ErrFenced) || ran != 0 {
					t.Errorf("the step ended with %v, and the tool ran %d times; want ErrFenced and none", err, ran)
				}
			})
		})
	}
}

// The watch may see the end of a run before the step knows that it has written
// it. That stops no step: RunEnd has the time of a lease, as without it.
func TestWatchLetsAStepEndItsOwnRun(t *testing.T) {
	for name, turn := range map[string][]model.Delta{"naturally": text("ok"), "with an error": {{Text: "broken pipe"}}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var had []time.Duration
				w := newWorld(t, options{model: replies(turn), plugins: []plugin.Plugin{
					hooks(core.PhaseRunEnd, func(ctx context.Context, _ plugin.Context) (state.Command, error) {
						until, _ := ctx.Deadline()
						had = append(had, time.Until(until))
						return state.Command{}, nil
					}),
				}})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				head := w.take(t, key)
				w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
					w.store.OnCommit = nil
					outcome, err := w.store.Backend.Commit(ctx, key, c)
					time.Sleep(3 * time.Second) // the watch looks every 2 s
					return outcome, err
				}
				stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
				if err != nil || stepped.Outcome != thread.Done {
					t.Errorf("the step is %s, %v; want done", stepped.Outcome, err)
				}
				if diff := cmp.Diff([]time.Duration{30 * time.Second}, had); diff != "" {
					t.Errorf("time of RunEnd (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A worker whose result is refused for another worker's has nothing to give
// back, and does not say that it did.
func TestWorkerThatLostItsClaimGivesNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		var log strings.Builder
		w := newWorld(t, options{
			model: replies(calls("count", "{}"), text("ok")), tools: []tool.Tool{counted("count", false, &ran)},
			logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		head, writes := w.take(t, key), 0
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			if writes++; writes != commitB {
				return w.store.Backend.Commit(ctx, key, c)
			}
			w.store.OnCommit = nil
			w.takeOver(t)
			w.misplace(t, 3, nil)
			return store.Outcome{}, core.Errorf(core.CodeInvalid, "refused")
		}
		_, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
		if !errors.Is(err, thread.ErrFenced) || log.Len() != 0 {
			t.Errorf("the step ended with %v, want ErrFenced; the log has:\n%s", err, &log)
		}
	})
}

// The watch may see the next fence before the step knows that it has it.
func TestWatchKnowsTheFenceThatItsStepTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		w.submit(t, key, "echo: a", mailbox.ModeQueue)
		head := w.take(t, key)
		if err := w.store.Put(t.Context(), key, store.Record{Name: store.LogName(2), Fence: head.Fence, Payload: []byte("of this claim")}); err != nil {
			t.Fatal(err)
		}
		var wrote []uint64
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			outcome, err := w.store.Backend.Commit(ctx, key, c)
			if wrote = append(wrote, c.Head.Fence); len(wrote) == 2 {
				time.Sleep(3 * time.Second) // the watch looks every 2 s
			}
			return outcome, err
		}
		stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
		if err != nil || stepped.Outcome != thread.Yield || stepped.Retry {
			t.Errorf("the step is %+v, %v; want it to yield", stepped, err)
		}
		if diff := cmp.Diff([]uint64{1, 2, 2, 2}, wrote); diff != "" {
			t.Errorf("fences of the commits (-want +got):\n%s", diff)
		}
	})
}
