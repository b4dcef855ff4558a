package registry_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/tool"
)

// What has no effect in a spec and was probably meant to have one is a warning, and an
// error in a strict spec. What may leave a tool in reach that was meant to be out of
// it is an error in both.
func TestStrictSpecs(t *testing.T) {
	const (
		section = `agent "a": sections has "farewell", which no plugin of the agent reads; read are: greeting`
		pattern = `agent "a": excluded_tool_patterns[1] "wirte*" matches no tool`
		allowed = `agent "a": allowed_tool_patterns[1] "mcp:*" matches no tool`
		literal = `resolving agent "a": tool "wirte" not found, known are: drop, read, read_result, write`
	)
	tests := []struct {
		name     string
		change   func(s *agent.Spec)
		warnings []string // of a spec that is not strict
		err      string   // of one that is not strict
		strict   string   // the error of one that is
	}{
		{"nothing to say", func(s *agent.Spec) {
			s.Sections = map[string]json.RawMessage{"greeting": []byte(`{"times":2}`)}
			s.AllowedToolPatterns, s.ExcludedToolPatterns = []string{"*"}, []string{"d*"}
		}, nil, "<nil>", "<nil>"},
		{"a section that no plugin reads", func(s *agent.Spec) {
			s.Sections = map[string]json.RawMessage{"greeting": []byte(`{}`), "farewell": []byte(`{}`)}
		}, []string{section}, "<nil>", section},
		{"a pattern that excludes no tool", func(s *agent.Spec) { s.ExcludedToolPatterns = []string{"d*", "wirte*"} }, []string{pattern}, "<nil>", pattern},
		{"a pattern that allows no tool", func(s *agent.Spec) { s.AllowedToolPatterns = []string{"r*", "mcp:*"} }, []string{allowed}, "<nil>", allowed},
		{"both, of which the first is the error", func(s *agent.Spec) {
			s.ExcludedToolPatterns = []string{"d*", "wirte*"}
			s.Sections = map[string]json.RawMessage{"farewell": []byte(`{}`)}
		}, []string{pattern, section}, "<nil>", pattern},
		{"a name of no tool", func(s *agent.Spec) { s.ExcludedTools = []string{"wirte"} }, nil, literal, literal},
	}
	for _, test := range tests {
		for _, strict := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, strict %v", test.name, strict), func(t *testing.T) {
				spec := agent.Spec{ID: "a", Model: "m", Plugins: []string{"greeter"}, Strict: strict}
				test.change(&spec)
				r, err := registry.New(agent.Parts{
					Specs: []agent.Spec{spec}, Models: map[string]agent.ModelBinding{"m": {Model: mute{}}}, Plugins: []plugin.Plugin{greeter{}},
					Tools: []tool.Tool{named{Name: "drop"}, named{Name: "read"}, named{Name: "write"}},
				})
				want := test.err
				if strict {
					want = test.strict
				}
				if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
					t.Error(diff)
				}
				if err != nil {
					if code := core.CodeOf(err); code != core.CodeInvalid && code != core.CodeNotFound {
						t.Errorf("the error has code %q", code)
					}
					return
				}
				var warnings []string
				for _, w := range r.Warnings() {
					warnings = append(warnings, w.String())
				}
				if diff := cmp.Diff(test.warnings, warnings); diff != "" {
					t.Errorf("warnings (-want +got):\n%s", diff)
				}
			})
		}
	}
}
