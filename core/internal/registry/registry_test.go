package registry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// mute is a model that says nothing.
type mute struct{}

func (mute) Stream(context.Context, model.Request) iter.Seq2[model.Delta, error] {
	return func(func(model.Delta, error) bool) {}
}

// named is a tool that is only a spec.
type named tool.Spec

func (n named) Spec() tool.Spec                                     { return tool.Spec(n) }
func (n named) Check(json.RawMessage) error                         { return nil }
func (n named) Run(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, nil }

// bringer is a plugin that brings a tool and a state key.
type bringer struct{ id, tool string }

func (b bringer) ID() string { return b.id }

func (b bringer) Register(r *plugin.Registrar) error {
	r.Key(state.Key[int, int]{Name: b.id, Apply: func(_, u int) int { return u }})
	r.Tool(named{Name: b.tool})
	return nil
}

// parts has the plugins that the specs name.
func parts(specs ...agent.Spec) agent.Parts {
	p := agent.Parts{
		Specs:  specs,
		Models: map[string]agent.ModelBinding{"small": {Model: mute{}, Name: "vendor-small-1"}, "own": {Model: mute{}}},
		Tools:  []tool.Tool{named{Name: "write", Description: "Writes."}, named{Name: "read"}, named{Name: "drop"}},
	}
	for _, b := range []bringer{{"search", "find"}, {"clash", "read"}, {"quiet", "hush"}} {
		if slices.ContainsFunc(specs, func(s agent.Spec) bool { return slices.Contains(s.Plugins, b.id) }) {
			p.Plugins = append(p.Plugins, b)
		}
	}
	return p
}

func built(t *testing.T, p agent.Parts) *registry.Registry {
	t.Helper()
	r, err := registry.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func resolve(t *testing.T, p agent.Parts, id string) *registry.Resolved {
	t.Helper()
	got, err := built(t, p).Resolve(id)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func toolNames(r *registry.Resolved) (names []string) {
	for _, t := range r.ModelTools {
		names = append(names, t.Name)
	}
	return names
}

func TestResolveFindsEverythingThatTheSpecNames(t *testing.T) {
	got := resolve(t, parts(agent.Spec{ID: "a", Model: "small", Plugins: []string{"search"}}), "a")
	if got.ModelName != "vendor-small-1" || got.Model != (mute{}) {
		t.Errorf("model %q, %v", got.ModelName, got.Model)
	}
	if !got.Engine.Registry().Has("search") {
		t.Error("the plugin's key is missing")
	}
	want := []model.ToolDefinition{
		{Name: "drop", Parameters: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)},
		{Name: "find", Parameters: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)},
		{Name: "read", Parameters: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)},
		{Name: "write", Description: "Writes.", Parameters: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)},
	}
	if diff := cmp.Diff(want, got.ModelTools); diff != "" {
		t.Error(diff)
	}
	if got.Tools["find"] == nil || len(got.Tools) != 4 {
		t.Errorf("tools %v", got.Tools)
	}
	if name := resolve(t, parts(agent.Spec{ID: "a", Model: "own"}), "a").ModelName; name != "own" {
		t.Errorf("a binding without a name is called %q, want own", name)
	}
}

func TestSpecsChooseTheirTools(t *testing.T) {
	tests := []struct {
		name string
		spec agent.Spec
		want []string
	}{
		{"all of the registry", agent.Spec{}, []string{"drop", "read", "write"}},
		{"and the plugins'", agent.Spec{Plugins: []string{"search"}}, []string{"drop", "find", "read", "write"}},
		{"allowed", agent.Spec{AllowedTools: []string{"write", "read"}}, []string{"read", "write"}},
		{"none", agent.Spec{AllowedTools: []string{}}, nil},
		{"excluded", agent.Spec{ExcludedTools: []string{"drop"}}, []string{"read", "write"}},
		{"excluded from the allowed", agent.Spec{AllowedTools: []string{"drop", "read"}, ExcludedTools: []string{"drop"}}, []string{"read"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.spec.ID, test.spec.Model = "a", "small"
			if diff := cmp.Diff(test.want, toolNames(resolve(t, parts(test.spec), "a"))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnInactivePluginBringsNoTools(t *testing.T) {
	p := parts(agent.Spec{ID: "a", Model: "small", Plugins: []string{"search", "quiet"}, ActiveHookFilter: []string{"quiet"}})
	if diff := cmp.Diff([]string{"drop", "hush", "read", "write"}, toolNames(resolve(t, p, "a"))); diff != "" {
		t.Error(diff)
	}
}

func TestResolveIsPure(t *testing.T) {
	spec := agent.Spec{ID: "a", Model: "small", AllowedTools: []string{"read"}, MaxRounds: new(3)}
	r := built(t, parts(spec, agent.Spec{ID: "b", Model: "small"}))
	spec.AllowedTools[0], *spec.MaxRounds = "drop", 9
	first, err := r.Resolve("a")
	if err != nil {
		t.Fatal(err)
	}
	second, _ := r.Resolve("a")
	if first != second {
		t.Error("two results for one id")
	}
	if diff := cmp.Diff(agent.Spec{ID: "a", Model: "small", AllowedTools: []string{"read"}, MaxRounds: new(3), Retry: agent.Retry{PatienceMS: new(900_000)}}, first.Spec); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a", "b"}, r.IDs()); diff != "" {
		t.Error(diff)
	}
	if !r.Has("b") || r.Has("c") {
		t.Error("Has is wrong")
	}
}

func TestResolveOfAnUnknownAgentListsTheKnownOnes(t *testing.T) {
	_, err := built(t, parts(agent.Spec{ID: "b", Model: "small"}, agent.Spec{ID: "a", Model: "small"})).Resolve("x")
	if diff := cmp.Diff(`agent "x" not found, known are: a, b`, fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
	if core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("code %q, want not_found", core.CodeOf(err))
	}
	_, err = built(t, agent.Parts{}).Resolve("x")
	if diff := cmp.Diff(`agent "x" not found, known are: none`, fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
}

func TestDefaultIsTheAgentOfRequestsThatNameNone(t *testing.T) {
	one, two := agent.Spec{ID: "a", Model: "small"}, agent.Spec{ID: "b", Model: "small"}
	for _, test := range []struct {
		name   string
		specs  []agent.Spec
		preset string
		want   string
	}{
		{"no agent", nil, "", ""},
		{"the only agent", []agent.Spec{two}, "", "b"},
		{"the only agent, named", []agent.Spec{two}, "b", "b"},
		{"one of several", []agent.Spec{one, two}, "b", "b"},
		{"none of several", []agent.Spec{one, two}, "", ""},
	} {
		p := parts(test.specs...)
		p.Default = test.preset
		if got := built(t, p).Default(); got != test.want {
			t.Errorf("%s: default agent %q, want %q", test.name, got, test.want)
		}
	}
}

func TestNewRegistryFindsBrokenParts(t *testing.T) {
	good := agent.Spec{ID: "a", Model: "small"}
	with := func(change func(*agent.Spec)) agent.Parts {
		spec := good
		change(&spec)
		return parts(spec)
	}
	also := func(change func(*agent.Parts)) agent.Parts {
		p := parts(good)
		change(&p)
		return p
	}
	tests := []struct {
		name  string
		parts agent.Parts
		want  string
	}{
		{"an invalid spec", with(func(s *agent.Spec) { s.MaxTokens = -1 }), `agent "a": max_tokens is -1, want 0 (the provider's default) or more`},
		{"an id twice", parts(good, good), `agent "a" is given twice`},
		{"no such model", with(func(s *agent.Spec) { s.Model = "big" }), `resolving agent "a": model "big" not found, known are: own, small`},
		{"no such plugin", with(func(s *agent.Spec) { s.Plugins = []string{"search", "x"} }), `resolving agent "a": plugin "x" not found, known are: search`},
		{"no such allowed tool", with(func(s *agent.Spec) { s.AllowedTools = []string{"x"} }), `resolving agent "a": tool "x" not found, known are: drop, read, read_result, write`},
		{"no such excluded tool", with(func(s *agent.Spec) { s.ExcludedTools = []string{"Drop"} }), `resolving agent "a": tool "Drop" not found, known are: drop, read, read_result, write`},
		{"a choice of a tool that is excluded", with(func(s *agent.Spec) {
			s.ToolChoice, s.ExcludedTools = model.ToolChoice{Mode: model.ToolNamed, Name: "drop"}, []string{"drop"}
		}), `resolving agent "a": tool_choice: tool "drop" not found, known are: read, write`},
		{"a plugin's tool in the way", with(func(s *agent.Spec) { s.Plugins = []string{"clash"} }), `resolving agent "a": tool "read" of a plugin has the name of a tool of the registry`},
		{"a filter without plugin", with(func(s *agent.Spec) { s.ActiveHookFilter = []string{"search"} }), `resolving agent "a": active hook filter names plugin "search", which the agent does not have`},
		{"a tool twice", also(func(p *agent.Parts) { p.Tools = append(p.Tools, named{Name: "read"}) }), `tool "read" is given twice`},
		{"a nil tool", also(func(p *agent.Parts) { p.Tools = []tool.Tool{nil} }), `Parts.Tools[0]: tool is nil`},
		{"a tool without a name", also(func(p *agent.Parts) { p.Tools = []tool.Tool{named{}} }), `Parts.Tools[0]: tool name is empty`},
		{"a plugin twice", also(func(p *agent.Parts) { p.Plugins = append(p.Plugins, bringer{"search", "x"}, bringer{"search", "y"}) }), `plugin "search" is given twice`},
		{"a nil plugin", also(func(p *agent.Parts) { p.Plugins = []plugin.Plugin{nil} }), `Parts.Plugins[0]: plugin is nil`},
		{"a plugin that is a nil pointer", also(func(p *agent.Parts) { p.Plugins = []plugin.Plugin{(*pointer)(nil)} }), `Parts.Plugins[0]: id of a plugin of type *registry_test.pointer: panic: runtime error: invalid memory address or nil pointer dereference`},
		{"a plugin that no agent names", also(func(p *agent.Parts) { p.Plugins = append(p.Plugins, bringer{"search", "x"}) }), `plugin "search" is named by no agent`},
		{"no such delegate", with(func(s *agent.Spec) { s.Delegates = []string{"a", "x"} }), `resolving agent "a": delegate agent "x" not found, known are: a`},
		{"a pattern for a name", with(func(s *agent.Spec) { s.ExcludedTools = []string{"d*"} }), `resolving agent "a": tool "d*" not found, known are: drop, read, read_result, write; patterns belong into excluded_tool_patterns`},
		{"a permission rule for a name", with(func(s *agent.Spec) { s.AllowedTools = []string{"read(a*)"} }), `resolving agent "a": tool "read(a*)" not found, known are: drop, read, read_result, write; what depends on a call's arguments belongs into the section permission`},
		{"a pattern that is none", with(func(s *agent.Spec) { s.AllowedToolPatterns = []string{"r*", "x\\"} }), `agent "a": allowed_tool_patterns[1]: pattern "x\\" ends in a single backslash, write \\ for one`},
		{"an empty pattern", with(func(s *agent.Spec) { s.ExcludedToolPatterns = []string{""} }), `agent "a": excluded_tool_patterns[0]: pattern is empty`},
		{"no such default agent", also(func(p *agent.Parts) { p.Default = "b" }), `default agent "b" not found, known are: a`},
		{"a binding without a model", also(func(p *agent.Parts) { p.Models = map[string]agent.ModelBinding{"small": {}} }), `model "small" has no id or no Model`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := registry.New(test.parts)
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// pointer is a plugin that cannot be asked when it is nil.
type pointer struct{ id string }

func (p *pointer) ID() string                     { return p.id }
func (*pointer) Register(*plugin.Registrar) error { return nil }
