package run

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run/checkpoint"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/window"
	"github.com/reveille-run/reveille/core/model"
)

// A step whose request begins otherwise says why, once: of several reasons the one that
// stands first in the request.
func TestWhyARequestBeginsOtherwise(t *testing.T) {
	shown := core.Window{First: 9, Opening: 7, Short: 5, Summary: 3, Estimate: 100}
	with := func(change func(w *core.Window)) core.Window {
		w := shown
		change(&w)
		return w
	}
	tests := []struct {
		name    string
		last    *core.Window // of the newest turn, nil: there is none
		now     core.Window
		request model.Request
		before  []core.Message
		want    []string
	}{
		{"the first turn", nil, shown, model.Request{Model: "m"}, nil, nil},
		{"as before", &shown, shown, model.Request{Model: "m"}, nil, nil},
		{"a turn that no model was asked for", &core.Window{}, shown, model.Request{Model: "m"}, nil, nil},
		{"another estimate", &shown, with(func(w *core.Window) { w.Estimate, w.Compact, w.Skipped = 7, 8, 9 }), model.Request{Model: "m"}, nil, nil},
		{"the model", &shown, shown, model.Request{Model: "n", System: "other"}, nil, []string{"model"}},
		{"the tools", &shown, shown, model.Request{Model: "m", System: "other", Tools: []model.ToolDefinition{{Name: "t"}}}, nil, []string{"tools"}},
		{"the system prompt", &shown, shown, model.Request{Model: "m", System: "other"}, []core.Message{core.UserMessage("c")}, []string{"system"}},
		{"the context", &shown, with(func(w *core.Window) { w.Summary = 4 }), model.Request{Model: "m"}, []core.Message{core.UserMessage("c")}, []string{"context"}},
		{"the summary", &shown, with(func(w *core.Window) { w.Summary, w.First = 4, 0 }), model.Request{Model: "m"}, nil, []string{"summary"}},
		{"the first message", &shown, with(func(w *core.Window) { w.First, w.Short = 10, 10 }), model.Request{Model: "m"}, nil, []string{"cut"}},
		{"what the run was asked", &shown, with(func(w *core.Window) { w.Opening = 8 }), model.Request{Model: "m"}, nil, []string{"cut"}},
		{"results", &shown, with(func(w *core.Window) { w.Short = 6 }), model.Request{Model: "m"}, nil, []string{"results"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var told []string
			h := &holder{events: history.NewEmitter(core.ID{1}, 1, func(e core.Event) error {
				told = append(told, e.Reason)
				return nil
			})}
			c := &checkpoint.Conversation{}
			if tt.last != nil {
				c.Messages = checkpoint.ListOf([]core.Message{{Role: core.RoleAssistant, Model: "m"}, core.UserMessage("on")})
				c.Places = checkpoint.ListOf([]window.Place{{Window: tt.last}, {}})
			}
			p := &prompt{holder: h, draft: &draft{past: c}, model: &registry.BoundModel{}, window: &tt.now, framed: true}
			p.marked(&tt.request, beside{before: tt.before})
			p.marked(&tt.request, beside{before: tt.before}) // of a call that is made again
			if diff := cmp.Diff(tt.want, told); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
		})
	}
}

// What a provider has counted says something of its own model alone.
func TestCountsAreThoseOfTheModel(t *testing.T) {
	turn := func(model string) core.Message { return core.Message{Role: core.RoleAssistant, Model: model} }
	p := &prompt{draft: &draft{past: &checkpoint.Conversation{
		First:    1,
		Messages: checkpoint.ListOf([]core.Message{turn("e"), turn("a"), turn("b"), turn("b"), core.UserMessage("hi"), turn("c"), turn("f"), {Role: core.RoleUser, Model: "f"}}),
		Places: checkpoint.ListOf([]window.Place{
			{Window: &core.Window{Estimate: 60, Tokens: 70}}, // it is not shown any more
			{Window: &core.Window{Estimate: 10, Tokens: 20}}, {Window: &core.Window{Estimate: 30, Tokens: 40}},
			{Window: &core.Window{Estimate: 50}}, {}, {}, {Window: &core.Window{Estimate: 2, Tokens: 1}}, {Window: &core.Window{Estimate: 80, Tokens: 90}},
		}),
	}}}
	for model, want := range map[string][2]int{"a": {10, 20}, "b": {30, 40}, "c": {}, "d": {}, "e": {}, "f": {2, 1}} {
		if reckoned, counted := p.counted(model); [2]int{reckoned, counted} != want {
			t.Errorf("of model %s %d and %d are known, want %v", model, reckoned, counted, want)
		}
	}
}
