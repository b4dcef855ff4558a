package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/internal/field"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
)

func TestFieldsThatAreWrongAreNamedForPrograms(t *testing.T) {
	_, strict := registry.New(parts(agent.Spec{ID: "a", Model: "small", Strict: true, AllowedToolPatterns: []string{"x*"}}))
	tests := []struct {
		name        string
		err         error
		kind, field string
	}{
		{"an id", agent.Spec{ID: "a b", Model: "m"}.Check(), "agent", "id"},
		{"a model's id", agent.ModelSpec{ID: "a b"}.Check(), "model", "id"},
		{"a stop policy", agent.Spec{ID: "a", Model: "m", Stop: []agent.StopSpec{{Type: "timeout", Seconds: 1}, {Type: "x"}}}.Check(), "agent", "stop[1]"},
		{"a pattern", agent.Spec{ID: "a", Model: "m", ExcludedToolPatterns: []string{"x", `\`}}.Check(), "agent", "excluded_tool_patterns[1]"},
		{"a section's name", agent.Spec{ID: "a", Model: "m", Sections: map[string]json.RawMessage{"a b": json.RawMessage("1")}}.Check(), "agent", "sections"},
		{"what has no effect, strictly", strict, "agent", "allowed_tool_patterns[0]"},
	}
	for _, test := range tests {
		var field *field.Error
		if !errors.As(test.err, &field) || field.Kind != test.kind || field.Field != test.field {
			t.Errorf("%s: %+v (%v), want the field %s of a %s", test.name, field, test.err, test.field, test.kind)
		}
	}
}

// teller notes which agent its gate sees.
type teller struct{ seen *plugin.Agent }

func (teller) ID() string { return "teller" }

func (p teller) Register(r *plugin.Registrar) error {
	r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
		p.seen.ID, p.seen.Description, p.seen.Model, p.seen.ModelName = c.Agent.ID, c.Agent.Description, c.Agent.Model, c.Agent.ModelName
		return plugin.Allow, nil
	})
	return nil
}

func TestPluginsSeeTheirAgent(t *testing.T) {
	var seen plugin.Agent
	p := parts(agent.Spec{
		ID: "a", Model: "small", Description: "Digs.", Plugins: []string{"teller"}, ToolChoice: model.ToolChoice{Mode: model.ToolNamed, Name: "read"},
	})
	p.Plugins = append(p.Plugins, teller{&seen})
	if _, err := resolve(t, p, "a").Engine.Gate(t.Context(), engine.Moment{Turn: &core.Message{}, Call: &core.ToolCall{}}); err != nil {
		t.Fatal(err)
	}
	if seen.ID != "a" || seen.Description != "Digs." || seen.Model != "small" || seen.ModelName != "vendor-small-1" {
		t.Errorf("it sees %+v", seen)
	}
}

func TestPluginsWithoutAgentsAreNoError(t *testing.T) {
	if _, err := registry.New(agent.Parts{Plugins: []plugin.Plugin{bringer{"search", "find"}}}); err != nil {
		t.Error(err)
	}
}

func TestWhereAnEntryThatIsNoToolBelongs(t *testing.T) {
	tests := []struct{ entry, want string }{
		{"rm", `resolving agent "a": tool "rm" not found, known are: drop, read, read_result, write`},
		{"read)", `resolving agent "a": tool "read)" not found, known are: drop, read, read_result, write`},
		{"(read)", `resolving agent "a": tool "(read)" not found, known are: drop, read, read_result, write`},
		{"read(x", `resolving agent "a": tool "read(x" not found, known are: drop, read, read_result, write`},
		{"read(*)", `resolving agent "a": tool "read(*)" not found, known are: drop, read, read_result, write; what depends on a call's arguments belongs into the section permission`},
		{"re*", `resolving agent "a": tool "re*" not found, known are: drop, read, read_result, write; patterns belong into excluded_tool_patterns`},
	}
	for _, test := range tests {
		_, err := registry.New(parts(agent.Spec{ID: "a", Model: "small", ExcludedTools: []string{test.entry}}))
		if err == nil || err.Error() != test.want || core.CodeOf(err) != core.CodeNotFound {
			t.Errorf("%s: %v (%s), want %s", test.entry, err, core.CodeOf(err), test.want)
		}
	}
}
