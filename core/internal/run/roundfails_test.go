package run_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// What fails behind the tools of a round ends the run with its error, and their results
// stand.
func TestWhatFailsBehindTheTools(t *testing.T) {
	afterFails := hooks(core.PhaseAfterToolExecute, func(_ context.Context, c plugin.Context) (state.Command, error) {
		return state.Command{}, errors.New("no disk")
	})
	panics := agent.StopFunc(func(v agent.StopView) *core.Termination {
		if v.ErrorSteps > 0 {
			panic("of failed steps it knows nothing")
		}
		return nil
	})
	tests := []struct {
		name    string
		options options
		want    []string
		end     string
	}{
		{
			"AfterToolExecute of a parallel round", options{mode: agent.ParallelStreaming, plugins: []plugin.Plugin{afterFails}},
			[]string{`ok: "a"`, `ok: "b"`}, `{"type":"error","code":"plugin","detail":"phase after_tool_execute of call call_END_1_0: plugin \"hooks\" failed"}`,
		},
		{
			"AfterToolExecute of a sequential round", options{plugins: []plugin.Plugin{afterFails}},
			[]string{`ok: "a"`, "not_executed: no result: the run was ended first (plugin)"}, `{"type":"error","code":"plugin","detail":"phase after_tool_execute of call call_END_1_0: plugin \"hooks\" failed"}`,
		},
		{
			"BeforeToolExecute of a parallel round", options{mode: agent.ParallelStreaming, plugins: []plugin.Plugin{pluginFunc{"hooks", func(r *plugin.Registrar) {
				r.OnBeforeTool(func(_ context.Context, c plugin.BeforeTool) (s state.Command, err error) {
					if c.CallIndex == 1 {
						err = errors.New("no disk")
					}
					return s, err
				})
			}}}},
			[]string{"not_executed: no result: the run was ended first (plugin)", "not_executed: no result: the run was ended first (plugin)"},
			`{"type":"error","code":"plugin","detail":"phase before_tool_execute of call call_END_1_1: plugin \"hooks\" failed"}`,
		},
		{
			"a policy that judges a failed round", options{stop: []agent.StopPolicy{panics}, plugins: []plugin.Plugin{gates(func(plugin.GateCall) (plugin.Verdict, error) {
				return plugin.SetResult(core.ToolResult{Message: "no", IsError: true}), nil
			})}},
			[]string{"set: no", "set: no"}, `{"type":"error","code":"stop_policy","detail":"stop policy \"agent.StopFunc\" panicked"}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.options.model = replies(calls("say", `"a"`, "say", `"b"`), text("ok"))
				tt.options.tools = []tool.Tool{toolFunc{name: "say", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
					return tool.Result{ToolResult: core.ToolResult{Data: c.Arguments}}, nil
				}}}
				w := newWorld(t, tt.options)
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				if diff := cmp.Diff(tt.want, w.results(t)); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
				want := fmt.Sprintf(`done 1 %s ""`, strings.ReplaceAll(tt.end, "END", receipt.RunID.String()[24:]))
				if got := w.end(t, key, receipt); got != want {
					t.Errorf("the run is %s, want %s", got, want)
				}
			})
		})
	}
}

// A claim that is found lost while the calls get the results of a round that is not to run
// stores none of the others.
func TestARoundThatIsNotToRunAndWhoseClaimIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{stop: []agent.StopPolicy{stopAtOnce}})
		w.submit(t, key, "parallel: a, b, c", mailbox.ModeQueue)
		var put []string
		w.store.OnPut = func(_ context.Context, _ core.ThreadKey, r store.Record) error {
			put = append(put, r.Name)
			return store.ErrFenced
		}
		_, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: w.take(t, key)}, nil)
		if diff := cmp.Diff([]string{store.LogName(3)}, put); diff != "" || !errors.Is(err, store.ErrFenced) {
			t.Errorf("the step ended with %v; puts (-want +got):\n%s", err, diff)
		}
	})
}

// A close that cannot read what its round has come to is tried again: no call loses its
// result, and nothing of what was changed.
func TestACloseThatCannotReadItsRound(t *testing.T) {
	for _, lost := range []string{"#round#", "log"} {
		t.Run(lost, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				left := ""
				w := newWorld(t, options{
					mode: agent.ParallelStreaming, model: replies(calls("set", "{}", "ask", "{}"), text("ok")),
					tools: []tool.Tool{toolFunc{name: "ask"}, toolFunc{name: "set", run: func(context.Context, tool.Call) (tool.Result, error) {
						return tool.NewResult("set").With(sole.Update("tool")), nil
					}}},
					plugins: []plugin.Plugin{asking("ask"), pluginFunc{"keys", func(r *plugin.Registrar) {
						r.Key(sole)
						r.OnRunEnd(func(_ context.Context, c plugin.RunEnd) (_ state.Command, err error) {
							left, err = sole.Read(c.Snapshot)
							return state.Command{}, err
						})
					}}},
				})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				if _, err := w.box.Cancel(t.Context(), key, receipt.RunID); err != nil {
					t.Fatal(err)
				}
				failed := 0
				w.store.read = func(what string) error {
					if strings.Contains(what, lost) && failed == 0 {
						failed++
						return core.Errorf(core.CodeUnavailable, "the disk is away")
					}
					return nil
				}
				stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: w.take(t, key)}, nil)
				if err != nil || !stepped.Retry || failed != 1 {
					t.Errorf("the step came to %+v, %v after %d failed reads", stepped, err, failed)
				}
				w.finish(t, key, nil)
				want := []string{`ok: "set"`, "not_executed: no result: the run was ended first (cancelled)", "tool"}
				if diff := cmp.Diff(want, append(w.results(t), left)); diff != "" {
					t.Errorf("results and the key (-want +got):\n%s", diff)
				}
			})
		})
	}
}
