package run_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// When a sibling has changed the same keys, the hooks of a call are asked a second time. They
// see the same decision and the same time as at first. A change that they make for one
// revision of the state is checked against the revision that the state has now.
func TestWhatHooksThatAreAskedAgainAreShown(t *testing.T) {
	tests := []struct {
		name  string
		given bool // by the gate, when it was decided
		want  []string
	}{
		{"the tool's result", false, []string{
			"gate call 0 at 0s after ", "gate call 1 at 0s after ", "before call 1 at 0s after ", "gate call 0 at 0s after about-ask", "before call 0 at 0s after about-ask",
			"gate call 0 at 0s after about-ask", "before call 0 at 0s after about-ask",
		}},
		{"a result that the gate gave", true, []string{
			"gate call 0 at 0s after ", "gate call 1 at 0s after ", "before call 1 at 0s after ", "gate call 0 at 0s after about-ask",
			"gate call 1 at 0s after ", "before call 1 at 0s after ",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex // BeforeToolExecute runs side by side
				var shown []string
				began := time.Now()
				note := func(point string, call int, now time.Time, resume *core.Resume) {
					mu.Lock()
					defer mu.Unlock()
					after := ""
					if resume != nil {
						after = resume.Decision.ID
					}
					shown = append(shown, fmt.Sprintf("%s call %d at %s after %s", point, call, now.Sub(began), after))
				}
				w := newWorld(t, options{
					mode: agent.ParallelStreaming, model: replies(calls("work", "{}", "work", "{}"), text("ok")),
					tools: []tool.Tool{toolFunc{name: "work", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
						time.Sleep(5 * time.Second)
						return tool.NewResult("worked"), nil
					}}},
					plugins: []plugin.Plugin{pluginFunc{"notes", func(r *plugin.Registrar) {
						r.Key(seenBy)
						r.Gate(func(_ context.Context, c plugin.GateCall) (v plugin.Verdict, err error) {
							note("gate", c.CallIndex, c.Now, c.Resume)
							switch {
							case c.CallIndex > 0:
							case c.Resume == nil:
								return suspends("ask"), nil
							case tt.given:
								v = plugin.SetResult(core.ToolResult{Message: "given"})
							}
							v.Command, err = adds(c.Snapshot, fmt.Sprint("gate", c.CallIndex))
							v.Command.Batch = v.Command.Batch.On(c.Snapshot)
							return v, err
						})
						r.OnBeforeTool(func(_ context.Context, c plugin.BeforeTool) (state.Command, error) {
							note("before", c.CallIndex, c.Now, c.Resume)
							return state.Command{}, nil
						})
					}}},
				})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				time.AfterFunc(time.Second, func() { w.mustDecide(t, 0, approve) })
				w.step(t, key)
				mu.Lock()
				defer mu.Unlock()
				if diff := cmp.Diff(tt.want, shown); diff != "" {
					t.Errorf("what hooks were shown (-want +got):\n%s", diff)
				}
				if !tt.given {
					if e := w.entry(t, 3); e.Place != 2 || e.Hooks == nil || e.Hooks.Batch.Base == nil || *e.Hooks.Batch.Base != 1 {
						t.Errorf("the first result stands at %d with the hooks %+v", e.Place, e.Hooks)
					}
				}
			})
		})
	}
}

// A result that was found and whose hooks fail when they are asked again ends the run with
// their error, and stands.
func TestHooksThatFailWhenTheyAreAskedAboutAFoundResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSiblings(t, [2]time.Duration{8 * time.Second, time.Second}, setsList)
		_, _ = s.cut(t, 4*time.Second, false)
		head := s.take(t, key)
		s.putResult(t, 0, s.entry(t, head.Run.Base+1), func(e *thread.Entry) {
			command := seenBy.Update([]string{"hook"})
			e.Place, e.Hooks = 0, &command
		})
		s.reclaim(t)
		o := options{
			mode: agent.ParallelStreaming, model: replies(calls("set", "{}", "set", "{}"), text("ok")), tools: []tool.Tool{toolFunc{name: "set"}},
			plugins: []plugin.Plugin{pluginFunc{"siblings", func(r *plugin.Registrar) {
				r.Key(seenBy)
				r.Gate(func(context.Context, plugin.GateCall) (plugin.Verdict, error) {
					return plugin.Verdict{}, errors.New("not again")
				})
			}}},
		}
		s.stepper = s.other(t, o)
		s.finish(t, key, nil)
		r := s.runRecord(t, head.Run.ID)
		if r.Termination == nil || r.Termination.Code != "plugin" || !strings.HasPrefix(r.Termination.Detail, "gate of call ") {
			t.Errorf("the run ended with %+v", r.Termination)
		}
		if diff := cmp.Diff([]string{`ok: "set"`, `ok: "set"`}, s.results(t)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	})
}

// A result that is too large costs its call what its tool changed, also where its hooks had
// been asked again; they are not asked a third time, and the result says how long the tool
// took and which decision it followed. Where it is the hooks' change that is too large, that
// is left out as well.
func TestAResultThatIsTooLargeAndItsHooks(t *testing.T) {
	const large = "error: result cannot be stored: it is too large after about-ask"
	tests := []struct {
		name  string
		size  int // of what hooks change
		asked int
		place int
		list  []string
		warns int
	}{
		{"the tool's", 10, 3, 2, []string{"hook1", "xxxxxxxxxx"}, 1},
		{"the hooks'", 70_000, 3, 0, []string{"hook1"}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked, last := 0, []string(nil)
				var log strings.Builder
				w := newWorld(t, options{
					limit: 64 << 10, logger: slog.New(slog.NewTextHandler(&log, nil)), mode: agent.ParallelStreaming, model: replies(calls("work", "{}", "work", "{}", "sleeps", `"9s"`), text("ok")),
					tools: []tool.Tool{sleeps, toolFunc{name: "work", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
						time.Sleep(3 * time.Second)
						return tool.NewResult(strings.Repeat("y", 70_000*(1-c.Index))), nil
					}}},
					plugins: []plugin.Plugin{pluginFunc{"hooks", func(r *plugin.Registrar) {
						r.Key(seenBy)
						r.Gate(func(_ context.Context, c plugin.GateCall) (v plugin.Verdict, err error) {
							switch {
							case c.CallIndex == 1:
								v.Command = seenBy.Update([]string{"hook1"})
							case c.CallIndex == 0 && c.Resume == nil:
								v = suspends("ask")
								asked++
							case c.CallIndex == 0:
								asked++
								v.Command, err = adds(c.Snapshot, strings.Repeat("x", tt.size))
							}
							return v, err
						})
						r.OnStepEnd(func(_ context.Context, c plugin.StepEnd) (_ state.Command, err error) {
							if c.Step == 1 {
								last, err = seenBy.Read(c.Snapshot)
							}
							return state.Command{}, err
						})
					}}},
				})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				time.AfterFunc(time.Second, func() { w.mustDecide(t, 0, approve) })
				w.finish(t, key, nil)
				if got := w.results(t); len(got) == 0 || got[0] != large {
					t.Errorf("results %q", got)
				}
				if diff := cmp.Diff(tt.list, last); diff != "" || asked != tt.asked {
					t.Errorf("after the gate was asked %d times, the list (-want +got):\n%s", asked, diff)
				}
				if n := strings.Count(log.String(), "result cannot be stored"); n != tt.warns {
					t.Errorf("%d complaints, want %d:\n%s", n, tt.warns, &log)
				}
				if e := w.entry(t, 3); int(e.Place) != tt.place || e.Duration != 3000 || e.Decision != "about-ask" {
					t.Errorf("the result stands at %d, took %d ms, and follows %q", e.Place, e.Duration, e.Decision)
				}
			})
		})
	}
}

// Gates that ended their calls are asked again like others, and BeforeToolExecute is not: it
// had not been.
func TestGatesThatEndedTheirCallsAreAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked, last []string
		w := newWorld(t, options{
			mode: agent.ParallelBatchApproval, model: replies(calls("echo", `{"text":"a"}`, "echo", `{"text":"c"}`, "echo", `{"text":"b"}`)),
			plugins: []plugin.Plugin{pluginFunc{"ends", func(r *plugin.Registrar) {
				r.Key(seenBy)
				r.Gate(func(_ context.Context, c plugin.GateCall) (v plugin.Verdict, err error) {
					asked = append(asked, fmt.Sprint("gate", c.CallIndex))
					if v, _ = blockB(c); !v.Block {
						v = plugin.SetResult(core.ToolResult{Message: "given"})
					}
					v.Command, err = adds(c.Snapshot, fmt.Sprint("gate", c.CallIndex))
					return v, err
				})
				r.OnBeforeTool(func(_ context.Context, c plugin.BeforeTool) (state.Command, error) {
					asked = append(asked, fmt.Sprint("before", c.CallIndex))
					return state.Command{}, nil
				})
				r.OnRunEnd(func(_ context.Context, c plugin.RunEnd) (_ state.Command, err error) {
					last, err = seenBy.Read(c.Snapshot)
					return state.Command{}, err
				})
			}}},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		want := [][]string{{"gate0", "gate1", "gate1", "gate2", "gate2"}, {"gate0", "gate1", "gate2"}, {"set: given", "set: given", "blocked: blocked: not b"}}
		if diff := cmp.Diff(want, [][]string{asked, last, w.results(t)}); diff != "" {
			t.Errorf("what was asked, the list and results (-want +got):\n%s", diff)
		}
	})
}

// Hooks that are asked again about a result that was found are told the time at which it was
// stored, and not when they are asked.
func TestHooksOfAFoundResultAreToldItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := newSiblings(t, [2]time.Duration{8 * time.Second, time.Second}, setsList)
		_, _ = s.cut(t, 4*time.Second, false)
		head := s.take(t, key)
		s.putResult(t, 0, s.entry(t, head.Run.Base+1), func(e *thread.Entry) {
			command := seenBy.Update([]string{"hook"})
			e.Place, e.Hooks, e.At = 0, &command, began.Add(3*time.Second).UnixMilli()
		})
		s.reclaim(t)
		var told []time.Duration
		o := options{
			mode: agent.ParallelStreaming, model: replies(calls("set", "{}", "set", "{}"), text("ok")), tools: []tool.Tool{toolFunc{name: "set"}},
			plugins: []plugin.Plugin{pluginFunc{"siblings", func(r *plugin.Registrar) {
				r.Key(seenBy)
				r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
					told = append(told, c.Now.Sub(began))
					return plugin.Allow, nil
				})
			}}},
		}
		s.stepper = s.other(t, o)
		s.finish(t, key, nil)
		if diff := cmp.Diff([]time.Duration{3 * time.Second}, told); diff != "" {
			t.Errorf("the gate was told the times (-want +got):\n%s", diff)
		}
	})
}

// A round whose results stand in a line is closed by a process that has not its agent: the
// results stay as they are, and what they change is lost with the keys that nobody knows.
func TestALineIsClosedWithoutItsAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSiblings(t, [2]time.Duration{8 * time.Second, time.Second}, setsList)
		_, _ = s.cut(t, 4*time.Second, false)
		head := s.head(t, key)
		if _, err := s.box.Cancel(t.Context(), key, head.Run.ID); err != nil {
			t.Fatal(err)
		}
		s.stepper = s.other(t, options{agents: gone{}})
		s.finish(t, key, nil)
		want := []string{"unknown: outcome unknown: the run was ended while the tool may have run", `ok: "set"`}
		if diff := cmp.Diff(want, s.results(t)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
		if e := s.entry(t, head.Run.Base+1); e.Place != 1 || e.Intents == nil {
			t.Errorf("the result has the place %d and asks for %+v", e.Place, e.Intents)
		}
	})
}
