package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// onePlace registers one function at each place.
type onePlace struct{}

func (onePlace) ID() string { return "every" }

func (onePlace) Register(r *plugin.Registrar) error {
	notes := state.List[string]("notes", state.ScopeRun)
	later := plugin.Action[string]{Phase: core.PhaseStepEnd, Name: "later"}
	send := plugin.Effect[string]{Name: "send"}
	r.Key(notes)
	r.OnStepEnd(func(_ context.Context, c plugin.StepEnd) (state.Command, error) {
		return state.Combine(notes.Update(c.Now.Format(time.TimeOnly)), later.Schedule("it")), nil
	})
	r.OnStepEnd(func(context.Context, plugin.StepEnd) (state.Command, error) { return state.Command{}, nil })
	r.Gate(func(context.Context, plugin.GateCall) (plugin.Verdict, error) { return plugin.Block("no"), nil })
	r.Transform(func(_ context.Context, c plugin.BeforeInference, request *model.Request) error {
		request.System = c.Run.String()
		return nil
	})
	later.Handle(r, func(_ context.Context, c plugin.HandlerContext, what string) (state.Command, error) {
		return notes.Update(what), nil
	})
	send.Handle(r, func(context.Context, plugin.HandlerContext, string) error { return errors.New("not sent") })
	r.Tool(tool.New(tool.Spec{Name: "inner"}, func(context.Context, tool.Call, struct{}) (string, error) { return "", nil }))
	return nil
}

func TestWatcherIsToldOfEachFunction(t *testing.T) {
	var mu sync.Mutex // hooks of a phase run side by side
	var seen []string
	w := engine.Watcher{
		Show: func(c plugin.Context) plugin.Context {
			c.Run, c.Now = core.ID{15: 7}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			return c
		},
		Tool: func(t tool.Tool) tool.Tool { return renamed{t} },
		Saw: func(s engine.Seen) {
			line := fmt.Sprintf("%s %d%s of %s in run %s, call %d: %d mutations, %d actions", s.Place, s.Number, s.Name, s.Plugin, s.Context.Run, s.Call,
				len(s.Command.Batch.Mutations), len(s.Command.Actions))
			if s.Verdict != nil {
				line += ", " + s.Verdict.Reason
			}
			if s.Request != nil {
				line += ", system " + s.Request.System
			}
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, fmt.Sprintf("%s, payload %s, error %v", line, s.Payload, s.Err))
		},
	}
	e, err := engine.New([]plugin.Plugin{engine.Watched(onePlace{}, w)}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, m := t.Context(), engine.Moment{Context: plugin.Context{Phase: core.PhaseStepEnd, Run: core.ID{1}}}
	end, err := e.Phase(ctx, env.System(), m)
	if err != nil {
		t.Fatal(err)
	}
	call := m
	call.Turn, call.Call, call.CallIndex = &core.Message{}, &core.ToolCall{Name: "x"}, 2
	if v, err := e.Gate(ctx, call); err != nil || !v.Block {
		t.Errorf("verdict %+v, %v", v, err)
	}
	if err := e.Transform(ctx, m, &model.Request{}); err != nil {
		t.Error(err)
	}
	e.RunEffects(ctx, m, []state.Effect{{Key: "send", Payload: json.RawMessage(`"a"`)}})
	const run = "00000000-0000-0000-0000-000000000007"
	want := []string{
		"hook 1 of every in run " + run + ", call -1: 1 mutations, 1 actions, payload , error <nil>",
		"hook 2 of every in run " + run + ", call -1: 0 mutations, 0 actions, payload , error <nil>",
		"action 0later of every in run " + run + ", call -1: 1 mutations, 0 actions, payload \"it\", error <nil>",
		"gate 1 of every in run " + run + ", call 2: 0 mutations, 0 actions, no, payload , error <nil>",
		"transform 1 of every in run " + run + ", call -1: 0 mutations, 0 actions, system " + run + ", payload , error <nil>",
		"effect 0send of every in run " + run + ", call -1: 0 mutations, 0 actions, payload \"a\", error not sent",
	}
	slices.Sort(seen[:2]) // the hooks
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("seen (-want +got):\n%s", diff)
	}
	if got, _ := end.Snapshot.Value(state.KeyPath{Scope: state.ScopeRun, Name: "notes"}); string(got) != `["03:04:05","it"]` {
		t.Errorf("notes %s", got)
	}
	names := []string{}
	for _, t := range e.Tools() {
		names = append(names, t.Spec().Name)
	}
	if !slices.Equal(names, []string{"outer"}) {
		t.Errorf("tools %q, want outer", names)
	}
}

// Without functions a watcher changes nothing.
func TestWatcherMayBeEmpty(t *testing.T) {
	e, err := engine.New([]plugin.Plugin{engine.Watched(onePlace{}, engine.Watcher{})}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := engine.Moment{Context: plugin.Context{Phase: core.PhaseStepEnd, Run: core.ID{1}}}
	if _, err := e.Phase(t.Context(), env.System(), m); err != nil {
		t.Error(err)
	}
	if got := e.Tools()[0].Spec().Name; got != "inner" {
		t.Errorf("tool %q, want inner", got)
	}
}

type renamed struct{ tool.Tool }

func (renamed) Spec() tool.Spec { return tool.Spec{Name: "outer"} }
