package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// everywhere adds a hook to every phase, which is handed all that the phase shows.
func everywhere(r *plugin.Registrar, hook func(m engine.Moment) (state.Command, error)) {
	r.OnRunStart(func(_ context.Context, c plugin.RunStart) (state.Command, error) {
		return hook(engine.Moment{Context: c.Context})
	})
	r.OnStepStart(func(_ context.Context, c plugin.StepStart) (state.Command, error) {
		return hook(engine.Moment{Context: c.Context})
	})
	r.OnBeforeInference(func(_ context.Context, c plugin.BeforeInference) (state.Command, error) {
		return hook(engine.Moment{Context: c.Context})
	})
	r.OnAfterInference(func(_ context.Context, c plugin.AfterInference) (state.Command, error) {
		return hook(engine.Moment{Context: c.Context, Turn: &c.Turn})
	})
	r.OnBeforeTool(func(_ context.Context, c plugin.BeforeTool) (state.Command, error) {
		return hook(engine.Moment{Context: c.Context, Turn: &c.Turn, Call: &c.Call, CallIndex: c.CallIndex})
	})
	r.OnAfterTool(func(_ context.Context, c plugin.AfterTool) (state.Command, error) {
		return hook(engine.Moment{Context: c.Context, Turn: &c.Turn, Call: &c.Call, CallIndex: c.CallIndex, Result: &c.Result})
	})
	r.OnStepEnd(func(_ context.Context, c plugin.StepEnd) (state.Command, error) {
		return hook(engine.Moment{Context: c.Context})
	})
	r.OnRunEnd(func(_ context.Context, c plugin.RunEnd) (state.Command, error) {
		return hook(engine.Moment{Context: c.Context, Termination: &c.Termination})
	})
}

// telling asks for one effect in every phase. did notes each effect with the
// head that stood when it ran.
func telling(w *world, did *[]string) plugin.Plugin {
	tell := plugin.Effect[string]{Name: "tell"}
	return pluginFunc{"telling", func(r *plugin.Registrar) {
		everywhere(r, func(m engine.Moment) (state.Command, error) {
			what := fmt.Sprintf("%s of step %d", m.Phase, m.Step)
			if m.Call != nil {
				what = fmt.Sprintf("%s of call %d", m.Phase, m.CallIndex)
			}
			return tell.Emit(what), nil
		})
		tell.Handle(r, func(_ context.Context, _ plugin.HandlerContext, what string) error {
			head, err := w.box.Head(context.Background(), key)
			if err != nil {
				return err
			}
			stands := "over"
			if head.Open() {
				stands = head.Run.Cursor.String()
			}
			*did = append(*did, fmt.Sprintf("%s: seq %d, %s", what, head.Seq, stands))
			return nil
		})
	}}
}

// tells is a tool that asks for an effect.
var tells = toolFunc{name: "tells", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
	result := tool.NewResult("told")
	result.Command = plugin.Effect[string]{Name: "tell"}.Emit("tool " + string(c.Arguments))
	return result, nil
}}

// Each effect runs once, after the write that makes visible what it came with.
func TestEffectsAfterTheCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did []string
		w := &world{}
		*w = *newWorld(t, options{
			model:   replies(calls("tells", "{}"), text("ok")),
			tools:   []tool.Tool{tells},
			plugins: []plugin.Plugin{telling(w, &did)},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		want := []string{
			// Commit A, of what came before it.
			"run_start of step 1: seq 2, tools", "step_start of step 1: seq 2, tools",
			"before_inference of step 1: seq 2, tools", "after_inference of step 1: seq 2, tools",
			// Commit B moves the call to done; there is no step record without a patch.
			"before_tool_execute of call 0: seq 3, infer", "tool {}: seq 3, infer",
			"after_tool_execute of call 0: seq 3, infer", "step_end of step 1: seq 3, infer",
			// The second step has no calls: its commit B begins to close the run.
			"step_start of step 2: seq 4, infer", "before_inference of step 2: seq 4, infer",
			"after_inference of step 2: seq 4, infer", "step_end of step 2: seq 4, infer",
			"run_end of step 2: seq 4, over",
		}
		if diff := cmp.Diff(want, did); diff != "" {
			t.Error(diff)
		}
	})
}

// The effects of a finished call run with whichever write moves it to done, in
// whichever process, and never for a call that was done before.
func TestEffectsOfACallRunWithTheWriteThatMovesItToDone(t *testing.T) {
	tests := []struct {
		name string
		stop func(t *testing.T, w *world) // after the first of two tools
		want []string
	}{
		{
			"a nack of a host that stops", func(t *testing.T, w *world) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(3*time.Second, cancel)
				if _, err := w.stepper.Step(ctx, run.Work{Key: key, Head: w.take(t, key)}, nil); err != nil {
					t.Fatal(err)
				}
			},
			[]string{"tool 1: [done new]", "tool 2: []"},
		},
		{
			"commit B of the claim that adopts it", func(t *testing.T, w *world) {
				time.AfterFunc(3*time.Second, func() { w.store.dead.Store(true) })
				ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
				defer cancel()
				if _, err := w.stepper.Step(ctx, run.Work{Key: key, Head: w.take(t, key)}, nil); err == nil {
					t.Fatal("the process did not die")
				}
				w.store.dead.Store(false)
				w.reclaim(t)
			},
			[]string{"tool 1: []", "tool 2: []"},
		},
		{
			"the close of a cancelled run", func(t *testing.T, w *world) {
				time.AfterFunc(3*time.Second, func() {
					if _, err := w.box.Cancel(context.Background(), key, core.ID{}); err != nil {
						t.Error(err)
					}
				})
				w.step(t, key)
			},
			[]string{"tool 1: []"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var did []string
				w := &world{}
				o := options{
					model: replies(calls("tells", "1", "slow", "2"), text("ok")),
					tools: []tool.Tool{tells, toolFunc{name: "slow", run: func(ctx context.Context, c tool.Call) (tool.Result, error) {
						if _, err := nap.Run(ctx, c); err != nil {
							return tool.Result{}, err
						}
						return tells.Run(ctx, c)
					}}},
					plugins: []plugin.Plugin{pluginFunc{"p", func(r *plugin.Registrar) {
						plugin.Effect[string]{Name: "tell"}.Handle(r, func(_ context.Context, _ plugin.HandlerContext, what string) error {
							did = append(did, fmt.Sprint(what, ": ", w.head(t, key).Run.Calls))
							return nil
						})
					}}},
				}
				*w = *newWorld(t, o)
				w.submit(t, key, "hi", mailbox.ModeQueue)
				tt.stop(t, w)
				w.stepper = w.other(t, o)
				w.finish(t, key, nil)
				if diff := cmp.Diff(tt.want, did); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// shows is what a hook or a handler is shown, in one line: RUN stands for the run.
func shows(m engine.Moment) string {
	line := fmt.Sprintf("%s of %s, %s step %d, %d messages", m.Phase, m.Thread, m.Agent.ID, m.Step, len(m.Messages))
	if m.Turn != nil {
		line += ", turn " + m.Turn.ID
	}
	if m.Call != nil {
		line += fmt.Sprintf(", call %d %s", m.CallIndex, m.Call.Name)
	}
	if m.Result != nil {
		line += ", result " + m.Result.Text()
	}
	if m.Termination != nil {
		line += ", " + string(m.Termination.Type)
	}
	return strings.ReplaceAll(line, m.Run.String(), "RUN")
}

func TestWhatHooksAndEffectsAreShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shown []string
		tell := plugin.Effect[string]{Name: "tell"}
		w := newWorld(t, options{
			model: replies(calls("echo", `{"text":"a"}`, "tells", "{}"), text("ok")), tools: []tool.Tool{tells},
			plugins: []plugin.Plugin{pluginFunc{"p", func(r *plugin.Registrar) {
				everywhere(r, func(m engine.Moment) (state.Command, error) {
					shown = append(shown, shows(m))
					if m.Phase != core.PhaseRunEnd {
						return state.Command{}, nil
					}
					return tell.Emit("over"), nil
				})
				tell.Handle(r, func(_ context.Context, c plugin.HandlerContext, what string) error {
					shown = append(shown, what+shows(engine.Moment{Context: c.Context, Call: c.Call, CallIndex: c.CallIndex}))
					return nil
				})
			}}},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		want := []string{
			`run_start of t/t1, demo step 1, 1 messages`,
			`step_start of t/t1, demo step 1, 1 messages`,
			`before_inference of t/t1, demo step 1, 1 messages`,
			`after_inference of t/t1, demo step 1, 1 messages, turn RUN.1`,
			`before_tool_execute of t/t1, demo step 1, 2 messages, turn RUN.1, call 0 echo`,
			`after_tool_execute of t/t1, demo step 1, 3 messages, turn RUN.1, call 0 echo, result {"text":"a"}`,
			`before_tool_execute of t/t1, demo step 1, 3 messages, turn RUN.1, call 1 tells`,
			`after_tool_execute of t/t1, demo step 1, 4 messages, turn RUN.1, call 1 tells, result "told"`,
			`step_end of t/t1, demo step 1, 4 messages`,
			`tool {} of t/t1, demo step 1, 4 messages, call 1 tells`,
			`step_start of t/t1, demo step 2, 4 messages`,
			`before_inference of t/t1, demo step 2, 4 messages`,
			`after_inference of t/t1, demo step 2, 4 messages, turn RUN.2`,
			`step_end of t/t1, demo step 2, 5 messages`,
			`run_end of t/t1, demo step 2, 5 messages, natural_end`,
			`over of t/t1, demo step 2, 5 messages`,
		}
		if diff := cmp.Diff(want, shown); diff != "" {
			t.Errorf("shown (-want +got):\n%s", diff)
		}
	})
}

// A gate is asked about one call after the other, and knows which turn it is of.
func TestWhatAGateIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shown []string
		w := newWorld(t, options{plugins: []plugin.Plugin{gates(func(c plugin.GateCall) (plugin.Verdict, error) {
			shown = append(shown, fmt.Sprintf("phase %q, step %d of %s: call %d of %d, %s", c.Phase, c.Step, c.Agent.ID, c.CallIndex, len(c.Turn.ToolCalls), c.Call.Arguments))
			return plugin.Allow, nil
		})}})
		w.submit(t, key, "parallel: a, b", mailbox.ModeQueue)
		w.step(t, key)
		want := []string{
			`phase "", step 1 of demo: call 0 of 2, {"text":"a"}`,
			`phase "", step 1 of demo: call 1 of 2, {"text":"b"}`,
		}
		if diff := cmp.Diff(want, shown); diff != "" {
			t.Errorf("shown (-want +got):\n%s", diff)
		}
	})
}

// What JSON cannot express, or nobody handles, is that call's error after one
// execution: it is found when the tool returns, not when the round is stored.
func TestCommandThatCannotBeStoredIsTheCallsErrorAfterOneExecution(t *testing.T) {
	broken := json.RawMessage(`{"half":`)
	tests := []struct {
		name    string
		command state.Command
		result  string
	}{
		{"an effect's payload", state.Command{Effects: []state.Effect{{Key: "tell", Payload: broken}}},
			`tool: execution failed: payload of effect "tell" is not JSON`},
		{"an update", state.Command{Batch: state.Batch{Mutations: []state.Mutation{{Key: "in_run", Update: broken}}}},
			`tool: execution failed: update of state key "in_run" is not JSON`},
		{"an effect that nobody handles", state.Command{Effects: []state.Effect{{Key: "nobody's"}}},
			`tool: execution failed: no handler for effect "nobody's"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ran := 0
				w := newWorld(t, options{
					model: replies(calls("bad", "{}"), text("ok")),
					tools: []tool.Tool{toolFunc{name: "bad", run: func(context.Context, tool.Call) (tool.Result, error) {
						ran++
						result := tool.NewResult("done")
						result.Command = tt.command
						return result, nil
					}}},
					plugins: []plugin.Plugin{pluginFunc{"p", func(r *plugin.Registrar) {
						r.Key(inRun)
						plugin.Effect[json.RawMessage]{Name: "tell"}.Handle(r, func(context.Context, plugin.HandlerContext, json.RawMessage) error { return nil })
					}}},
				})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				want := []string{"user: hi", "assistant: [bad {}]", tt.result, "assistant: ok"}
				if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
					t.Error(diff)
				}
				if got := w.end(t, key, receipt); ran != 1 || got != `done 2 {"type":"natural_end"} "ok"` {
					t.Errorf("the tool ran %d times, and the run is %s", ran, got)
				}
			})
		})
	}
}

// Effects have what is left of the process's time, and no other bound: a host
// that stops does not stop them.
func TestTimeOfEffects(t *testing.T) {
	for step, want := range map[time.Duration]time.Duration{0: 0, 10 * time.Second: 14 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if step > 0 {
				within, cancel := context.WithTimeout(ctx, step)
				defer cancel()
				ctx = within
			}
			began, ran := time.Now(), 0
			w := newWorld(t, options{
				model: replies(calls("tells", "{}"), text("ok")),
				tools: []tool.Tool{tells},
				plugins: []plugin.Plugin{pluginFunc{"p", func(r *plugin.Registrar) {
					plugin.Effect[string]{Name: "tell"}.Handle(r, func(ctx context.Context, _ plugin.HandlerContext, _ string) error {
						ran++
						cancel()
						until, bounded := ctx.Deadline()
						if bounded != (want > 0) || bounded && until.Sub(began) != want || ctx.Err() != nil {
							t.Errorf("in a step of %s an effect has until %s, %v; want %s", step, until, ctx.Err(), want)
						}
						return nil
					})
				}}},
			})
			w.submit(t, key, "hi", mailbox.ModeQueue)
			if _, err := w.stepper.Step(ctx, run.Work{Key: key, Head: w.take(t, key)}, nil); err != nil || ran != 1 {
				t.Errorf("the effect ran %d times, %v", ran, err)
			}
		})
	}
}
