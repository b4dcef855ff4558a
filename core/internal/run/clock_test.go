package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// shown notes what hooks, gates and tools are shown, one line each.
type shown struct {
	mu    sync.Mutex
	lines []string
}

func (s *shown) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// taken returns the lines since the last time.
func (s *shown) taken() (lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines, s.lines = s.lines, nil
	return lines
}

// seconds is a clock as seconds since a synctest bubble began.
func seconds(at time.Time) string {
	if at.Location() != time.UTC {
		return "not UTC"
	}
	return fmt.Sprintf("%gs", at.Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).Seconds())
}

// clocks is a plugin that notes the clock at every phase and gate, after a second,
// and a tool that takes three.
func clocks(s *shown, gate func(c plugin.GateCall) (plugin.Verdict, error)) ([]plugin.Plugin, []tool.Tool) {
	p := pluginFunc{id: "clocks", register: func(r *plugin.Registrar) {
		for _, phase := range []core.Phase{
			core.PhaseRunStart, core.PhaseStepStart, core.PhaseBeforeInference, core.PhaseAfterInference,
			core.PhaseBeforeToolExecute, core.PhaseAfterToolExecute, core.PhaseStepEnd, core.PhaseRunEnd,
		} {
			r.Hook(phase, func(_ context.Context, c plugin.Context) (state.Command, error) {
				time.Sleep(time.Second)
				s.note("%s %s", c.Phase, seconds(c.Now))
				return state.Command{}, nil
			})
		}
		r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
			s.note("gate %s", seconds(c.Now))
			if gate == nil {
				return plugin.Allow, nil
			}
			return gate(c)
		})
	}}
	works := toolFunc{name: "works", run: func(ctx context.Context, c tool.Call) (tool.Result, error) {
		s.note("tool %s", seconds(c.Now))
		select {
		case <-time.After(3 * time.Second):
			return tool.NewResult("done"), nil
		case <-ctx.Done():
			return tool.Result{}, ctx.Err()
		}
	}}
	return []plugin.Plugin{p}, []tool.Tool{works}
}

func TestClockIsThatOfTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shown
		o := options{model: replies(calls("works", "{}"), text("ok"))}
		o.plugins, o.tools = clocks(&s, nil)
		w := newWorld(t, o)
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.step(t, key)
		want := []string{
			"run_start 0s", "step_start 0s", "before_inference 0s", "after_inference 0s", // the step began at 0s
			"gate 4s", "before_tool_execute 4s", "tool 4s", // the round at 4s, behind four hooks
			"after_tool_execute 8s", "step_end 8s", // the tool returned at 8s
		}
		if diff := cmp.Diff(want, s.taken()); diff != "" {
			t.Errorf("first step (-want +got):\n%s", diff)
		}
		w.finish(t, key, nil)
		want = []string{
			"step_start 10s", "before_inference 10s", "after_inference 10s",
			"step_end 12s", // the turn was complete at 12s, before AfterInference
			"run_end 14s",
		}
		if diff := cmp.Diff(want, s.taken()); diff != "" {
			t.Errorf("second step (-want +got):\n%s", diff)
		}
		if at := w.runRecord(t, receipt.RunID).FinishedAt; seconds(time.UnixMilli(at).UTC()) != "14s" {
			t.Errorf("the run finished at %d, want what RunEnd was shown", at)
		}
	})
}

// A result that one worker has stored and another takes over has the clock of the
// first, for whoever looks at it; the calls that the other runs have its own.
func TestClockOfATakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shown
		o := options{model: replies(calls("works", "{}", "works", "{}"), text("ok"))}
		o.plugins, o.tools = clocks(&s, nil)
		w := newWorld(t, o)
		w.submit(t, key, "hi", mailbox.ModeQueue)
		if _, err := w.cut(t, 10*time.Second, false); err != nil { // the first tool has returned, the second begins
			t.Fatal(err)
		}
		s.taken()
		time.Sleep(time.Hour)
		cold := w.other(t, o)
		if _, err := cold.Step(t.Context(), run.Work{Key: key, Head: w.take(t, key)}, nil); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"after_tool_execute 8s",
			"gate 3610s", "before_tool_execute 3610s", "tool 3610s", "after_tool_execute 3615s", "step_end 3615s",
		}
		if diff := cmp.Diff(want, s.taken()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// A call that went on after a decision has the clock of the round that it went on
// in, and what it waited with that of the round that asked.
func TestClockOfARoundThatGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shown
		o := options{model: replies(calls("works", "{}"), text("ok"))}
		o.plugins, o.tools = clocks(&s, func(plugin.GateCall) (plugin.Verdict, error) { return suspends("ask"), nil })
		w := newWorld(t, o)
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.step(t, key)
		s.taken()
		var ticket thread.TicketRecord
		name := recordname.Suspension(receipt.RunID, 2, 0, thread.TicketKey(receipt.RunID, "ask"))
		if err := (thread.Records{}).Decode("ticket", w.record(t, name).Payload, &ticket); err != nil || seconds(clock(ticket.CreatedAt)) != "4s" || ticket.ByTool {
			t.Errorf("the ticket was asked for at %d, by the tool %t, %v; want 4s and the gate", ticket.CreatedAt, ticket.ByTool, err)
		}
		time.Sleep(time.Hour)
		w.mustDecide(t, 0, approve)
		w.step(t, key)
		want := []string{"gate 3604s", "before_tool_execute 3604s", "tool 3604s", "after_tool_execute 3608s", "step_end 3608s"}
		if diff := cmp.Diff(want, s.taken()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func clock(millis int64) time.Time { return time.UnixMilli(millis).UTC() }

// A tool that asks is told apart from a gate that does.
func TestTicketSaysWhetherTheToolAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asks := toolFunc{name: "asks", run: func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Suspended(core.TicketRequest{ID: "ask", Action: "ask"}), nil
		}}
		w := newWorld(t, options{model: replies(calls("asks", "{}"), text("ok")), tools: []tool.Tool{asks}})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.step(t, key)
		var ticket thread.TicketRecord
		name := recordname.Suspension(receipt.RunID, 2, 0, thread.TicketKey(receipt.RunID, "ask"))
		if err := (thread.Records{}).Decode("ticket", w.record(t, name).Payload, &ticket); err != nil || !ticket.ByTool {
			t.Errorf("asked for by the tool: %t, %v", ticket.ByTool, err)
		}
	})
}

// What the caller sent along reaches every hook, gate and tool of its run, in a
// process that was there and in one that was not. That of steered input does not.
func TestRequestOfARunReachesItsHooksAndTools(t *testing.T) {
	for _, cold := range []bool{false, true} {
		t.Run(fmt.Sprint("cold: ", cold), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s shown
				o := options{model: replies(calls("looks", "{}"), text("ok"), text("ok")), tools: []tool.Tool{
					toolFunc{name: "looks", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
						s.note("tool %s %s", c.User, c.Request)
						return tool.NewResult("seen"), nil
					}},
				}}
				o.plugins = []plugin.Plugin{pluginFunc{id: "looks", register: func(r *plugin.Registrar) {
					for _, phase := range []core.Phase{core.PhaseRunStart, core.PhaseAfterToolExecute, core.PhaseStepEnd, core.PhaseRunEnd} {
						r.Hook(phase, func(_ context.Context, c plugin.Context) (state.Command, error) {
							s.note("%s %s %s", c.Phase, c.User, c.Request)
							return state.Command{}, nil
						})
					}
				}}}
				w := newWorld(t, o)
				submit := func(mode mailbox.Mode, request string) {
					t.Helper()
					_, err := w.box.Submit(t.Context(), mailbox.Submission{
						Thread: key, User: "ann", Opening: mailbox.Opening{AgentID: "demo", Request: json.RawMessage(request)}, Mode: mode,
						Messages: []core.Message{core.UserMessage("hi")},
					})
					if err != nil {
						t.Fatal(err)
					}
				}
				submit(mailbox.ModeQueue, `{"plan": "gold"}`)
				w.step(t, key)
				submit(mailbox.ModeSteer, `{"plan":"steered"}`)
				if cold {
					w.stepper = w.other(t, o)
				}
				w.finish(t, key, nil)
				want := []string{
					`run_start ann {"plan":"gold"}`, `tool ann {"plan":"gold"}`, `after_tool_execute ann {"plan":"gold"}`, `step_end ann {"plan":"gold"}`,
					`step_end ann {"plan":"gold"}`, `run_end ann {"plan":"gold"}`,
				}
				if diff := cmp.Diff(want, s.taken()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Input that was steered to a run which ended first opens one of its own, with its
// own request.
func TestRequestOfSteeredInputCountsForTheRunThatItOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var requests []string
		looks := pluginFunc{id: "looks", register: func(r *plugin.Registrar) {
			r.OnRunStart(func(_ context.Context, c plugin.RunStart) (state.Command, error) {
				requests = append(requests, string(c.Request))
				return state.Command{}, nil
			})
		}}
		w := newWorld(t, options{model: replies([]model.Delta{{Text: "no"}}, text("ok")), plugins: []plugin.Plugin{looks}})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		head := w.take(t, key)
		_, err := w.box.Submit(t.Context(), mailbox.Submission{
			Thread: key, Opening: mailbox.Opening{AgentID: "demo", Request: json.RawMessage(`{"plan":"steered"}`)}, Mode: mailbox.ModeSteer,
			Messages: []core.Message{core.UserMessage("more")},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil); err != nil { // it fails
			t.Fatal(err)
		}
		w.finish(t, key, nil)
		if want := []string{"", `{"plan":"steered"}`}; !slices.Equal(requests, want) {
			t.Errorf("the runs have the requests %q, want %q", requests, want)
		}
	})
}

// profiles stands for values outside of threads.
type profiles struct {
	state.Profiles
	tenant string
}

func TestProfilesAreThoseOfTheTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shown
		looks := toolFunc{name: "looks", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			s.note("tool %v", c.Profiles)
			return tool.NewResult("seen"), nil
		}}
		o := options{model: replies(calls("looks", "{}"), text("ok")), tools: []tool.Tool{looks}}
		o.plugins = []plugin.Plugin{pluginFunc{id: "looks", register: func(r *plugin.Registrar) {
			r.OnRunStart(func(_ context.Context, c plugin.RunStart) (state.Command, error) {
				s.note("hook %v", c.Profiles)
				return state.Command{}, nil
			})
		}}}
		w := newWorld(t, o)
		o = o.complete(t)
		var err error
		w.stepper, err = run.New(run.Options{
			Env: o.env, Store: w.store, Committer: w.box, Agents: unpinned{resolver: o.agents}, Logger: quiet,
			Profiles: func(tenant string) state.Profiles { return profiles{tenant: tenant} },
		})
		if err != nil {
			t.Fatal(err)
		}
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		if diff := cmp.Diff([]string{"hook {<nil> t}", "tool {<nil> t}"}, s.taken()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
