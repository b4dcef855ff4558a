package registry_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/tool"
)

func TestAnAgentWithTheToolsOfAFrontend(t *testing.T) {
	own := tool.NewClient[map[string]any](tool.Spec{Name: "ask", Description: "own"})
	zulu := tool.NewClient[map[string]any](tool.Spec{Name: "zulu"})
	agents, err := registry.New(agent.Parts{
		Models: map[string]agent.ModelBinding{"m": {Model: model.None{}}}, Tools: []tool.Tool{own, zulu}, Specs: []agent.Spec{{ID: "a", Model: "m"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := agents.Resolve("a")
	if err != nil {
		t.Fatal(err)
	}
	f := &core.Frontend{Tools: []core.FrontendTool{
		{Name: "ask", Description: "another's"}, {Name: "bell", Description: "Rings"}, {Name: "no name"}, {Name: "open", Parameters: json.RawMessage(`{"type":"object"}`)},
	}}
	with := resolved.WithFrontend(f)
	var got []string
	for _, d := range with.ModelTools {
		got = append(got, d.Name+" "+d.Description+" "+string(d.Parameters))
	}
	anything := `{"type":"object","properties":{}}`
	want := []string{"ask own " + anything, "zulu  " + anything, "bell Rings " + anything, `open  {"type":"object"}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if !with.Tools["bell"].Spec().Client || with.Tools["ask"].Spec().Description != "own" || len(with.Tools) != 4 {
		t.Errorf("%v", with.Tools)
	}
	if len(resolved.Tools) != 2 || len(resolved.ModelTools) != 2 {
		t.Errorf("the agent that all runs share has changed: %v", resolved.Tools)
	}
	if resolved.WithFrontend(nil) != resolved || resolved.WithFrontend(&core.Frontend{}) != resolved {
		t.Error("an agent was copied for nothing")
	}
	if err := resolved.CheckFrontend(f); core.CodeOf(err) != core.CodeInvalid || !strings.Contains(err.Error(), "frontend.tools[2]") {
		t.Errorf("%v", err)
	}
}
