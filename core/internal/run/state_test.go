package run_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

func sum(v, n int) int { return v + n }

var (
	inThread = state.Key[int, int]{Name: "in_thread", Scope: state.ScopeThread, Commutative: true, Apply: sum}
	inRun    = state.Key[int, int]{Name: "in_run", Scope: state.ScopeRun, Commutative: true, Apply: sum}
	inCall   = state.Key[int, int]{Name: "in_call", Scope: state.ScopeCall, Apply: sum}
)

// counters adds one to each key at StepStart, AfterInference and StepEnd, and
// tells what it saw at BeforeInference.
func counters(saw *[]string, keys ...state.Key[int, int]) plugin.Plugin {
	return pluginFunc{"counters", func(r *plugin.Registrar) {
		add := func(context.Context, plugin.Context) (c state.Command, _ error) {
			for _, k := range keys {
				c.Append(k.Update(1))
			}
			return c, nil
		}
		for _, k := range keys {
			r.Key(k)
		}
		r.Hook(core.PhaseStepStart, add)
		r.Hook(core.PhaseAfterInference, add)
		r.Hook(core.PhaseStepEnd, add)
		r.Hook(core.PhaseBeforeInference, func(_ context.Context, c plugin.Context) (state.Command, error) {
			line := fmt.Sprintf("step %d, revision %d:", c.Step, c.Snapshot.Revision())
			for _, k := range keys {
				n, err := k.Read(c.Snapshot)
				if err != nil {
					return state.Command{}, err
				}
				line += fmt.Sprintf(" %s %d", k.Name, n)
			}
			*saw = append(*saw, line)
			return state.Command{}, nil
		})
	}}
}

// What a hook sees is the same whether the state was kept in memory or folded
// from the log by another process, and one revision names one state.
func TestStateOfLaterStepsAndRuns(t *testing.T) {
	want := []string{
		"step 1, revision 1: in_thread 1 in_run 1",
		"step 2, revision 4: in_thread 4 in_run 4",
		"step 1, revision 7: in_thread 7 in_run 1",
	}
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint("restart ", restart), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var saw []string
				o := options{plugins: []plugin.Plugin{counters(&saw, inThread, inRun)}}
				w := newWorld(t, o)
				for _, text := range []string{"echo: a", "hi"} {
					w.submit(t, key, text, mailbox.ModeQueue)
					for w.head(t, key).DueAt != 0 {
						if restart {
							w.stepper = w.other(t, o)
						}
						w.step(t, key)
					}
				}
				if diff := cmp.Diff(want, saw); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// The log holds values. What a later version of a key's Apply would have made
// of the updates changes nothing that was.
func TestChangedApplyDoesNotChangeWhatWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var saw []string
		w := newWorld(t, options{plugins: []plugin.Plugin{counters(&saw, inThread)}})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		tenfold := inThread
		tenfold.Apply = func(v, n int) int { return v + 10*n }
		w.stepper = w.other(t, options{plugins: []plugin.Plugin{counters(&saw, tenfold)}})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		want := []string{"step 1, revision 1: in_thread 1", "step 1, revision 4: in_thread 13"} // not 40
		if diff := cmp.Diff(want, saw); diff != "" {
			t.Error(diff)
		}
	})
}

// A key whose Go type changed is that key's error, when somebody reads it. The
// thread is loaded, and whoever leaves the key alone notices nothing.
func TestChangedTypeIsThatKeysErrorAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var saw []string
		w := newWorld(t, options{plugins: []plugin.Plugin{counters(&saw, inThread)}})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		renewed := state.Key[map[string]string, string]{
			Name: inThread.Name, Scope: inThread.Scope,
			Apply: func(m map[string]string, _ string) map[string]string { return m },
		}
		var read []core.Code
		w.stepper = w.other(t, options{plugins: []plugin.Plugin{pluginFunc{"reader", func(r *plugin.Registrar) {
			r.Key(renewed)
			r.Hook(core.PhaseRunStart, func(_ context.Context, c plugin.Context) (state.Command, error) {
				_, err := renewed.Read(c.Snapshot)
				read = append(read, core.CodeOf(err))
				return state.Command{}, nil
			})
		}}}})
		for range 2 {
			receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
			w.finish(t, key, nil)
			if got := w.end(t, key, receipt); got != `done 1 {"type":"natural_end"} "You said: hi"` {
				t.Errorf("the run is %s", got)
			}
		}
		if diff := cmp.Diff([]core.Code{core.CodeCorrupt, core.CodeCorrupt}, read); diff != "" {
			t.Errorf("codes of the key's reads (-want +got):\n%s", diff)
		}
	})
}

// Two calls whose updates cannot both be applied: the later one's is its call's error,
// which model and hooks read, without its effects. This run and later ones go on.
func TestChangeThatDoesNotApplyIsItsCallsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := inThread
		full.Apply = func(v, n int) int {
			if v+n > 1 {
				panic("full")
			}
			return v + n
		}
		var log strings.Builder
		var values []int
		var effects, heard []string
		noted := plugin.Effect[string]{Name: "noted"}
		o := options{
			model: replies(calls("add", "{}", "add", "{}"), text("one"), text("two")),
			tools: []tool.Tool{toolFunc{name: "add", run: func(ctx context.Context, c tool.Call) (tool.Result, error) {
				result := tool.NewResult("added")
				result.Command = state.Combine(full.Update(1), noted.Emit(fmt.Sprint(c.Index)))
				return result, nil
			}}},
			plugins: []plugin.Plugin{pluginFunc{"p", func(r *plugin.Registrar) {
				r.Key(full)
				noted.Handle(r, func(_ context.Context, _ plugin.HandlerContext, text string) error {
					effects = append(effects, text)
					return nil
				})
				r.OnAfterTool(func(_ context.Context, c plugin.AfterTool) (state.Command, error) {
					heard = append(heard, string(c.Result.Status))
					return state.Command{}, nil
				})
				r.Hook(core.PhaseBeforeInference, func(_ context.Context, c plugin.Context) (state.Command, error) {
					n, err := full.Read(c.Snapshot)
					values = append(values, n)
					return state.Command{}, err
				})
			}}},
			logger: slog.New(slog.NewTextHandler(&log, nil)),
		}
		w := newWorld(t, o)
		first := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		w.stepper = w.other(t, o) // which folds the log
		second := w.submit(t, key, "again", mailbox.ModeQueue)
		w.finish(t, key, nil)
		want := []string{
			"user: hi", "assistant: [add {}][add {}]", `tool: "added"`, "tool: execution failed: its change of the state does not apply", "state", "assistant: one",
			"user: again", "assistant: two",
		}
		if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
			t.Error(diff)
		}
		for receipt, want := range map[mailbox.Receipt]string{first: `done 2 {"type":"natural_end"} "one"`, second: `done 1 {"type":"natural_end"} "two"`} {
			if got := w.end(t, key, receipt); got != want {
				t.Errorf("the run is %s, want %s", got, want)
			}
		}
		if diff := cmp.Diff([]int{0, 1, 1}, values); diff != "" {
			t.Errorf("values at each inference (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([][]string{{"0"}, {"ok", "error"}}, [][]string{effects, heard}); diff != "" {
			t.Errorf("effects, and what hooks heard (-want +got):\n%s", diff)
		}
		if n := strings.Count(log.String(), "state change of a tool does not apply"); n != 1 {
			t.Errorf("%d log lines about the call, want 1:\n%s", n, &log)
		}
	})
}

// The same of a change that is for one revision only, and was made for the right one.
func TestChangeForOneRevisionThatDoesNotApplyIsItsCallsError(t *testing.T) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				full := inThread
				full.Apply = func(int, int) int { panic("full") }
				w := newWorld(t, options{
					mode: mode, model: replies(calls("add", "{}"), text("one")),
					tools: []tool.Tool{toolFunc{name: "add", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
						result := tool.NewResult("added")
						result.Command = full.Update(1)
						result.Command.Batch = result.Command.Batch.On(c.Snapshot)
						return result, nil
					}}},
					plugins: []plugin.Plugin{pluginFunc{"p", func(r *plugin.Registrar) { r.Key(full) }}},
				})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				if diff := cmp.Diff([]string{"error: execution failed: its change of the state does not apply"}, w.results(t)); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A key of a call is that call's own, and ends with its step.
func TestCallKeysArePerCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var saw []string
		w := newWorld(t, options{plugins: []plugin.Plugin{pluginFunc{"p", func(r *plugin.Registrar) {
			r.Key(inCall)
			r.OnBeforeTool(func(_ context.Context, p plugin.BeforeTool) (state.Command, error) {
				return inCall.Update(10 + p.CallIndex), nil
			})
			r.OnAfterTool(func(_ context.Context, p plugin.AfterTool) (state.Command, error) {
				n, err := inCall.Read(p.Snapshot)
				saw = append(saw, fmt.Sprintf("call %d: %d", p.CallIndex, n))
				return state.Command{}, err
			})
			r.Hook(core.PhaseBeforeInference, func(_ context.Context, p plugin.Context) (state.Command, error) {
				saw = append(saw, fmt.Sprintf("step %d: %d values", p.Step, len(p.Snapshot.Paths())))
				return state.Command{}, nil
			})
		}}}})
		w.submit(t, key, "parallel: a, b", mailbox.ModeQueue)
		w.finish(t, key, nil)
		want := []string{"step 1: 0 values", "call 0: 10", "call 1: 11", "step 2: 0 values"}
		if diff := cmp.Diff(want, saw); diff != "" {
			t.Error(diff)
		}
	})
}

// A tool's scheduled actions and effects happen like a hook's.
func TestToolsCommandIsCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did []string
		later := plugin.Action[string]{Phase: core.PhaseStepEnd, Name: "later"}
		tell := plugin.Effect[string]{Name: "tell"}
		p := pluginFunc{"p", func(r *plugin.Registrar) {
			r.Key(inRun)
			later.Handle(r, func(_ context.Context, _ plugin.HandlerContext, payload string) (state.Command, error) {
				did = append(did, fmt.Sprintf("action %q", payload))
				return state.Command{}, nil
			})
			tell.Handle(r, func(ctx context.Context, c plugin.HandlerContext, payload string) error {
				time.Sleep(10 * time.Second) // longer than the watch takes to see that the claim is gone
				n, err := inRun.Read(c.Snapshot)
				did = append(did, fmt.Sprintf("effect %q at %d, %v", payload, n, ctx.Err()))
				return err
			})
			r.Hook(core.PhaseAfterToolExecute, func(_ context.Context, c plugin.Context) (state.Command, error) {
				n, err := inRun.Read(c.Snapshot)
				did = append(did, fmt.Sprintf("after tool at %d", n))
				return state.Command{}, err
			})
		}}
		acts := toolFunc{name: "acts", run: func(context.Context, tool.Call) (tool.Result, error) {
			result := tool.NewResult("ok")
			result.Command = state.Combine(later.Schedule("x"), tell.Emit("y"), inRun.Update(5))
			return result, nil
		}}
		w := newWorld(t, options{model: replies(calls("acts", "{}"), text("ok")), tools: []tool.Tool{acts}, plugins: []plugin.Plugin{p}})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		if diff := cmp.Diff([]string{"after tool at 5", `action "x"`, `effect "y" at 5, <nil>`}, did); diff != "" {
			t.Error(diff)
		}
		want := []string{"user: hi", "assistant: [acts {}]", `tool: "ok"`, "state", "assistant: ok"}
		if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
			t.Error(diff)
		}
	})
}

// Two agents on one thread keep their own state.
func TestTwoAgentsOnOneThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var saw []string
		plain := newRegistry(t, options{}.complete(t), "plain")
		counting := newRegistry(t, options{plugins: []plugin.Plugin{counters(&saw, inThread, inRun)}}.complete(t), "counting")
		w := newWorld(t, options{agents: both{plain, counting}})
		for _, id := range []string{"counting", "plain", "counting"} {
			_, err := w.box.Submit(t.Context(), mailbox.Submission{Thread: key, Opening: mailbox.Opening{AgentID: id}, Messages: []core.Message{core.UserMessage(id)}})
			if err != nil {
				t.Fatal(err)
			}
			w.finish(t, key, nil)
		}
		want := []string{
			"step 1, revision 1: in_thread 1 in_run 1",
			"step 1, revision 4: in_thread 4 in_run 1",
		}
		if diff := cmp.Diff(want, saw); diff != "" {
			t.Error(diff)
		}
		log := []string{
			"user: counting", "assistant: You said: counting", "state", "user: plain", "assistant: You said: plain",
			"user: counting", "assistant: You said: counting", "state",
		}
		if diff := cmp.Diff(log, w.log(t, key)); diff != "" {
			t.Error(diff)
		}
	})
}

// both is two registries as one.
type both []*registry.Registry

func (b both) Resolve(id string) (*registry.Resolved, error) {
	if b[0].Has(id) {
		return b[0].Resolve(id)
	}
	return b[1].Resolve(id)
}

// A key that no plugin of the agent has registered is an error wherever it is read,
// and not a value that was never set.
func TestKeyThatNobodyRegisteredCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var saw []string
		read := func(who string, s state.Snapshot) {
			_, err := inRun.Read(s)
			saw = append(saw, fmt.Sprintf("%s: %v", who, err))
		}
		reads := toolFunc{name: "reads", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			read("tool", c.Snapshot)
			result := tool.NewResult("ok")
			result.Command = plugin.Effect[string]{Name: "tell"}.Emit("")
			return result, nil
		}}
		w := newWorld(t, options{
			model: replies(calls("reads", "{}"), text("ok")), tools: []tool.Tool{reads},
			plugins: []plugin.Plugin{pluginFunc{"p", func(r *plugin.Registrar) {
				r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
					read("gate", c.Snapshot)
					return plugin.Allow, nil
				})
				r.OnAfterTool(func(_ context.Context, c plugin.AfterTool) (state.Command, error) {
					read("hook", c.Snapshot)
					return state.Command{}, nil
				})
				plugin.Effect[string]{Name: "tell"}.Handle(r, func(_ context.Context, c plugin.HandlerContext, _ string) error {
					read("effect", c.Snapshot)
					return nil
				})
			}}},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		const unknown = `: reading state: unknown state key "in_run"`
		if diff := cmp.Diff([]string{"gate" + unknown, "tool" + unknown, "hook" + unknown, "effect" + unknown}, saw); diff != "" {
			t.Error(diff)
		}
	})
}

// Whoever reads the state of a thread may have an older head than the process that
// steps it, and takes nothing from that one.
func TestStateOfAnEarlierHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var saw []string
		o := options{plugins: []plugin.Plugin{counters(&saw, inThread)}, model: modelFunc(func(ctx context.Context, _ model.Request) iterator {
			return replies(calls("echo", `{"text":"a"}`))(ctx, model.Request{})
		})}
		w := newWorld(t, o)
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.step(t, key)
		earlier := w.head(t, key)
		w.step(t, key)
		for _, stepper := range []*run.Stepper{w.stepper, w.other(t, o)} {
			before, err := stepper.Reader().State(t.Context(), key, earlier, earlier.Seq)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := inThread.Read(before); n != 3 || err != nil {
				t.Errorf("behind the first step the key is %d (%v), want 3", n, err)
			}
			now, err := stepper.Reader().State(t.Context(), key, w.head(t, key), w.head(t, key).Seq)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := inThread.Read(now); n != 6 || err != nil {
				t.Errorf("behind the second step the key is %d (%v), want 6", n, err)
			}
		}
		reads := w.store.reads
		if w.step(t, key); w.store.reads != reads {
			t.Errorf("the step behind it reads %d records, want none: it has the thread in memory", w.store.reads-reads)
		}
	})
}
