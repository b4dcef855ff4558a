package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/plugin"
)

type greeting struct {
	Text  string `json:"text"`
	Times int    `json:"times"`
}

func (g greeting) Check() error {
	if g.Times < 0 {
		return errors.New("times is negative")
	}
	return nil
}

// greeter blocks every call with its greeting: what a gate says shows which settings
// an agent's plugin has.
type greeter struct{}

var greetings = plugin.Section[greeting]{Name: "greeting", Default: greeting{Text: "hello", Times: 1}}

func (greeter) ID() string { return "greeter" }

func (greeter) Register(r *plugin.Registrar) error {
	g, err := greetings.Read(r)
	if err != nil {
		return err
	}
	r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
		return plugin.Block(fmt.Sprintf("%s x%d of %s, %v", g.Text, g.Times, c.Agent.ID, greetings.Of(c.Context) == g)), nil
	})
	return nil
}

func sectioned(specs ...agent.Spec) (*registry.Registry, error) {
	for i := range specs {
		specs[i].Model, specs[i].Plugins = "m", []string{"greeter"}
	}
	return registry.New(agent.Parts{
		Specs: specs, Models: map[string]agent.ModelBinding{"m": {Model: mute{}}}, Plugins: []plugin.Plugin{greeter{}},
	})
}

func TestOnePluginHasOtherSettingsForEachAgent(t *testing.T) {
	agents, err := sectioned(
		agent.Spec{ID: "plain"},
		agent.Spec{ID: "warm", Sections: map[string]json.RawMessage{"greeting": []byte(`{"text":"dear"}`)}},
		agent.Spec{ID: "eager", Sections: map[string]json.RawMessage{"greeting": []byte(`{"times":3}`)}},
	)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"plain": "hello x1 of plain, true", "warm": "dear x1 of warm, true", "eager": "hello x3 of eager, true"} {
		r, err := agents.Resolve(id)
		if err != nil {
			t.Fatal(err)
		}
		v, err := r.Engine.Gate(t.Context(), engine.Moment{Turn: &core.Message{}, Call: &core.ToolCall{}})
		if err != nil || v.Reason != want {
			t.Errorf("%s: %q, %v; want %q", id, v.Reason, err, want)
		}
	}
	if w := agents.Warnings(); len(w) != 0 {
		t.Errorf("warnings: %v", w)
	}
}

func TestSectionsThatAreWrong(t *testing.T) {
	tests := []struct {
		name    string
		strict  bool
		section string
		text    string
		want    string // of the error
		warning string
	}{
		{"an unknown member", false, "greeting", `{"txt":"x"}`, `resolving agent "a": registering plugin "greeter": section "greeting": unknown field "txt", did you mean "text"?`, ""},
		{"a member of another type", false, "greeting", `{"times":"x"}`, `resolving agent "a": registering plugin "greeter": section "greeting": times is "x", want a whole number`, ""},
		{"one that nobody reads", false, "farewell", `{}`, "<nil>", `agent "a": sections has "farewell", which no plugin of the agent reads; read are: greeting`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			agents, err := sectioned(agent.Spec{ID: "a", Strict: tt.strict, Sections: map[string]json.RawMessage{tt.section: []byte(tt.text)}})
			if diff := cmp.Diff(tt.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
			if err != nil {
				return
			}
			if w := agents.Warnings(); len(w) != 1 || w[0].String() != tt.warning {
				t.Errorf("warnings %v, want %s", w, tt.warning)
			}
		})
	}
}

func TestASettingOfGoIsItsSection(t *testing.T) {
	agents, err := sectioned(agent.Spec{ID: "a", Strict: true, Sections: plugin.Sections(greetings.Setting(greeting{Text: "dear", Times: 2}))})
	if err != nil {
		t.Fatal(err)
	}
	r, err := agents.Resolve("a")
	if err != nil {
		t.Fatal(err)
	}
	if got := string(r.Spec.Sections["greeting"]); got != `{"text":"dear","times":2}` {
		t.Errorf("section %s", got)
	}
	for want, settings := range map[string][]plugin.Setting{
		`agent "a": sections.greeting cannot be set: times is negative`:      {greetings.Setting(greeting{Times: -1})},
		`agent "a": sections.greeting cannot be set: section is given twice`: {greetings.Setting(greeting{}), greetings.Setting(greeting{})},
		`agent "a": sections: section name is empty`:                         {plugin.Section[greeting]{}.Setting(greeting{})},
	} {
		_, err := sectioned(agent.Spec{ID: "a", Sections: plugin.Sections(settings...)})
		if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestDelegatesThatNoPluginRunsSaySo(t *testing.T) {
	agents, err := sectioned(
		agent.Spec{ID: "a", Context: &agent.ContextWindowPolicy{}, Delegates: []string{"b"}},
		agent.Spec{ID: "b"},
	)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range agents.Warnings() {
		got = append(got, w.String())
	}
	want := []string{
		`agent "a": delegates has no effect: no active plugin runs delegates, register the plugin "delegate"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
