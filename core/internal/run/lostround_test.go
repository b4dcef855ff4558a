package run_test

import (
	"context"
	"errors"
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

// A put that is refused, since the claim is lost, ends the round at once: what runs is told,
// and an error that a call has come to before is nobody's any more.
func TestAClaimThatIsLostEndsTheRoundAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		fatal := toolFunc{name: "fatal", run: func(context.Context, tool.Call) (tool.Result, error) {
			time.Sleep(time.Second)
			return tool.Result{}, tool.Fatal(errors.New("no disk"))
		}}
		obeys := toolFunc{name: "obeys", run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			select {
			case <-ctx.Done():
				return tool.NewResult("cut short"), nil
			case <-time.After(time.Minute):
				return tool.NewResult("not told"), nil
			}
		}}
		w := newWorld(t, options{
			mode: agent.ParallelStreaming, model: replies(calls("fatal", "{}", "sleeps", `"1500ms"`, "obeys", "{}")), tools: []tool.Tool{fatal, obeys, sleeps},
			logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		var put []string
		w.store.OnPut = func(_ context.Context, _ core.ThreadKey, r store.Record) error {
			put = append(put, r.Name)
			return store.ErrFenced
		}
		began := time.Now()
		_, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: w.take(t, key)}, nil)
		if took := time.Since(began); !errors.Is(err, thread.ErrFenced) || took != 1500*time.Millisecond || log.Len() > 0 {
			t.Errorf("the step ended with %v after %s; the log has:\n%s", err, took, &log)
		}
		if diff := cmp.Diff([]string{store.LogName(4), store.LogName(5)}, put); diff != "" {
			t.Errorf("puts (-want +got):\n%s", diff)
		}
	})
}

// What a tool returns when the watch has found that the claim is lost is not stored: another
// claim decides about its call.
func TestAResultBehindALostClaimIsNotStored(t *testing.T) {
	for _, mode := range []agent.ExecutionMode{agent.Sequential, agent.ParallelStreaming} {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, options{
					mode: mode, model: replies(calls("obeys", "{}", "nap", "{}"), text("ok")),
					tools: []tool.Tool{nap, toolFunc{name: "obeys", run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
						<-ctx.Done()
						return tool.NewResult("cut short"), nil
					}}},
				})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				head := w.take(t, key)
				time.AfterFunc(3*time.Second, func() { w.takeOver(t) })
				puts := 0
				w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
					if r.Name == store.LogName(3) {
						puts++
					}
					return w.store.Backend.Put(ctx, key, r)
				}
				_, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
				if !errors.Is(err, thread.ErrFenced) || puts != 0 {
					t.Errorf("the step ended with %v after %d puts of the result", err, puts)
				}
			})
		})
	}
}

// A run that is cancelled when the process that ran its tools is gone says of each call what
// may have become of it, also where the head says so by the call's mark alone, and where a
// claim in between was given back before it started anything.
func TestARoundThatIsClosedBehindALostClaim(t *testing.T) {
	const may = "unknown: outcome unknown: the run was ended while the tool may have run"
	const not = "not_executed: no result: the run was ended first (cancelled)"
	tests := []struct {
		name       string
		atMostOnce bool
		mode       agent.ExecutionMode
		between    bool // a claim
		want       []string
	}{
		{"a mark", true, agent.Sequential, false, []string{may, not}},
		{"marks", true, agent.ParallelStreaming, false, []string{may, may}},
		{"a claim in between", false, agent.ParallelStreaming, true, []string{may, may}},
		{"a claim in between, one call after the other", false, agent.Sequential, true, []string{may, not}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				died := false
				w := newWorld(t, options{
					mode: tt.mode, model: replies(calls("deaf", "{}", "deaf", "{}")), tools: []tool.Tool{deaf(tt.atMostOnce, 9*time.Second)},
					plugins: []plugin.Plugin{pluginFunc{"waits", func(r *plugin.Registrar) {
						r.Gate(func(ctx context.Context, _ plugin.GateCall) (v plugin.Verdict, err error) {
							if died {
								<-ctx.Done()
							}
							return v, ctx.Err()
						})
					}}},
				})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				time.AfterFunc(1500*time.Millisecond, func() { w.store.dead.Store(true) })
				w.die(t)
				if died = true; tt.between {
					if stepped, err := w.cut(t, 5*time.Second, false); err != nil || !stepped.Retry {
						t.Fatalf("the step is %+v, %v; want it given back", stepped, err)
					}
				}
				if _, err := w.box.Cancel(t.Context(), key, receipt.RunID); err != nil {
					t.Fatal(err)
				}
				w.finish(t, key, nil)
				if diff := cmp.Diff(tt.want, w.results(t)); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
				time.Sleep(20 * time.Second)
			})
		})
	}
}

// In a close no AfterToolExecute runs any more: what a later tool asked for, and what does not
// apply without what that would have changed, is left out, and is said. What hooks changed
// for one revision stands in no way.
func TestAChangeThatDoesNotApplyInACloseIsSaid(t *testing.T) {
	tests := []struct {
		name       string
		hook, tool bool // of the second call, for one revision
		adds       string
		left       string
		complaints int
	}{
		{"all of it applies", false, false, "t", "aht", 0},
		{"the hook's is for one revision", true, false, "t", "aht", 0},
		{"the tool's is for one revision", false, true, "t", "a", 1},
		{"the tool's does not apply", false, false, "!", "ah", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				left := ""
				list := state.Key[string, string]{Name: "list", Scope: state.ScopeRun, Apply: func(had, more string) string {
					if more == "!" && !strings.Contains(had, "-") {
						panic("not yet")
					}
					return had + more
				}}
				on := func(one bool, s state.Snapshot, more string) state.Command {
					command := list.Update(more)
					if one {
						command.Batch = command.Batch.On(s)
					}
					return command
				}
				w := newWorld(t, options{
					model: replies(calls("set", "{}", "set", "{}", "deaf", "{}"), text("ok")), logger: slog.New(slog.NewTextHandler(&log, nil)),
					tools: []tool.Tool{deaf(false, 9*time.Second), toolFunc{name: "set", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
						return tool.NewResult("set").With(on(tt.tool && c.Index == 1, c.Snapshot, []string{"a", tt.adds}[c.Index])), nil
					}}},
					plugins: []plugin.Plugin{pluginFunc{"clears", func(r *plugin.Registrar) {
						r.Key(list)
						r.OnBeforeTool(func(_ context.Context, c plugin.BeforeTool) (s state.Command, err error) {
							if c.CallIndex == 1 && !tt.tool {
								s = on(tt.hook, c.Snapshot, "h")
							}
							return s, nil
						})
						r.OnAfterTool(func(_ context.Context, c plugin.AfterTool) (s state.Command, err error) {
							if c.CallIndex == 0 {
								s = list.Update("-")
							}
							return s, nil
						})
						r.OnRunEnd(func(_ context.Context, c plugin.RunEnd) (_ state.Command, err error) {
							left, err = list.Read(c.Snapshot)
							return state.Command{}, err
						})
					}}},
				})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				time.AfterFunc(1500*time.Millisecond, func() { w.store.dead.Store(true) })
				w.die(t)
				if _, err := w.box.Cancel(t.Context(), key, receipt.RunID); err != nil {
					t.Fatal(err)
				}
				w.finish(t, key, nil)
				want := []string{`ok: "set"`, `ok: "set"`, "unknown: outcome unknown: the run was ended while the tool may have run", tt.left}
				if diff := cmp.Diff(want, append(w.results(t), left)); diff != "" {
					t.Errorf("results and the list (-want +got):\n%s", diff)
				}
				if n := strings.Count(log.String(), "requests of a call cannot be applied"); n != tt.complaints {
					t.Errorf("%d complaints, want %d:\n%s", n, tt.complaints, &log)
				}
				time.Sleep(20 * time.Second)
			})
		})
	}
}
