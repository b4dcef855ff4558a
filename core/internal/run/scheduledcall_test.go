package run_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// An action that waits for a phase of calls runs once, at the first call that comes to
// it, however many calls a round has and whichever way they run.
func TestScheduledActionsRunOnceInARound(t *testing.T) {
	for _, phase := range []core.Phase{core.PhaseBeforeToolExecute, core.PhaseAfterToolExecute} {
		for _, mode := range []agent.ExecutionMode{agent.Sequential, agent.ParallelStreaming, agent.ParallelBatchApproval} {
			t.Run(fmt.Sprintf("%s/%s", mode, phase), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var mu sync.Mutex // BeforeToolExecute runs side by side
					var ran []string
					list := state.List[string]("list", state.ScopeThread)
					act := plugin.Action[string]{Phase: phase, Name: "act"}
					tell := plugin.Effect[string]{Name: "tell"}
					var told, last []string
					w := newWorld(t, options{mode: mode, plugins: []plugin.Plugin{pluginFunc{"acts", func(r *plugin.Registrar) {
						r.Key(list)
						act.Handle(r, func(_ context.Context, c plugin.HandlerContext, name string) (state.Command, error) {
							mu.Lock()
							defer mu.Unlock()
							ran = append(ran, fmt.Sprint(name, " at call ", c.CallIndex))
							return state.Combine(list.Update(name), tell.Emit(name)), nil
						})
						tell.Handle(r, func(_ context.Context, _ plugin.HandlerContext, name string) error {
							told = append(told, name)
							return nil
						})
						r.OnStepStart(func(_ context.Context, c plugin.StepStart) (state.Command, error) {
							if c.Step > 1 {
								return state.Command{}, nil
							}
							return state.Combine(act.Schedule("a"), act.Schedule("b")), nil
						})
						r.OnStepEnd(func(_ context.Context, c plugin.StepEnd) (_ state.Command, err error) {
							last, err = list.Read(c.Snapshot)
							return state.Command{}, err
						})
					}}}})
					w.submit(t, key, "parallel: x, y, z", mailbox.ModeQueue)
					w.finish(t, key, nil)
					if diff := cmp.Diff([]string{"a at call 0", "b at call 0"}, ran); diff != "" {
						t.Errorf("actions (-want +got):\n%s", diff)
					}
					if diff := cmp.Diff([]string{"a", "b"}, last); diff != "" {
						t.Errorf("state (-want +got):\n%s", diff)
					}
					if diff := cmp.Diff([]string{"a", "b"}, told); diff != "" {
						t.Errorf("effects (-want +got):\n%s", diff)
					}
				})
			})
		}
	}
}

// What a gate schedules for BeforeToolExecute of its own call runs there, once: also
// where siblings, which do not see each other, count their actions alike.
func TestScheduledActionsOfAGate(t *testing.T) {
	for _, mode := range []agent.ExecutionMode{agent.Sequential, agent.ParallelStreaming, agent.ParallelBatchApproval} {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex // BeforeToolExecute runs side by side
				ran := map[string]int{}
				act := plugin.Action[string]{Phase: core.PhaseBeforeToolExecute, Name: "act"}
				list := state.List[string]("list", state.ScopeThread)
				var last []string
				w := newWorld(t, options{
					mode: mode, model: replies(calls("echo", `{"text":"a"}`, "echo", `{"text":"b"}`), calls("echo", `{"text":"c"}`), text("ok")),
					plugins: []plugin.Plugin{pluginFunc{"acts", func(r *plugin.Registrar) {
						r.Key(list)
						act.Handle(r, func(_ context.Context, c plugin.HandlerContext, name string) (state.Command, error) {
							mu.Lock()
							defer mu.Unlock()
							ran[fmt.Sprint(name, " at ", string(c.Call.Arguments))]++
							return list.Update(name), nil
						})
						r.OnStepStart(func(_ context.Context, c plugin.StepStart) (state.Command, error) {
							if c.Step > 1 {
								return state.Command{}, nil
							}
							return act.Schedule("waits"), nil
						})
						r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
							return plugin.Allow.With(act.Schedule(fmt.Sprintf("gate <%d %d>", c.Step, c.CallIndex))), nil
						})
						r.OnStepEnd(func(_ context.Context, c plugin.StepEnd) (_ state.Command, err error) {
							last, err = list.Read(c.Snapshot)
							return state.Command{}, err
						})
					}}},
				})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				want := map[string]int{
					`waits at {"text":"a"}`: 1, `gate <1 0> at {"text":"a"}`: 1, `gate <1 1> at {"text":"b"}`: 1, `gate <2 0> at {"text":"c"}`: 1,
				}
				if diff := cmp.Diff(want, ran); diff != "" {
					t.Errorf("actions (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff([]string{"waits", "gate <1 0>", "gate <1 1>", "gate <2 0>"}, last); diff != "" {
					t.Errorf("state (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// The call that has taken the actions may be the one whose result a crash has left, or
// the one that it has lost: they count once in both cases.
func TestScheduledActionsOfARoundThatIsTakenOver(t *testing.T) {
	tests := []struct {
		slow int // the call that has no result when the process dies
		ran  []string
	}{
		{1, []string{"a at call 0"}},
		{0, []string{"a at call 0", "a at call 0"}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint("call ", tt.slow, " is lost"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex // BeforeToolExecute runs side by side
				var ran, told, last []string
				died := false
				act := plugin.Action[string]{Phase: core.PhaseBeforeToolExecute, Name: "act"}
				tell := plugin.Effect[string]{Name: "tell"}
				list := state.List[string]("list", state.ScopeThread)
				work := toolFunc{name: "work", run: func(ctx context.Context, c tool.Call) (tool.Result, error) {
					if !died && int(c.Key()[len(c.Key())-1]-'0') == tt.slow {
						<-ctx.Done()
						return tool.Result{}, ctx.Err()
					}
					return tool.NewResult("ok"), nil
				}}
				o := options{
					mode: agent.ParallelStreaming, model: replies(calls("work", "{}", "work", "{}"), text("ok")), tools: []tool.Tool{work},
					plugins: []plugin.Plugin{pluginFunc{"acts", func(r *plugin.Registrar) {
						r.Key(list)
						act.Handle(r, func(_ context.Context, c plugin.HandlerContext, name string) (state.Command, error) {
							mu.Lock()
							defer mu.Unlock()
							ran = append(ran, fmt.Sprint(name, " at call ", c.CallIndex))
							return state.Combine(list.Update(name), tell.Emit(name)), nil
						})
						tell.Handle(r, func(_ context.Context, _ plugin.HandlerContext, name string) error {
							told = append(told, name)
							return nil
						})
						r.OnRunStart(func(context.Context, plugin.RunStart) (state.Command, error) { return act.Schedule("a"), nil })
						r.OnStepEnd(func(_ context.Context, c plugin.StepEnd) (_ state.Command, err error) {
							last, err = list.Read(c.Snapshot)
							return state.Command{}, err
						})
					}}},
				}
				w := newWorld(t, o)
				w.submit(t, key, "hi", mailbox.ModeQueue)
				time.AfterFunc(3*time.Second, func() { w.store.dead.Store(true) })
				ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
				defer cancel()
				if _, err := w.stepper.Step(ctx, run.Work{Key: key, Head: w.take(t, key)}, nil); err == nil {
					t.Fatal("the process did not die")
				}
				died = true
				w.store.dead.Store(false)
				w.reclaim(t)
				w.stepper = w.other(t, o)
				w.finish(t, key, nil)
				if diff := cmp.Diff(tt.ran, ran); diff != "" {
					t.Errorf("actions (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff([]string{"a"}, last); diff != "" {
					t.Errorf("state (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff([]string{"a"}, told); diff != "" {
					t.Errorf("effects (-want +got):\n%s", diff)
				}
			})
		})
	}
}
