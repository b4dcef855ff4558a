package run_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
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

// notes is a hook that notes which call it is about.
func notes(did *[]string) plugin.Hook[plugin.BeforeTool] {
	return func(_ context.Context, c plugin.BeforeTool) (state.Command, error) {
		*did = append(*did, fmt.Sprintf("%s %s", c.Call.Name, c.Call.Arguments))
		return state.Command{}, nil
	}
}

// seenBy is a list that hooks change as a whole: two changes side by side would
// lose one.
var seenBy = state.Key[[]string, []string]{
	Name: "seen_by", Scope: state.ScopeThread,
	Apply: func(_, to []string) []string { return to },
}

// ownList is the same for each call alone: what siblings change is another value.
var ownList = state.Key[[]string, []string]{
	Name: "own", Scope: state.ScopeCall,
	Apply: func(_, to []string) []string { return to },
}

// adds puts a name behind those that the snapshot has.
func adds(s state.Snapshot, name string) (state.Command, error) {
	now, err := seenBy.Read(s)
	return seenBy.Update(append(slices.Clone(now), name)), err
}

// listing is a plugin that changes one list at a point of each call.
func listing(point string, asked *[]string) plugin.Plugin {
	var mu sync.Mutex // BeforeToolExecute runs side by side
	return pluginFunc{"listing", func(r *plugin.Registrar) {
		r.Key(seenBy)
		name := func(call int) string {
			mu.Lock()
			defer mu.Unlock()
			*asked = append(*asked, fmt.Sprintf("%s%d", point, call))
			return (*asked)[len(*asked)-1]
		}
		switch point {
		case "gate":
			r.Gate(func(_ context.Context, c plugin.GateCall) (v plugin.Verdict, err error) {
				v.Command, err = adds(c.Snapshot, name(c.CallIndex))
				return v, err
			})
		case "before":
			r.OnBeforeTool(func(_ context.Context, c plugin.BeforeTool) (state.Command, error) {
				return adds(c.Snapshot, name(c.CallIndex))
			})
		case "mixed": // the gate of one call, BeforeToolExecute of the next, and the gate of the last
			r.Gate(func(_ context.Context, c plugin.GateCall) (v plugin.Verdict, err error) {
				if c.CallIndex != 1 {
					v.Command, err = adds(c.Snapshot, name(c.CallIndex))
				}
				return v, err
			})
			r.OnBeforeTool(func(_ context.Context, c plugin.BeforeTool) (state.Command, error) {
				if c.CallIndex != 1 {
					return state.Command{}, nil
				}
				return adds(c.Snapshot, name(c.CallIndex))
			})
		case "after":
			r.OnAfterTool(func(_ context.Context, c plugin.AfterTool) (state.Command, error) {
				return adds(c.Snapshot, name(c.CallIndex))
			})
		case "own":
			r.Key(ownList)
			r.OnBeforeTool(func(_ context.Context, c plugin.BeforeTool) (state.Command, error) {
				return ownList.Update([]string{name(c.CallIndex)}), nil
			})
			r.OnAfterTool(func(_ context.Context, c plugin.AfterTool) (state.Command, error) {
				own, err := ownList.Read(c.Snapshot)
				if err != nil || len(own) != 1 {
					return state.Command{}, fmt.Errorf("call %d has %q of its own: %w", c.CallIndex, own, err)
				}
				return adds(c.Snapshot, own[0])
			})
		}
	}}
}

// Hooks of calls that change one exclusive key keep all their changes: those that
// ran side by side run again, one after the other. In a sequential round each sees
// what the one before it changed.
func TestExclusiveConflictsRunAgainInARound(t *testing.T) {
	tests := []struct {
		mode  agent.ExecutionMode
		point string
		asked []string
	}{
		{agent.Sequential, "gate", []string{"gate0", "gate1", "gate2"}},
		{agent.Sequential, "before", []string{"before0", "before1", "before2"}},
		{agent.Sequential, "after", []string{"after0", "after1", "after2"}},
		{agent.Sequential, "mixed", []string{"mixed0", "mixed1", "mixed2"}},
		{agent.ParallelStreaming, "gate", []string{"gate0", "gate1", "gate2", "gate1", "gate2"}},
		{agent.ParallelStreaming, "before", []string{"before0", "before1", "before1", "before2", "before2"}},
		{agent.ParallelStreaming, "after", []string{"after0", "after1", "after2"}},
		{agent.ParallelStreaming, "own", []string{"own0", "own1", "own2"}},
		{agent.ParallelStreaming, "mixed", []string{"mixed0", "mixed2", "mixed1", "mixed1", "mixed2"}},
		{agent.ParallelBatchApproval, "gate", []string{"gate0", "gate1", "gate2", "gate1", "gate2"}},
		{agent.ParallelBatchApproval, "before", []string{"before0", "before1", "before1", "before2", "before2"}},
		{agent.ParallelBatchApproval, "after", []string{"after0", "after1", "after2"}},
		{agent.ParallelBatchApproval, "own", []string{"own0", "own1", "own2"}},
		{agent.ParallelBatchApproval, "mixed", []string{"mixed0", "mixed2", "mixed1", "mixed1", "mixed2"}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s/%s", tt.mode, tt.point), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked []string
				var last []string
				w := newWorld(t, options{mode: tt.mode, plugins: []plugin.Plugin{listing(tt.point, &asked), pluginFunc{"end", func(r *plugin.Registrar) {
					r.Hook(core.PhaseStepEnd, func(_ context.Context, c plugin.Context) (state.Command, error) {
						now, err := seenBy.Read(c.Snapshot)
						last = now
						return state.Command{}, err
					})
				}}}})
				w.submit(t, key, "parallel: a, b, c", mailbox.ModeQueue)
				w.step(t, key)
				want := []string{tt.point + "0", tt.point + "1", tt.point + "2"}
				if diff := cmp.Diff(want, last); diff != "" {
					t.Errorf("the list (-want +got):\n%s", diff)
				}
				if tt.point == "before" || tt.point == "own" {
					slices.Sort(asked) // they run side by side
				}
				if diff := cmp.Diff(tt.asked, asked); diff != "" {
					t.Errorf("hooks (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// In a sequential round a call's gate, its hooks and its tool see what the call
// before it changed; side by side all see the state as it was when the round began.
func TestWhatACallSeesOfTheCallBefore(t *testing.T) {
	tests := []struct {
		mode agent.ExecutionMode
		want []string
	}{
		{agent.Sequential, []string{"gate: []", "tool: []", "after: [tool0]", "gate: [tool0]", "tool: [tool0]", "after: [tool0 tool1]"}},
		{agent.ParallelStreaming, []string{"gate: []", "gate: []", "tool: []", "tool: []", "after: [tool0 tool1]", "after: [tool0 tool1]"}},
	}
	for _, tt := range tests {
		t.Run(string(tt.mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				list := state.List[string]("list", state.ScopeThread)
				list.Commutative = false
				var mu sync.Mutex // tools run side by side
				var saw []string
				sees := func(who string, s state.Snapshot) {
					mu.Lock()
					defer mu.Unlock()
					now, err := list.Read(s)
					if err != nil {
						t.Error(err)
					}
					saw = append(saw, fmt.Sprintf("%s: %v", who, now))
				}
				adds := toolFunc{name: "adds", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
					index := c.Key()[len(c.Key())-1:]
					time.Sleep(time.Second * time.Duration(index[0]-'0'+1))
					sees("tool", c.Snapshot)
					result := tool.NewResult("ok")
					result.Command = list.Update("tool" + index)
					return result, nil
				}}
				w := newWorld(t, options{
					mode: tt.mode, model: replies(calls("adds", "{}", "adds", "{}"), text("ok")), tools: []tool.Tool{adds},
					plugins: []plugin.Plugin{pluginFunc{"sees", func(r *plugin.Registrar) {
						r.Key(list)
						r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
							sees("gate", c.Snapshot)
							return plugin.Allow, nil
						})
						r.Hook(core.PhaseAfterToolExecute, func(_ context.Context, c plugin.Context) (state.Command, error) {
							sees("after", c.Snapshot)
							return state.Command{}, nil
						})
					}}},
				})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.step(t, key)
				if diff := cmp.Diff(tt.want, saw); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// A round of 25 calls needs three deliveries. Each goes on behind the last, no call
// runs twice but the one that was cut, and the run is not blamed.
func TestSequentialRoundGoesOnOverDeliveries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turn, want []string
		for i := range 25 {
			turn = append(turn, "takes", fmt.Sprintf(`{"n":%d}`, i))
			want = append(want, `ok: "took"`)
		}
		ran, ended, cut := 0, 0, 0
		takes := toolFunc{name: "takes", run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			ran++
			select {
			case <-time.After(10 * time.Second):
				ended++
				return tool.NewResult("took"), nil
			case <-ctx.Done():
				cut++
				return tool.Result{}, ctx.Err()
			}
		}}
		w := newWorld(t, options{model: replies(calls(turn...), text("ok")), tools: []tool.Tool{takes}})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		var done []string
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), 105*time.Second)
			stepped, err := w.stepper.Step(ctx, run.Work{Key: key, Head: w.take(t, key), Whole: true}, nil)
			cancel()
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, s := range stepped.Head.Run.Calls {
				if s == thread.CallDone {
					n++
				}
			}
			done = append(done, fmt.Sprintf("%d done, %d attempts", n, stepped.Head.Run.Attempts))
		}
		if diff := cmp.Diff([]string{"10 done, 0 attempts", "20 done, 0 attempts", "0 done, 0 attempts"}, done); diff != "" {
			t.Errorf("after each delivery (-want +got):\n%s", diff)
		}
		w.finish(t, key, nil)
		if diff := cmp.Diff(want, w.results(t)); diff != "" || ran != 27 || ended != 25 || cut != 2 {
			t.Errorf("%d executions, %d ended and %d were cut; results (-want +got):\n%s", ran, ended, cut, diff)
		}
		if got := w.end(t, key, receipt); got != `done 2 {"type":"natural_end"} "ok"` {
			t.Errorf("the run is %s", got)
		}
	})
}

// Of two at_most_once calls in a row only the one that had started is unknown after
// a crash; the other runs.
func TestCallThatNeverStartedIsNotUnknown(t *testing.T) {
	tests := []struct {
		mode agent.ExecutionMode
		want []string
	}{
		{agent.Sequential, []string{"unknown: outcome unknown: the tool may have run, and it must not run twice", `ok: "second ran"`}},
		{agent.ParallelStreaming, []string{
			"unknown: outcome unknown: the tool may have run, and it must not run twice",
			"unknown: outcome unknown: the tool may have run, and it must not run twice",
		}},
	}
	for _, tt := range tests {
		t.Run(string(tt.mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				second, dies := 0, true
				w := &world{}
				first := toolFunc{name: "first", atMostOnce: true, run: func(context.Context, tool.Call) (tool.Result, error) {
					time.Sleep(time.Second)
					w.store.dead.Store(dies)
					dies = false
					return tool.NewResult("first ran"), nil
				}}
				later := toolFunc{name: "second", atMostOnce: true, run: func(context.Context, tool.Call) (tool.Result, error) {
					time.Sleep(2 * time.Second)
					second++
					return tool.NewResult("second ran"), nil
				}}
				o := options{
					model: replies(calls("first", "{}", "second", "{}"), text("ok")), mode: tt.mode,
					tools: []tool.Tool{first, later},
				}
				*w = *newWorld(t, o)
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.work(t, o, nil)
				if diff := cmp.Diff(tt.want, w.results(t)); diff != "" || second != 1 {
					t.Errorf("the second ran %d times; results (-want +got):\n%s", second, diff)
				}
			})
		})
	}
}

// A result behind a call that has none yet is announced without a position, so
// that a reader which comes back gets it again.
func TestNoPositionPassesAHole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did []string
		w := newWorld(t, options{
			model: replies(calls("nap", "{}", "echo", `{"text":"a"}`, "echo", `{"text":"b"}`), text("ok")), mode: agent.ParallelStreaming,
			tools: []tool.Tool{nap},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		_, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: w.take(t, key)}, func(e core.Event) error {
			if e.Type == core.EventToolCallDone {
				did = append(did, fmt.Sprintf("%s %t", e.Result, e.Position != ""))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		last := did[len(did)-1]
		slices.Sort(did[:2])
		if diff := cmp.Diff([]string{`{"text":"a"} false`, `{"text":"b"} false`}, did[:2]); diff != "" || last != `"rested" true` {
			t.Errorf("last %s; those before it (-want +got):\n%s", last, diff)
		}
	})
}

// What a call has come to is stored before any hook looks at it.
func TestFailingHookDoesNotCostTheResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		w := newWorld(t, options{
			model: replies(calls("count", "{}"), text("ok")), tools: []tool.Tool{counted("count", false, &ran)},
			plugins: []plugin.Plugin{hooks(core.PhaseAfterToolExecute, func(context.Context, plugin.Context) (state.Command, error) {
				return state.Command{}, errors.New("no such place")
			})},
		})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		if diff := cmp.Diff([]string{`ok: "count ran"`}, w.results(t)); diff != "" || ran != 1 {
			t.Errorf("the tool ran %d times; results (-want +got):\n%s", ran, diff)
		}
		if got := w.end(t, key, receipt); got[:30] != `done 1 {"type":"error","code":` {
			t.Errorf("the run is %s", got)
		}
	})
}

// A write of one result that fails for a while cancels no sibling, and nothing
// runs twice for it.
func TestThrottledResultCancelsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did []string
		w := newWorld(t, options{
			model: replies(calls("act", `{"n":0}`, "act", `{"n":1}`, "act", `{"n":2}`), text("ok")), mode: agent.ParallelStreaming,
			tools: []tool.Tool{noted("act", &did, nil)},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		left := 7 // as often as one put is tried
		w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			if r.Name == store.LogName(3) && left > 0 {
				left--
				return store.ErrThrottled
			}
			return w.store.Backend.Put(ctx, key, r)
		}
		w.finish(t, key, nil)
		if diff := cmp.Diff([]string{`act {"n":0}`, `act {"n":1}`, `act {"n":2}`}, did); diff != "" {
			t.Errorf("executions (-want +got):\n%s", diff)
		}
	})
}

// A block ends the round: what was allowed before it runs, what waits is not asked
// for any more, and it holds whatever happens to the process.
func TestBlockBesideACallThatWaits(t *testing.T) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ran := 0
				w := newWorld(t, options{
					model: replies(calls("count", "{}", "ask", "{}", "echo", `{"text":"b"}`, "count", "{}")), mode: mode,
					tools: []tool.Tool{counted("count", false, &ran), toolFunc{name: "ask"}},
					plugins: []plugin.Plugin{gates(func(c plugin.GateCall) (plugin.Verdict, error) {
						if c.Call.Name == "ask" {
							return suspends("ask"), nil
						}
						return blockB(c)
					})},
				})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				var got events
				w.finish(t, key, got.sink)
				if mode == agent.Sequential { // it has not come to the block yet
					if got := w.stands(t); got != "waiting [done suspended new new]" || ran != 1 {
						t.Errorf("the run is %s", got)
					}
					return
				}
				want := []string{
					`ok: "count ran"`, "not_executed: not executed: the run was blocked", "blocked: blocked: not b",
					"not_executed: not executed: an earlier call was blocked",
				}
				if diff := cmp.Diff(want, w.results(t)); diff != "" || ran != 1 {
					t.Errorf("the tool ran %d times; results (-want +got):\n%s", ran, diff)
				}
				if slices.Contains(got.lines, "tool_call_suspended") {
					t.Error("somebody is asked about a run that is over")
				}
				if got := w.end(t, key, receipt); got != `done 1 {"type":"blocked","detail":"not b"} ""` {
					t.Errorf("the run is %s", got)
				}
			})
		})
	}
}
