package registered_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/registered"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// A Registrar keeps its parts in order, each with a value of the type that its kind says.
func TestTheValueOfEachKind(t *testing.T) {
	r := new(plugin.Registrar)
	r.Key(state.Counter("n", state.ScopeRun))
	r.OnStepEnd(func(context.Context, plugin.StepEnd) (state.Command, error) { return state.Command{}, nil })
	r.Gate(func(context.Context, plugin.GateCall) (plugin.Verdict, error) { return plugin.Allow, nil })
	r.OnRefusal(func(context.Context, plugin.GateCall) (state.Command, error) { return state.Command{}, nil })
	r.Transform(func(context.Context, plugin.BeforeInference, *model.Request) error { return nil })
	r.ToolPattern("sections.x", "a*", func(string) bool { return true })
	r.Tool(tool.New(tool.Spec{Name: "t"}, func(context.Context, tool.Call, struct{}) (string, error) { return "", nil }))
	plugin.Action[int]{Phase: core.PhaseRunEnd, Name: "a"}.Handle(r, func(context.Context, plugin.HandlerContext, int) (state.Command, error) {
		return state.Command{}, nil
	})
	plugin.Effect[int]{Name: "e"}.Handle(r, func(context.Context, plugin.HandlerContext, int) error { return nil })
	_, _ = plugin.Section[int]{}.Read(r) // has no name
	want := []string{
		"key   state.Key[int,int]",
		"hook step_end  plugin.Hook[github.com/reveille-run/reveille/core/plugin.StepEnd]",
		"gate   func(context.Context, plugin.GateCall) (plugin.Verdict, error)",
		"refusal   plugin.Hook[github.com/reveille-run/reveille/core/plugin.GateCall]",
		"transform   func(context.Context, plugin.BeforeInference, *model.Request) error",
		"pattern  sections.x func(string) bool",
		"tool   *tool.",
		"action run_end a func(context.Context, plugin.HandlerContext, json.RawMessage) (state.Command, error)",
		"effect  e func(context.Context, plugin.HandlerContext, json.RawMessage) error",
		"refused   *errors.errorString",
	}
	names := []string{"key", "hook", "gate", "refusal", "transform", "pattern", "tool", "delegate tool", "action", "effect", "refused"}
	parts := r.Registered().Parts
	if len(parts) != len(want) {
		t.Fatalf("%d parts, want %d", len(parts), len(want))
	}
	for i, p := range parts {
		got := fmt.Sprintf("%s %s %s %T", names[p.Kind], p.Phase, p.Name, p.Value)
		if p.Kind == registered.Tool {
			got = got[:min(len(got), len(want[i]))]
		}
		if got != want[i] {
			t.Errorf("part %d is\n %s, want\n %s", i, got, want[i])
		}
	}
}
