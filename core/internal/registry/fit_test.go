package registry_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/model"
)

// narrow is a model whose provider has no form for a tool with a long name and for
// options; it keeps what it was asked.
type narrow struct {
	mute
	asked *[]model.Request
}

func (n narrow) Check(r model.Request) error {
	*n.asked = append(*n.asked, r)
	for _, t := range r.Tools {
		if len(t.Name) > 4 {
			return core.Errorf(core.CodeInvalid, "narrow: the name of tool %q has more than 4 characters", t.Name)
		}
	}
	if len(r.ProviderOptions) > 0 {
		return core.Errorf(core.CodeInvalid, "narrow: the option %s is the adapter's own", r.ProviderOptions)
	}
	return nil
}

// fitted is a registry of one agent, which has the tools drop, read and write.
func fitted(spec agent.Spec) (*registry.Registry, []model.Request, error) {
	var asked []model.Request
	p := parts(spec)
	p.Models["narrow"] = agent.ModelBinding{Model: narrow{asked: &asked}, Name: "narrow-1", Provider: "p"}
	p.Pools = []agent.ModelPoolSpec{{ID: "both", Members: []agent.PoolMember{{Model: "small"}, {Model: "narrow"}}}}
	r, err := registry.New(p)
	return r, asked, err
}

func TestWhatAProviderCannotExpressFailsWhenAgentsAreResolved(t *testing.T) {
	short := []string{"drop", "read"}
	own := map[string]json.RawMessage{"p": json.RawMessage(`{"n":1}`)}
	const long = `resolving agent "a": model "narrow": narrow: the name of tool "write" has more than 4 characters`
	tests := []struct {
		name string
		spec agent.Spec
		want string
	}{
		{"everything has a form", agent.Spec{Model: "narrow", AllowedTools: short}, "<nil>"},
		{"a tool's name", agent.Spec{Model: "narrow"}, long},
		{"a tool's name, for a member of a pool", agent.Spec{Model: "both"}, long},
		{"an option", agent.Spec{Model: "narrow", AllowedTools: short, ProviderOptions: own}, `resolving agent "a": model "narrow": narrow: the option {"n":1} is the adapter's own`},
		{"another model's matter", agent.Spec{Model: "small"}, "<nil>"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.spec.ID = "a"
			_, _, err := fitted(test.spec)
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
			if err != nil && core.CodeOf(err) != core.CodeInvalid {
				t.Errorf("the error has code %q", core.CodeOf(err))
			}
		})
	}
}

func TestAModelIsAskedForWhatTheAgentAsksFor(t *testing.T) {
	format := &model.ResponseFormat{Name: "f", Schema: json.RawMessage(`{"type":"object"}`)}
	_, asked, err := fitted(agent.Spec{
		ID: "a", Model: "narrow", SystemPrompt: "Be brief.", AllowedTools: []string{"read"}, MaxTokens: 5, Temperature: new(0.5), TopP: new(0.25),
		StopSequences: []string{"END"}, ReasoningEffort: model.EffortLow, ResponseFormat: format, ToolChoice: model.ToolChoice{Mode: model.ToolRequired},
		ProviderOptions: map[string]json.RawMessage{"q": json.RawMessage(`{"n":1}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	once := model.Request{
		Model: "narrow-1", Origin: "p/narrow-1", System: "Be brief.", MaxTokens: 5, Temperature: new(0.5), TopP: new(0.25),
		Tools:         []model.ToolDefinition{{Name: "read", Parameters: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)}},
		StopSequences: []string{"END"}, ReasoningEffort: model.EffortLow, ResponseFormat: format, ToolChoice: model.ToolChoice{Mode: model.ToolRequired},
	}
	want := []model.Request{once, once} // whether it has a form for the format, and for all of it
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
}

// A run that began goes on, whatever its model has learnt to refuse since.
func TestAStoredAgentIsOnlyWarnedOfWhatItsModelCannotExpress(t *testing.T) {
	r, asked, err := fitted(agent.Spec{ID: "a", Model: "small"})
	if err != nil || len(asked) > 0 {
		t.Fatal(err, asked)
	}
	if _, err := r.ResolveContent([]byte(`{"spec":{"id":"b","model":"narrow"}}`)); err != nil {
		t.Error(err)
	}
}

func TestOptionsOfAProviderThatTheAgentHasNotAreAWarning(t *testing.T) {
	const warning = `agent "a": provider_options has "q", the provider of no model of the agent; theirs are: p`
	spec := agent.Spec{ID: "a", Model: "both", AllowedTools: []string{"read"}, ProviderOptions: map[string]json.RawMessage{"q": json.RawMessage(`{}`)}}
	r, _, err := fitted(spec)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(r.Warnings()); got != "["+warning+"]" {
		t.Errorf("warnings %s", got)
	}
	spec.Strict = true
	if _, _, err := fitted(spec); fmt.Sprint(err) != warning {
		t.Errorf("strict: %v", err)
	}
}
