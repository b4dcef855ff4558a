package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/run"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

func sum(v, n int) int { return v + n }

var (
	inThread = state.Key[int, int]{Name: "in_thread", Scope: state.ScopeThread, Apply: sum}
	inRun    = state.Key[int, int]{Name: "in_run", Scope: state.ScopeRun, Apply: sum}
	inStep   = state.Key[int, int]{Name: "in_step", Scope: state.ScopeCall, Apply: sum}
)

// counters adds one to each key at StepStart and StepEnd, and tells what it saw
// at BeforeInference.
func counters(saw *[]string) plugin.Plugin {
	return pluginFunc{"counters", func(r *plugin.Registrar) {
		keys := []state.Key[int, int]{inThread, inRun, inStep}
		add := func(context.Context, plugin.Context) (c state.Command, err error) {
			for _, k := range keys {
				if err == nil {
					err = k.Update(&c, 1)
				}
			}
			return c, err
		}
		for _, k := range keys {
			r.Key(k.Definition())
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
// from the log by another process.
func TestStateOfLaterStepsAndRuns(t *testing.T) {
	want := []string{
		"step 1, revision 1: in_thread 1 in_run 1 in_step 1",
		"step 2, revision 3: in_thread 4 in_run 4 in_step 1",
		"step 1, revision 5: in_thread 7 in_run 1 in_step 1",
	}
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint("restart ", restart), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var saw []string
				o := options{plugins: []plugin.Plugin{counters(&saw)}}
				w := newWorld(t, o)
				for _, text := range []string{"echo: a", "hi"} {
					w.submit(t, key, text, mailbox.ModeQueue)
					for range 2 {
						if w.head(t, key).DueAt == 0 {
							break
						}
						if restart {
							w.stepper = w.other(t, o)
						}
						if _, err := w.stepper.Step(t.Context(), run.Claim{Key: key, Head: w.take(t, key)}, nil); err != nil {
							t.Fatal(err)
						}
					}
				}
				if diff := cmp.Diff(want, saw); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// Two agents on one thread keep their own state; a tool's scheduled actions and
// effects happen like a hook's.
func TestToolsCommandIsCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did []string
		p := pluginFunc{"p", func(r *plugin.Registrar) {
			r.Key(inRun.Definition())
			r.Action(core.PhaseStepEnd, "later", func(_ context.Context, _ plugin.Context, payload json.RawMessage) (state.Command, error) {
				did = append(did, "action "+string(payload))
				return state.Command{}, nil
			})
			r.Effect("tell", func(ctx context.Context, c plugin.Context, payload json.RawMessage) error {
				time.Sleep(10 * time.Second) // longer than the watch takes to see that the claim is gone
				n, err := inRun.Read(c.Snapshot)
				did = append(did, fmt.Sprintf("effect %s at %d, %v", payload, n, ctx.Err()))
				return err
			})
			r.Hook(core.PhaseAfterToolExecute, func(_ context.Context, c plugin.Context) (state.Command, error) {
				n, err := inRun.Read(c.Snapshot)
				did = append(did, fmt.Sprintf("after tool at %d", n))
				return state.Command{}, err
			})
		}}
		acts := toolFunc{name: "acts", run: func(context.Context, tool.Call) (tool.Result, error) {
			result := tool.Text("ok")
			result.Command.Actions = []state.Action{{Phase: core.PhaseStepEnd, Key: "later", Payload: json.RawMessage(`"x"`)}}
			result.Command.Effects = []state.Effect{{Key: "tell", Payload: json.RawMessage(`"y"`)}}
			return result, inRun.Update(&result.Command, 5)
		}}
		w := newWorld(t, options{model: answers(calls("acts", "{}"), text("ok")), tools: []tool.Tool{acts}, plugins: []plugin.Plugin{p}})
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

func TestTwoAgentsOnOneThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var saw []string
		plain := newRegistry(t, options{}.complete(t), "plain")
		counting := newRegistry(t, options{plugins: []plugin.Plugin{counters(&saw)}}.complete(t), "counting")
		w := newWorld(t, options{agents: both{plain, counting}})
		for _, id := range []string{"counting", "plain", "counting"} {
			_, err := w.box.Submit(t.Context(), mailbox.Submission{Thread: key, AgentID: id, Messages: []core.Message{core.UserMessage("", id)}})
			if err != nil {
				t.Fatal(err)
			}
			w.finish(t, key, nil)
		}
		want := []string{
			"step 1, revision 1: in_thread 1 in_run 1 in_step 1",
			"step 1, revision 3: in_thread 4 in_run 1 in_step 1",
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
type both []*agent.Registry

func (b both) Resolve(id string) (*agent.Resolved, error) {
	if b[0].Has(id) {
		return b[0].Resolve(id)
	}
	return b[1].Resolve(id)
}
