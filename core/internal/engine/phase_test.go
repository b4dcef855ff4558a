package engine_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
)

var allPhases = []core.Phase{core.PhaseRunStart, core.PhaseStepStart, core.PhaseBeforeInference, core.PhaseAfterInference,
	core.PhaseBeforeToolExecute, core.PhaseAfterToolExecute, core.PhaseStepEnd, core.PhaseRunEnd}

// everything is a moment with all that a phase may have.
func everything(phase core.Phase) engine.Moment {
	return engine.Moment{
		Context: plugin.Context{
			Phase: phase, Thread: core.ThreadKey{Tenant: "acme", Thread: "t1"}, User: "ann", Run: core.ID{15: 1}, Step: 3,
			Snapshot: state.Snapshot{}.With(7, map[state.KeyPath]json.RawMessage{{Name: "tally"}: json.RawMessage(`["x"]`)}),
			Messages: []core.Message{core.UserMessage("hi").WithID("m1")}, Usage: core.Usage{Input: 5},
			Now: time.UnixMilli(1_700_000_000_000), Request: json.RawMessage(`{"locale":"de"}`),
		},
		Turn: &core.Message{ID: "m2"}, Call: &core.ToolCall{ID: "c2"}, CallIndex: 1, Granted: []string{"s1"},
		Resume: &core.Resume{Suspension: "s1"}, Result: &core.ToolResult{CallID: "c2"},
		Termination: &core.Termination{Type: core.TerminationStopped, Code: "max_rounds"},
	}
}

// witness notes whatever its hooks, gate and handlers see, and the phase.
type witness struct{ seen []any }

func (*witness) ID() string { return "witness" }

func (w *witness) Register(r *plugin.Registrar) error {
	r.OnRunStart(noting[plugin.RunStart](w))
	r.OnStepStart(noting[plugin.StepStart](w))
	r.OnBeforeInference(noting[plugin.BeforeInference](w))
	r.OnAfterInference(noting[plugin.AfterInference](w))
	r.OnBeforeTool(noting[plugin.BeforeTool](w))
	r.OnAfterTool(noting[plugin.AfterTool](w))
	r.OnStepEnd(noting[plugin.StepEnd](w))
	r.OnRunEnd(noting[plugin.RunEnd](w))
	r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
		w.seen = append(w.seen, c)
		return plugin.Allow, nil
	})
	plugin.Effect[json.RawMessage]{Name: "see"}.Handle(r, func(_ context.Context, c plugin.HandlerContext, _ json.RawMessage) error {
		w.seen = append(w.seen, c)
		return nil
	})
	plugin.Action[json.RawMessage]{Phase: core.PhaseBeforeToolExecute, Name: "see"}.Handle(r, func(_ context.Context, c plugin.HandlerContext, _ json.RawMessage) (state.Command, error) {
		w.seen = append(w.seen, c)
		return state.Command{}, nil
	})
	return nil
}

func noting[C any](w *witness) plugin.Hook[C] {
	return func(_ context.Context, c C) (state.Command, error) {
		w.seen = append(w.seen, c)
		return state.Command{}, nil
	}
}

// demo is what hooks are told of the agent of these tests.
var demo = plugin.Agent{ID: "demo", Description: "Helps.", Model: "m", ModelName: "big"}

// sees says what a witness of the demo agent has seen when f has run.
func sees(t *testing.T, f func(e *engine.Engine)) []any {
	t.Helper()
	w := &witness{}
	e, err := engine.New([]plugin.Plugin{keys, w}, engine.Options{Agent: demo})
	if err != nil {
		t.Fatal(err)
	}
	f(e)
	return w.seen
}

var whose = cmp.Options{cmpopts.IgnoreFields(plugin.Context{}, "Plugin", "Handles", "About"), cmpopts.IgnoreFields(plugin.Agent{}, "Sections")}

func TestEachPhaseHasItsHooksWhichSeeWhatItHas(t *testing.T) {
	turn, call, resume := core.Message{ID: "m2"}, core.ToolCall{ID: "c2"}, &core.Resume{Suspension: "s1"}
	tests := map[core.Phase]func(c plugin.Context) any{
		core.PhaseRunStart:        func(c plugin.Context) any { return plugin.RunStart{Context: c} },
		core.PhaseStepStart:       func(c plugin.Context) any { return plugin.StepStart{Context: c} },
		core.PhaseBeforeInference: func(c plugin.Context) any { return plugin.BeforeInference{Context: c} },
		core.PhaseAfterInference:  func(c plugin.Context) any { return plugin.AfterInference{Context: c, Turn: turn} },
		core.PhaseBeforeToolExecute: func(c plugin.Context) any {
			return plugin.BeforeTool{Context: c, Turn: turn, Call: call, CallIndex: 1, Resume: resume}
		},
		core.PhaseAfterToolExecute: func(c plugin.Context) any {
			return plugin.AfterTool{Context: c, Turn: turn, Call: call, CallIndex: 1, Result: core.ToolResult{CallID: "c2"}}
		},
		core.PhaseStepEnd: func(c plugin.Context) any { return plugin.StepEnd{Context: c} },
		core.PhaseRunEnd: func(c plugin.Context) any {
			return plugin.RunEnd{Context: c, Termination: core.Termination{Type: core.TerminationStopped, Code: "max_rounds"}}
		},
	}
	for _, phase := range allPhases {
		t.Run(string(phase), func(t *testing.T) {
			got := sees(t, func(e *engine.Engine) { run(t, e, everything(phase)) })
			c := everything(phase).Context
			c.Agent = &demo
			if diff := cmp.Diff([]any{tests[phase](c)}, got, whose); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGatesAndHandlersSeeTheirCall(t *testing.T) {
	c := everything("").Context
	c.Agent = &demo
	turn, call := core.Message{ID: "m2"}, core.ToolCall{ID: "c2"}
	t.Run("a gate", func(t *testing.T) {
		got := sees(t, func(e *engine.Engine) {
			if _, err := e.Gate(t.Context(), everything("")); err != nil {
				t.Error(err)
			}
		})
		want := []any{plugin.GateCall{Context: c, Turn: turn, Call: call, CallIndex: 1, Resume: &core.Resume{Suspension: "s1"}}}
		if diff := cmp.Diff(want, got, whose); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("an effect", func(t *testing.T) {
		got := sees(t, func(e *engine.Engine) {
			if err := e.RunEffects(t.Context(), everything(""), []state.Effect{{Key: "see"}}); err != nil {
				t.Error(err)
			}
		})
		if diff := cmp.Diff([]any{plugin.HandlerContext{Context: c, Call: &call, CallIndex: 1}}, got, whose); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("an effect of no call", func(t *testing.T) {
		got := sees(t, func(e *engine.Engine) {
			if err := e.RunEffects(t.Context(), engine.Moment{Context: everything("").Context}, []state.Effect{{Key: "see"}}); err != nil {
				t.Error(err)
			}
		})
		if diff := cmp.Diff([]any{plugin.HandlerContext{Context: c}}, got, whose); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("an action", func(t *testing.T) {
		m := everything(core.PhaseBeforeToolExecute)
		got := sees(t, func(e *engine.Engine) {
			waiting, err := e.Submit(m.Snapshot, 1, state.Command{Actions: []state.Action{{Phase: core.PhaseBeforeToolExecute, Key: "see"}}})
			if err != nil {
				t.Fatal(err)
			}
			m.Snapshot = waiting.Snapshot
			run(t, e, m)
		})
		c := m.Context
		c.Agent = &demo
		if diff := cmp.Diff(plugin.HandlerContext{Context: c, Call: &call, CallIndex: 1}, got[len(got)-1], whose); diff != "" {
			t.Error(diff)
		}
	})
}

// An id holds for one place: a hook that runs again there gets it again, and no other
// place has it.
func TestNewIDNamesAPlace(t *testing.T) {
	type place struct {
		run        core.ID
		plugin     string
		phase      core.Phase
		step, call int // call: 1 + index; 0: none
		name       string
	}
	newID := func(p place) core.ID {
		var id core.ID
		e := built(t, on(p.plugin, p.phase, func(_ context.Context, c plugin.Context) (state.Command, error) {
			id = c.NewID(p.name)
			return state.Command{}, nil
		}))
		m := at(p.phase, state.Snapshot{})
		if p.call > 0 {
			m = call(p.phase, state.Snapshot{}, p.call-1, "c")
		}
		m.Run, m.Step = p.run, p.step
		run(t, e, m)
		return id
	}
	base := place{core.ID{15: 1}, "p", core.PhaseBeforeToolExecute, 1, 1, "n"}
	const want = "6c6ed93c-5dde-88aa-a99a-b997495ca7cd"
	if got := newID(base).String(); got != want {
		t.Errorf("the id is %s, want %s: ids that were derived before must stay the same", got, want)
	}
	with := func(change func(*place)) place { p := base; change(&p); return p }
	others := []struct {
		name  string
		place place
	}{
		{"another run", with(func(p *place) { p.run = core.ID{15: 2} })},
		{"another plugin", with(func(p *place) { p.plugin = "q" })},
		{"another phase", with(func(p *place) { p.phase = core.PhaseAfterToolExecute })},
		{"another step", with(func(p *place) { p.step = 2 })},
		{"another call", with(func(p *place) { p.call = 2 })},
		{"no call", with(func(p *place) { p.call = 0 })},
		{"another name", with(func(p *place) { p.name = "m" })},
		{"no name", with(func(p *place) { p.name = "" })},
		{"plugin and name cut elsewhere", with(func(p *place) { p.plugin, p.name = "pn", "" })},
	}
	ids := map[core.ID]string{newID(base): "the base"}
	for _, other := range others {
		id := newID(other.place)
		if same, known := ids[id]; known {
			t.Errorf("%s has the id of %s", other.name, same)
		}
		ids[id] = other.name
	}
}

// The id of a place is in the log of those who use it: it must not become another.
func TestNewIDOfAPlaceStaysTheSame(t *testing.T) {
	var got []string
	e := built(t, part{"ids", func(r *plugin.Registrar) error {
		r.OnStepEnd(func(_ context.Context, c plugin.StepEnd) (state.Command, error) {
			for _, name := range []string{"invoice", "receipt", "mail", "note"} {
				got = append(got, c.NewID(name).String())
			}
			return state.Command{}, nil
		})
		return nil
	}})
	m := at(core.PhaseStepEnd, state.Snapshot{})
	m.Run, m.Step = core.ID{15: 1}, 3
	run(t, e, m)
	want := []string{
		"a1c066c8-fcb4-8ea5-b914-16ffccc50655", "7cbb4772-8db8-8fe1-b674-495fafb1f0ed", "6bde6002-7882-8c8a-8f99-80f2288e39ea", "5d861c80-6db4-8d19-aae4-e6a8c71e1968",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNewIDIsTheSameWhenAHookRunsAgain(t *testing.T) {
	var lone sync.Mutex // hooks run side by side
	ids := map[string][]core.ID{}
	collide := func(id string) part {
		return on(id, core.PhaseStepEnd, func(_ context.Context, c plugin.Context) (state.Command, error) {
			lone.Lock()
			defer lone.Unlock()
			ids[id] = append(ids[id], c.NewID("n"))
			return log.Update(id), nil
		})
	}
	run(t, built(t, collide("a"), collide("b")), at(core.PhaseStepEnd, state.Snapshot{}))
	if len(ids["a"]) != 1 || len(ids["b"]) != 2 || ids["b"][0] != ids["b"][1] || slices.Contains(ids["b"], ids["a"][0]) {
		t.Errorf("ids %v, want one of a, and another twice of b", ids)
	}
}

func TestNewIDOfAGateOrHandlerIsThatPluginsAlone(t *testing.T) {
	ids := map[core.ID]string{}
	note := func(who string, c plugin.Context) { ids[c.NewID("n")] = who }
	sayer := func(id string) part {
		return part{id, func(r *plugin.Registrar) error {
			r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
				note("gate of "+id, c.Context)
				return plugin.Allow, nil
			})
			plugin.Effect[json.RawMessage]{Name: id}.Handle(r, func(_ context.Context, c plugin.HandlerContext, _ json.RawMessage) error {
				note("effect of "+id, c.Context)
				return nil
			})
			plugin.Effect[json.RawMessage]{Name: id + "2"}.Handle(r, func(_ context.Context, c plugin.HandlerContext, _ json.RawMessage) error {
				note("another effect of "+id, c.Context)
				return nil
			})
			plugin.Action[json.RawMessage]{Phase: core.PhaseStepEnd, Name: id}.Handle(r, func(_ context.Context, c plugin.HandlerContext, _ json.RawMessage) (state.Command, error) {
				note("action of "+id, c.Context)
				return state.Command{}, nil
			})
			return nil
		}}
	}
	e := built(t, sayer("a"), sayer("b"))
	if _, err := e.Gate(t.Context(), call("", state.Snapshot{}, 0, "c")); err != nil {
		t.Fatal(err)
	}
	if err := e.RunEffects(t.Context(), at("", state.Snapshot{}), []state.Effect{{Key: "a"}, {Key: "b"}, {Key: "a2"}, {Key: "b2"}}); err != nil {
		t.Fatal(err)
	}
	waiting, err := e.Submit(state.Snapshot{}, 0, state.Command{Actions: []state.Action{{Phase: core.PhaseStepEnd, Key: "a"}, {Phase: core.PhaseStepEnd, Key: "b"}}})
	if err != nil {
		t.Fatal(err)
	}
	run(t, e, at(core.PhaseStepEnd, waiting.Snapshot))
	if len(ids) != 8 {
		t.Errorf("%d ids, want 8: %v", len(ids), ids)
	}
}
