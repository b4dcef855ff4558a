package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// pair is a parallel round of two calls whose hooks and tools change what a test says.
// Call 0 lasts longer.
type pair struct {
	*world
	taken   state.Key[string, string]   // may be set once, by whomever
	list    state.Key[[]string, string] // exclusive
	effect  plugin.Effect[string]
	action  plugin.Action[string] // for StepEnd
	effects []string
	last    string // both keys, when the first step ends

	gate func(c plugin.GateCall) (plugin.Verdict, error)
	hook func(c plugin.BeforeTool) state.Command
	tool func(c tool.Call) tool.Result
}

func newPair(t *testing.T) *pair {
	t.Helper()
	s := &pair{effect: plugin.Effect[string]{Name: "told"}, action: plugin.Action[string]{Phase: core.PhaseStepEnd, Name: "later"}}
	s.taken = state.Key[string, string]{Name: "taken", Scope: state.ScopeRun, Commutative: true, Apply: func(had, set string) string {
		if had != "" {
			panic("taken")
		}
		return set
	}}
	s.list = state.List[string]("list", state.ScopeRun)
	s.list.Commutative = false
	s.gate = func(plugin.GateCall) (plugin.Verdict, error) { return plugin.Allow, nil }
	s.hook = func(plugin.BeforeTool) state.Command { return state.Command{} }
	s.tool = func(tool.Call) tool.Result { return tool.NewResult("ok") }
	s.world = newWorld(t, options{
		mode: agent.ParallelStreaming, model: replies(calls("act", "{}", "act", "{}"), text("ok")),
		tools: []tool.Tool{toolFunc{name: "act", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			time.Sleep(time.Duration(3-2*c.Index) * time.Second)
			return s.tool(c), nil
		}}},
		plugins: []plugin.Plugin{pluginFunc{"pair", func(r *plugin.Registrar) {
			r.Key(s.taken)
			r.Key(s.list)
			s.effect.Handle(r, func(_ context.Context, _ plugin.HandlerContext, text string) error {
				s.effects = append(s.effects, text)
				return nil
			})
			s.action.Handle(r, func(_ context.Context, _ plugin.HandlerContext, text string) (state.Command, error) {
				return s.list.Update(text), nil
			})
			r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) { return s.gate(c) })
			r.OnBeforeTool(func(_ context.Context, c plugin.BeforeTool) (state.Command, error) { return s.hook(c), nil })
			r.OnBeforeInference(func(_ context.Context, c plugin.BeforeInference) (state.Command, error) {
				if c.Step == 1 {
					return state.Command{}, nil
				}
				taken, err := s.taken.Read(c.Snapshot)
				if err != nil {
					return state.Command{}, err
				}
				list, err := s.list.Read(c.Snapshot)
				s.last = fmt.Sprint(taken, list)
				return state.Command{}, err
			})
		}}},
	})
	s.submit(t, key, "hi", mailbox.ModeQueue)
	return s
}

// comesTo runs the round and compares what it has come to.
func (s *pair) comesTo(t *testing.T, results []string, state string, effects []string) {
	t.Helper()
	s.finish(t, key, nil)
	if diff := cmp.Diff(results, s.results(t)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if s.last != state {
		t.Errorf("the state is %s, want %s", s.last, state)
	}
	if diff := cmp.Diff(effects, s.effects); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
}

// What a call's hooks change may not apply behind a sibling's either: the call comes to an
// error, and neither its changes nor its effects count, whether hooks or tool asked for them.
func TestHooksWhoseChangeDoesNotApplyAreTheirCallsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPair(t)
		s.hook = func(c plugin.BeforeTool) state.Command {
			return state.Combine(s.taken.Update(fmt.Sprint("hook", c.CallIndex)), s.effect.Emit(fmt.Sprint("hook", c.CallIndex)))
		}
		s.tool = func(c tool.Call) tool.Result {
			return tool.NewResult("ok").With(state.Combine(s.list.Update(fmt.Sprint("tool", c.Index)), s.effect.Emit(fmt.Sprint("tool", c.Index))))
		}
		s.comesTo(t, []string{"error: execution failed: its change of the state does not apply", `ok: "ok"`}, "hook1[tool1]", []string{"hook1", "tool1"})
	})
}

// Hooks that are asked again are asked for what they change: of their effects those count
// that they asked for first.
func TestHooksThatAreAskedAgainKeepTheirEffects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPair(t)
		var mu sync.Mutex
		asked := [2]int{}
		s.hook = func(c plugin.BeforeTool) state.Command {
			mu.Lock()
			defer mu.Unlock()
			asked[c.CallIndex]++
			text := fmt.Sprintf("hook%d.%d", c.CallIndex, asked[c.CallIndex])
			return state.Combine(s.list.Update(text), s.effect.Emit(text))
		}
		s.comesTo(t, []string{`ok: "ok"`, `ok: "ok"`}, "[hook1.1 hook0.2]", []string{"hook0.1", "hook1.1"})
	})
}

// A result that the store refuses for its size changes nothing, and is in no sibling's way.
func TestAResultThatIsTooLargeLeavesTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPair(t)
		s.tool = func(c tool.Call) tool.Result {
			text := []string{"small", "large"}[c.Index]
			return tool.NewResult(text).With(state.Combine(s.taken.Update(text), s.effect.Emit(text)))
		}
		s.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			if strings.Contains(string(r.Payload), `"large"`) {
				return store.ErrTooLarge
			}
			return s.store.Backend.Put(ctx, key, r)
		}
		s.comesTo(t, []string{`ok: "small"`, "error: result cannot be stored: it is too large"}, "small[]", []string{"small"})
	})
}

// What a tool only schedules is a change of the state like any other.
func TestWhatSiblingsScheduleCountsInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPair(t)
		s.tool = func(c tool.Call) tool.Result {
			return tool.NewResult("ok").With(s.action.Schedule(fmt.Sprint("later", c.Index)))
		}
		s.comesTo(t, []string{`ok: "ok"`, `ok: "ok"`}, "[later1 later0]", nil)
	})
}

// What a gate asks for counts with a result that it sets, but not where it denies the call.
func TestGatesOfACallThatOneOfThemDeniesChangeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPair(t)
		s.gate = func(c plugin.GateCall) (plugin.Verdict, error) {
			result := core.ToolResult{Data: json.RawMessage(`"given"`)}
			if c.CallIndex == 0 {
				result = core.ToolResult{Status: core.ResultDenied, IsError: true, Message: "denied"}
			}
			text := fmt.Sprint("gate", c.CallIndex)
			return plugin.SetResult(result).With(state.Combine(s.list.Update(text), s.effect.Emit(text))), nil
		}
		s.comesTo(t, []string{"denied: denied", `set: "given"`}, "[gate1]", []string{"gate1"})
	})
}
