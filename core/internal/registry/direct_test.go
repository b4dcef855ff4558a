package registry_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/tool"
)

// exposing are agents with the tools read and page, which the client runs.
func exposing(t *testing.T, specs ...agent.Spec) agent.Parts {
	t.Helper()
	type arguments struct {
		X int `json:"x"`
	}
	read := tool.New(tool.Spec{Name: "read", Description: "Reads."},
		func(context.Context, tool.Call, arguments) (tool.Result, error) { return tool.Result{}, nil })
	page := tool.NewClient[map[string]any](tool.Spec{Name: "page", Parameters: json.RawMessage(`{"type":"object"}`)})
	return agent.Parts{Models: map[string]agent.ModelBinding{"m": {Model: model.None{}}}, Tools: []tool.Tool{read, page}, Specs: specs}
}

func TestExposedListsAgentsAndTheirTools(t *testing.T) {
	r, err := registry.New(exposing(t,
		agent.Spec{ID: "talker", Description: "Talks.", SystemPrompt: "secret", Model: "m", ExposedTools: []string{"read"}},
		agent.Spec{ID: "helper", Description: "Helps.", Model: "m", Hidden: true},
		agent.Spec{ID: "asker", Model: "m"},
	))
	if err != nil {
		t.Fatal(err)
	}
	want := []agent.Exposed{
		{Name: "asker", Agent: "asker"},
		{Name: "read", Description: "Reads.", Agent: "tool:read", Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false}`)},
		{Name: "talker", Description: "Talks.", Agent: "talker"},
	}
	if diff := cmp.Diff(want, r.Exposed()); diff != "" {
		t.Errorf("exposed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"asker", "helper", "talker"}, r.IDs()); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
	direct, err := r.Resolve("tool:read")
	if err != nil {
		t.Fatal(err)
	}
	if len(direct.Tools) != 1 || direct.Tools["read"] == nil || direct.Spec.SystemPrompt != "" {
		t.Errorf("the agent of a tool: %+v", direct.Spec)
	}
	then, err := r.ResolveContent(direct.Content())
	if err != nil || then.Hash() != direct.Hash() {
		t.Errorf("resolved again: %v, hash %s, want %s", err, then.Hash(), direct.Hash())
	}
}

func TestWhatCannotBeExposedIsAnErrorAtStart(t *testing.T) {
	spec := func(id string, tools ...string) agent.Spec {
		return agent.Spec{ID: id, Model: "m", ExposedTools: tools}
	}
	tests := []struct {
		name  string
		specs []agent.Spec
		want  string
	}{
		{"no such tool", []agent.Spec{spec("a", "write")}, `resolving agent "a": exposed_tools: tool "write" not found, known are: page, read`},
		{"a tool out of reach", []agent.Spec{{ID: "a", Model: "m", ExcludedTools: []string{"read"}, ExposedTools: []string{"read"}}},
			`resolving agent "a": exposed_tools: tool "read" not found, known are: page`},
		{"a client's tool", []agent.Spec{spec("a", "page")}, `resolving agent "a": exposed_tools: tool "page" is run by the client`},
		{"by two agents", []agent.Spec{spec("a", "read"), spec("b", "read")}, `resolving agent "b": exposed_tools: "read" is exposed by agent "a" already`},
		{"the name of an agent", []agent.Spec{spec("a", "read"), spec("read")}, `resolving agent "a": exposed_tools: tool "read" has the name of an agent`},
		{"the id of an agent", []agent.Spec{spec("a", "read"), spec("tool:read")}, `resolving agent "a": exposed_tools: tool "read" needs the id "tool:read", which an agent has`},
		{"twice", []agent.Spec{spec("a", "read", "read")}, `agent "a": exposed_tools names "read" twice`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := registry.New(exposing(t, test.specs...)); err == nil || err.Error() != test.want {
				t.Errorf("%v\nwant %s", err, test.want)
			}
		})
	}
	parts := exposing(t, spec("a", "read"))
	parts.Models["tool:read"] = agent.ModelBinding{Model: model.None{}}
	const want = `resolving agent "a": exposed_tools: tool "read" needs the id "tool:read", which a model has`
	if _, err := registry.New(parts); err == nil || err.Error() != want {
		t.Errorf("the id of a model: %v\nwant %s", err, want)
	}
	delete(parts.Models, "tool:read")
	if _, err := registry.New(parts); err != nil || len(parts.Models) != 1 {
		t.Errorf("%v; the registry has changed the parts' models: %d", err, len(parts.Models))
	}
}

func TestAToolByItselfIsCalledOnceWithTheInput(t *testing.T) {
	r, err := registry.New(exposing(t, agent.Spec{ID: "a", Model: "m", ExposedTools: []string{"read"}}))
	if err != nil {
		t.Fatal(err)
	}
	direct, err := r.Resolve("tool:read")
	if err != nil {
		t.Fatal(err)
	}
	note := core.Message{Role: core.RoleSystem, Content: []core.Block{{Type: core.BlockText, Text: "a plugin's"}}}
	call := core.Message{Role: core.RoleAssistant, ToolCalls: []core.ToolCall{{ID: "direct", Name: "read", Arguments: []byte(`{"x":1}`)}}}
	result := core.Message{Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: "direct", Name: "read", Data: []byte(`{"y":2}`)}}
	tests := []struct {
		name     string
		messages []core.Message
		want     []model.Delta
	}{
		{"input", []core.Message{core.UserMessage(`{"x":1}`), note}, []model.Delta{
			{Type: model.DeltaToolStart, CallID: "direct", Name: "read"},
			{Type: model.DeltaToolArgument, Text: `{"x":1}`},
			{Type: model.DeltaStop, Stop: core.StopToolUse},
		}},
		{"result", []core.Message{core.UserMessage(`{"x":1}`), call, result, note}, []model.Delta{
			{Type: model.DeltaText, Text: `{"y":2}`},
			{Type: model.DeltaStop, Stop: core.StopEndTurn},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []model.Delta
			for delta, err := range direct.Model.Stream(t.Context(), model.Request{Model: direct.ModelName, Messages: test.messages}) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, delta)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("turn (-want +got):\n%s", diff)
			}
		})
	}
	for range direct.Model.Stream(t.Context(), model.Request{Model: "read", Messages: slices.Clone(tests[0].messages)}) {
		break // a reader may leave at any time
	}
}
