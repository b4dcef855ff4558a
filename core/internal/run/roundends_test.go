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
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// obeys is a tool that returns when its context has ended.
func obeys(returns func() (tool.Result, error)) tool.Tool {
	return toolFunc{name: "obeys", run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		<-ctx.Done()
		return returns()
	}}
}

// Results that an earlier claim has stored are told when they are stored again, and no tool
// runs before that.
func TestAFoundResultThatCannotBeStoredAgain(t *testing.T) {
	for _, failure := range []error{store.ErrThrottled, store.ErrFenced} {
		t.Run(failure.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first, last := 0, 0
				o := options{
					model: replies(calls("first", "{}", "last", "{}"), text("ok")),
					tools: []tool.Tool{counted("first", false, &first), slowly("last", &last)},
				}
				w := newWorld(t, o)
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.crash(t, commitB)
				last = 0
				w.stepper = w.other(t, o)
				w.store.OnPut = func(context.Context, core.ThreadKey, store.Record) error { return failure }
				var told events
				stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: w.take(t, key)}, told.sink)
				fenced := errors.Is(failure, store.ErrFenced)
				if stepped.Retry == fenced || errors.Is(err, store.ErrFenced) != fenced || first != 1 || last != 0 || len(told.lines) > 0 {
					t.Errorf("the step is %+v, %v, after %d and %d runs of the tools; told are %q", stepped, err, first, last, told.lines)
				}
			})
		})
	}
}

// A result that an earlier claim has brought is no progress of this one.
func TestAWholeInvocationBehindAResultThatWasThereBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{
			model: replies(calls("echo", `{"text":"a"}`, "obeys", "{}"), text("ok")),
			tools: []tool.Tool{obeys(func() (tool.Result, error) { return tool.Result{}, errors.New("cut short") })},
		})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.cut(t, 3*time.Second, false)
		if got := w.stands(t); got != "running [done new]" {
			t.Fatalf("the round is %s", got)
		}
		time.Sleep(time.Minute)
		if _, err := w.cut(t, 20*time.Second, true); err != nil {
			t.Fatal(err)
		}
		const end = `done 1 {"type":"error","code":"timeout","detail":"the step did not finish within a whole invocation"} ""`
		if got := w.end(t, key, receipt); got != end {
			t.Errorf("the run is %s, want %s", got, end)
		}
	})
}

// A run that is cancelled while the hooks before its tools still think says that none of them
// has run.
func TestACancelBeforeTheToolsOfARoundStart(t *testing.T) {
	for _, mode := range []agent.ExecutionMode{agent.Sequential, agent.ParallelStreaming} {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ran := 0
				w := newWorld(t, options{
					mode: mode, model: replies(calls("count", "{}", "count", "{}")), tools: []tool.Tool{counted("count", false, &ran)},
					plugins: []plugin.Plugin{pluginFunc{"thinks", func(r *plugin.Registrar) {
						r.OnBeforeTool(func(ctx context.Context, _ plugin.BeforeTool) (state.Command, error) {
							<-ctx.Done()
							return state.Command{}, ctx.Err()
						})
					}}},
				})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				time.AfterFunc(time.Second, func() {
					if _, err := w.box.Cancel(t.Context(), key, receipt.RunID); err != nil {
						t.Error(err)
					}
				})
				w.step(t, key)
				const not = "not_executed: no result: the run was ended first (cancelled)"
				if diff := cmp.Diff([]string{not, not}, w.results(t)); diff != "" || ran != 0 {
					t.Errorf("after %d runs of the tool, results (-want +got):\n%s", ran, diff)
				}
			})
		})
	}
}

// A question that the store does not take, and that comes with the end of the time, is asked by
// the next claim: nothing but the nack is written. So it is with one that comes in time.
func TestAQuestionThatIsNotStoredIsNotAsked(t *testing.T) {
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprint("late ", late), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asks := toolFunc{name: "asks", run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
					if late {
						<-ctx.Done()
					}
					return tool.Suspended(core.TicketRequest{Message: strings.Repeat("x", 70_000)}), nil
				}}
				w := newWorld(t, options{model: replies(calls("asks", "{}"), text("ok")), tools: []tool.Tool{asks}})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				var heads []string
				w.store.OnPut = func(context.Context, core.ThreadKey, store.Record) error { return store.ErrThrottled }
				w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
					heads = append(heads, fmt.Sprint(c.Head.Run.Calls, " ", len(c.Head.Tickets)))
					return w.store.Backend.Commit(ctx, key, c)
				}
				if stepped, err := w.cut(t, 5*time.Second, false); err != nil || !stepped.Retry {
					t.Errorf("the step is %+v, %v; want it given back", stepped, err)
				}
				// The claim, the turn, and the nack.
				if diff := cmp.Diff([]string{"[] 0", "[new] 0", "[new] 0"}, heads); diff != "" {
					t.Errorf("heads (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Marks of tools that must not run twice may be refused: the log says why, and none starts.
func TestAWriteBeforeTheToolsThatIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		ran := 0
		w := newWorld(t, options{
			mode: agent.ParallelStreaming, model: replies(calls("once", "{}", "once", "{}"), text("ok")),
			tools: []tool.Tool{counted("once", true, &ran)}, logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		head := w.take(t, key)
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			for _, s := range c.Head.Run.Calls {
				if s == thread.CallRunning {
					return store.Outcome{}, core.Errorf(core.CodeInvalid, "no marks today")
				}
			}
			return w.store.Backend.Commit(ctx, key, c)
		}
		stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
		if err != nil || !stepped.Retry || ran != 0 || !strings.Contains(log.String(), ": no marks today\"") {
			t.Errorf("the step is %+v, %v, after %d runs of the tool; the log has:\n%s", stepped, err, ran, &log)
		}
	})
}

// No gate is asked behind one that has failed.
func TestAGateThatFailsIsTheLastThatIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []int
		w := newWorld(t, options{
			mode: agent.ParallelStreaming, model: replies(calls("echo", `{"text":"a"}`, "echo", `{"text":"b"}`, "echo", `{"text":"c"}`)),
			plugins: []plugin.Plugin{gates(func(c plugin.GateCall) (v plugin.Verdict, err error) {
				if asked = append(asked, c.CallIndex); c.CallIndex == 1 {
					err = errors.New("no rules")
				}
				return v, err
			})},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		if diff := cmp.Diff([]int{0, 1}, asked); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
	})
}

// Whoever listens to a round may panic: its tools are told, and waited for, before the step
// gives its claim back.
func TestAPanicBesideTheToolsOfARound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, ended := time.Now(), ""
		w := newWorld(t, options{
			mode: agent.ParallelStreaming, model: replies(calls("obeys", "{}", "echo", `{"text":"a"}`), text("ok")),
			tools: []tool.Tool{obeys(func() (tool.Result, error) {
				time.Sleep(time.Second)
				ended = time.Since(began).String()
				return tool.NewResult("cut short"), nil
			})},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: w.take(t, key)}, func(e core.Event) error {
			if e.Type == core.EventToolCallDone {
				panic("boom")
			}
			return nil
		})
		if err != nil || !stepped.Retry || ended != "1.001s" || time.Since(began) != 1001*time.Millisecond {
			t.Errorf("the step is %+v, %v after %s, and the tool ended after %q", stepped, err, time.Since(began), ended)
		}
	})
}
