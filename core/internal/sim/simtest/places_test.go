package simtest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// clockless is a plugin that reads the clock at one place.
type clockless struct{ place engine.Place }

// ID implements plugin.Plugin.
func (clockless) ID() string { return "late" }

// Register implements plugin.Plugin.
func (p clockless) Register(r *plugin.Registrar) error {
	key := state.List[string]("late", state.ScopeRun)
	r.Key(key)
	text := func() string { return time.Now().Format(time.DateTime) }
	later := plugin.Action[struct{}]{Phase: core.PhaseStepEnd, Name: "later"}
	later.Handle(r, func(context.Context, plugin.HandlerContext, struct{}) (state.Command, error) {
		return key.Update(text()), nil
	})
	switch p.place {
	case engine.PlaceGate:
		r.Gate(func(context.Context, plugin.GateCall) (plugin.Verdict, error) {
			return plugin.Allow.With(key.Update(text())), nil
		})
	case engine.PlaceTransform:
		r.Transform(func(_ context.Context, _ plugin.BeforeInference, request *model.Request) error {
			request.System = "It is " + text()
			return nil
		})
	case engine.PlaceAction:
		r.OnStepStart(func(context.Context, plugin.StepStart) (state.Command, error) { return later.Schedule(struct{}{}), nil })
	case engine.PlaceHook:
		r.OnAfterTool(func(context.Context, plugin.AfterTool) (state.Command, error) { return key.Update(text()), nil })
	}
	return nil
}

func TestClockIsNamedWhereverItIsRead(t *testing.T) {
	tests := []struct {
		place engine.Place
		want  string
	}{
		{engine.PlaceHook, "clock: hook 1 of plugin late at after_tool_execute"},
		{engine.PlaceGate, "clock: gate 1 of plugin late"},
		{engine.PlaceTransform, "clock: transform 1 of plugin late"},
		{engine.PlaceAction, "clock: action later of plugin late"},
		{"tool", "clock: tool look"},
	}
	for _, tt := range tests {
		t.Run(string(tt.place), func(t *testing.T) {
			look := tool.New(tool.Spec{Name: "look", ReadOnly: true}, func(_ context.Context, call tool.Call, _ struct{}) (tool.Result, error) {
				if tt.place == "tool" {
					return tool.NewResult(time.Now().Format(time.DateTime)), nil
				}
				return tool.NewResult(call.Now.Format(time.DateTime)), nil
			})
			parts := func() (agent.Parts, error) {
				return agent.Parts{
					Models: map[string]agent.ModelBinding{"m": {Model: model.None{}}}, Tools: []tool.Tool{look},
					Plugins: []plugin.Plugin{clockless{tt.place}},
					Specs:   []agent.Spec{{ID: "a", Model: "m", Plugins: []string{"late"}}}, Default: "a",
				}, nil
			}
			if diff := cmp.Diff([]string{tt.want}, found(t, parts, Scenario{Name: "look", Person: []Act{Say("call: look")}})); diff != "" {
				t.Errorf("mistakes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEffectMayBeLost(t *testing.T) {
	made, err := newCast(func() World { return World{Parts: sample{effect: true}.parts} })
	if err != nil {
		t.Fatal(err)
	}
	u := suite{options: Options{Passings: searched, Seed: 1, MayBeLost: []string{"mail"}}, cast: made, told: map[string]bool{}}
	u.report = func(t *testing.T, m mistake, world string) { t.Errorf("%s: %s (%s)", m.kind, m.text, world) }
	u.play(t, sale)
}

func TestMistakeSaysHowToSeeIt(t *testing.T) {
	m := mistake{kindTwice, "charge", "tool charge ran twice"}
	want := `work done twice: tool charge ran twice
	seen with: W7.2/crash_after, seed 3
	repeat this world: go test -run '^TestShop$/^sale$/^W7.2$/^crash_after$'`
	if diff := cmp.Diff(want, m.line("W7.2/crash_after", 3, "TestShop/sale/W7.2/crash_after")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestScenariosAreChecked(t *testing.T) {
	hello := []Act{Say("hello")}
	tests := []struct {
		name      string
		scenarios []Scenario
		want      string
	}{
		{"fine", []Scenario{{Name: "a", Person: hello}, {Name: "b", Person: hello}}, ""},
		{"no name", []Scenario{{Name: "a", Person: hello}, {Person: hello}}, "scenario 2 has no name"},
		{"twice", []Scenario{{Name: "a", Person: hello}, {Name: "a", Person: hello}}, `scenario "a" is listed twice`},
		{"nobody", []Scenario{{Name: "a"}}, `scenario "a" has no acts`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if err := check(tt.scenarios); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// What a person cannot do is said, and not waited for without end.
func TestActsThatCannotBeDone(t *testing.T) {
	tests := []struct {
		name     string
		scenario Scenario
		want     string
	}{
		{"nothing waits", Scenario{Person: []Act{Say("hello"), Approve()}}, "act 2 of the person: no call waits for a decision"},
		{"no such agent", Scenario{Agent: "b", Person: []Act{Say("hello")}}, `act 1 of the person: agent "b" not found, known are: seller`},
		{"no such tool", Scenario{Person: []Act{Say("hello"), Cancel().While("fly")}}, `no call of the tool "fly" has started within 30m0s`},
	}
	made, err := newCast(func() World { return World{Parts: sample{}.parts} })
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff([]string{tt.want}, newWorld(tt.scenario, made).play(t).problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}
