package run_test

import (
	"context"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// deaf is a tool that takes so long, whatever its context says.
func deaf(atMostOnce bool, takes time.Duration) toolFunc {
	return toolFunc{name: "deaf", atMostOnce: atMostOnce, run: func(context.Context, tool.Call) (tool.Result, error) {
		time.Sleep(takes)
		return tool.NewResult("late"), nil
	}}
}

// timed is a tool with a timeout of its own.
type timed struct {
	toolFunc
	timeout time.Duration
}

func (t timed) Spec() tool.Spec {
	spec := t.toolFunc.Spec()
	spec.Timeout = t.timeout
	return spec
}

// statuses are those of the results in the committed log.
func (w *world) statuses(t *testing.T) (statuses []core.ResultStatus) {
	t.Helper()
	entries, err := threadlog.Read(t.Context(), w.store, thread.Records{}, key, 1, w.head(t, key).Seq)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Message != nil && e.Message.ToolResult != nil {
			statuses = append(statuses, e.Message.ToolResult.Status)
		}
	}
	return statuses
}

// The watch looks every 2 s, and the tool has 2 s more: so a cancelled run, its
// stream and its thread are free within 5 s of the cancel.
func TestDeafToolDoesNotKeepACancelledRun(t *testing.T) {
	tests := []struct {
		name       string
		atMostOnce bool
		cancel     time.Duration // after the step's begin
		took       time.Duration // the step
	}{
		{"just before a look", false, 3900 * time.Millisecond, 6 * time.Second},
		{"just after a look", false, 2001 * time.Millisecond, 6 * time.Second},
		{"at most once", true, 3 * time.Second, 6 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				w := newWorld(t, options{
					model: replies(calls("echo", `{"text":"a"}`, "deaf", "{}"), text("next")), tools: []tool.Tool{deaf(tt.atMostOnce, 60*time.Second)},
					logger: slog.New(slog.NewTextHandler(&log, nil)),
				})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				head := w.take(t, key)
				time.AfterFunc(tt.cancel, func() {
					if _, err := w.box.Cancel(t.Context(), key, receipt.RunID); err != nil {
						t.Error(err)
					}
				})
				began := time.Now()
				var got events
				stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, got.sink)
				if took := time.Since(began); err != nil || stepped.Outcome != thread.Done || took != tt.took {
					t.Errorf("the step is %s, %v after %s; want done after %s", stepped.Outcome, err, took, tt.took)
				}
				want := []string{
					"user: hi", `assistant: [echo {"text":"a"}][deaf {}]`, `tool: {"text":"a"}`,
					"tool: outcome unknown: the run was ended while the tool may have run",
				}
				if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff([]core.ResultStatus{"ok", "unknown"}, w.statuses(t)); diff != "" {
					t.Errorf("statuses (-want +got):\n%s", diff)
				}
				end := []string{
					`tool_call_done deaf {"error":"outcome unknown: the run was ended while the tool may have run"}`,
					"step_end", "run_finish cancelled",
				}
				if diff := cmp.Diff(end, got.lines[len(got.lines)-3:]); diff != "" {
					t.Errorf("end of the stream (-want +got):\n%s", diff)
				}
				line, _, _ := strings.Cut(log.String(), "\n")
				for _, part := range []string{"level=WARN", "abandoned tool still running", "thread=t1", "run=" + receipt.RunID.String(), "tool=deaf", "call=call_"} {
					if !strings.Contains(line, part) {
						t.Errorf("the log says %s\nwant %q in it", line, part)
					}
				}
				w.goesOnBeside(t)
			})
		})
	}
}

// goesOnBeside checks that the thread takes its next input while a tool that was
// left behind still runs, and that nothing comes of it when it ends.
func (w *world) goesOnBeside(t *testing.T) {
	t.Helper()
	if n := w.stepper.Abandoned(); n != 1 {
		t.Errorf("%d tools are left behind, want 1", n)
	}
	second := w.submit(t, key, "and now", mailbox.ModeQueue)
	w.finish(t, key, nil)
	if got := w.end(t, key, second); got != `done 1 {"type":"natural_end"} "next"` {
		t.Errorf("the next run is %s", got)
	}
	before := w.log(t, key)
	time.Sleep(60 * time.Second)
	synctest.Wait()
	if n := w.stepper.Abandoned(); n != 0 {
		t.Errorf("%d tools are left behind, want none", n)
	}
	if diff := cmp.Diff(before, w.log(t, key)); diff != "" {
		t.Errorf("the late tool changed the log (-want +got):\n%s", diff)
	}
}

func TestToolsOwnTimeout(t *testing.T) {
	obeys := func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	}
	takes := func(d time.Duration) func(context.Context, tool.Call) (tool.Result, error) {
		return func(context.Context, tool.Call) (tool.Result, error) {
			time.Sleep(d)
			return tool.NewResult("done"), nil
		}
	}
	tests := []struct {
		name   string
		run    func(context.Context, tool.Call) (tool.Result, error)
		took   time.Duration
		result string
		status core.ResultStatus
	}{
		{"in time", takes(900 * time.Millisecond), 900 * time.Millisecond, `"done"`, "ok"},
		{"obeyed", obeys, time.Second, "execution timed out after 1s", "error"},
		{"obeyed with a result", takes(2900 * time.Millisecond), 2900 * time.Millisecond, `"done"`, "ok"},
		{"not obeyed", takes(60 * time.Second), 3 * time.Second, "timed out after 1s; whether it acted is not known", "unknown"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, options{
					model: replies(calls("timed", "{}"), text("ok")),
					tools: []tool.Tool{timed{toolFunc{name: "timed", run: tt.run}, time.Second}},
				})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				began := time.Now()
				if stepped := w.step(t, key); stepped.Outcome != thread.Yield || time.Since(began) != tt.took {
					t.Errorf("the step is %s after %s, want yield after %s", stepped.Outcome, time.Since(began), tt.took)
				}
				w.finish(t, key, nil)
				if diff := cmp.Diff([]string{"user: hi", "assistant: [timed {}]", "tool: " + tt.result, "assistant: ok"}, w.log(t, key)); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff([]core.ResultStatus{tt.status}, w.statuses(t)); diff != "" {
					t.Errorf("statuses (-want +got):\n%s", diff)
				}
				if got := w.end(t, key, receipt); got != `done 2 {"type":"natural_end"} "ok"` {
					t.Errorf("the run is %s", got)
				}
				time.Sleep(60 * time.Second) // until the last tool has ended
			})
		})
	}
}

// A tool that must not go on says so also when its own time is over.
func TestFatalErrorBehindAToolsOwnTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fatal := func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			<-ctx.Done()
			return tool.Result{}, tool.Fatal(ctx.Err())
		}
		w := newWorld(t, options{
			model: replies(calls("timed", "{}"), text("ok")),
			tools: []tool.Tool{timed{toolFunc{name: "timed", run: fatal}, time.Second}},
		})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		if got, want := w.end(t, key, receipt), `done 1 {"type":"error","code":"tool",`; !strings.HasPrefix(got, want) {
			t.Errorf("the run is %s, want %s", got, want)
		}
	})
}

// When the step's time is over there is no result: the next delivery runs the
// tool again, or says that its outcome is unknown.
func TestDeafToolAtTheStepsDeadline(t *testing.T) {
	tests := []struct {
		name       string
		atMostOnce bool
		whole      bool
		calls      []thread.CallStatus // after the step; none: the run has ended
		runs       int32
		result     string
		end        string
	}{
		{"at least once", false, false, []thread.CallStatus{thread.CallNew}, 2, `"done"`, `done 2 {"type":"natural_end"} "ok"`},
		{"at most once", true, false, []thread.CallStatus{thread.CallRunning}, 1,
			"outcome unknown: the tool may have run, and it must not run twice", `done 2 {"type":"natural_end"} "ok"`},
		{"of a whole invocation", false, true, nil, 1,
			"outcome unknown: the run was ended while the tool may have run",
			`done 1 {"type":"error","code":"timeout","detail":"the step did not finish within a whole invocation"} ""`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var runs atomic.Int32
				w := newWorld(t, options{
					model: replies(calls("deaf", "{}"), text("ok")),
					tools: []tool.Tool{toolFunc{name: "deaf", atMostOnce: tt.atMostOnce, run: func(context.Context, tool.Call) (tool.Result, error) {
						if runs.Add(1) == 1 {
							time.Sleep(60 * time.Second)
							return tool.NewResult("late"), nil
						}
						return tool.NewResult("done"), nil
					}}},
				})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				if tt.whole {
					w.turnOnly(t)
				}
				began := time.Now()
				if _, err := w.cut(t, 10*time.Second, tt.whole); err != nil || time.Since(began) != 12*time.Second {
					t.Errorf("the step returns %v after %s, want it over after 12s", err, time.Since(began))
				}
				if diff := cmp.Diff(tt.calls, w.head(t, key).Run.Calls); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
				w.finish(t, key, nil)
				time.Sleep(60 * time.Second)
				if got := w.log(t, key); runs.Load() != tt.runs || got[2] != "tool: "+tt.result {
					t.Errorf("%d runs, and the log is %q; want %d and %q", runs.Load(), got, tt.runs, tt.result)
				}
				if got := w.end(t, key, receipt); got != tt.end {
					t.Errorf("the run is %s, want %s", got, tt.end)
				}
			})
		})
	}
}

// turnOnly takes a step whose process dies behind commit A, before a tool runs.
func (w *world) turnOnly(t *testing.T) {
	t.Helper()
	head := w.take(t, key)
	ctx, stop := context.WithCancel(t.Context())
	w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
		outcome, err := w.store.Backend.Commit(ctx, key, c)
		stop()
		w.store.OnCommit = nil
		return outcome, err
	}
	if stepped, err := w.stepper.Step(ctx, run.Work{Key: key, Head: head}, nil); err != nil || !stepped.Retry {
		t.Fatalf("the step is %+v, %v; want it given back", stepped, err)
	}
}

func TestToolThatEndsItsGoroutineHasAnErrorResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exits := toolFunc{name: "exits", run: func(context.Context, tool.Call) (tool.Result, error) {
			runtime.Goexit()
			return tool.Result{}, nil
		}}
		w := newWorld(t, options{model: replies(calls("exits", "{}"), text("ok")), tools: []tool.Tool{exits}})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		want := []string{"user: hi", "assistant: [exits {}]", "tool: execution failed: the tool ended its goroutine", "assistant: ok"}
		if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
			t.Error(diff)
		}
	})
}
