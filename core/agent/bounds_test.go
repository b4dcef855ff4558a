package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
)

// The last value that is allowed is allowed: what is refused has a test elsewhere.
func TestSpecsAtTheirBoundsAreTaken(t *testing.T) {
	for _, fields := range []string{
		`"retry":{"max_retries":0,"backoff_base_ms":0,"overloaded_backoff_base_ms":0,"stream_idle_timeout_ms":1000}`,
		`"retry":{"max_retries":20,"backoff_base_ms":60000,"overloaded_backoff_base_ms":60000,"stream_idle_timeout_ms":600000}`,
		`"max_continuations":0`, `"max_continuations":20`, `"max_repairs":0`, `"max_repairs":10`, `"max_tokens":0`, `"max_rounds":0`,
		`"stop_sequences":["1","2","3","4","5","6","7","8","9","10","11","12","13","14","15","16"]`,
		`"stop_sequences":["` + strings.Repeat("x", 256) + `"]`,
		`"execution_mode":"sequential"`, `"execution_mode":"parallel_batch_approval"`, `"execution_mode":"parallel_streaming"`, `"events":"live"`, `"events":"commits"`,
		`"context":{"max_context_tokens":16384}`, `"context":{"autocompact_threshold":183616}`,
	} {
		if _, err := agent.DecodeSpec([]byte(`{"id":"a","model":"m",` + fields + `}`)); err != nil {
			t.Errorf("%s: %v", fields, err)
		}
	}
	_, err := agent.DecodeSpec([]byte(`{"id":"a","model":"m","stop_sequences":["` + strings.Repeat("x", 257) + `"]}`))
	if want := `agent "a": stop_sequences[0] has 257 bytes, allowed are 1 to 256`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestBoundsOfModelsPoolsAndProviders(t *testing.T) {
	member := func(weight int, role agent.MemberRole) agent.ModelPoolSpec {
		return agent.ModelPoolSpec{ID: "p", Members: []agent.PoolMember{{Model: "m", Weight: weight, Role: role}}}
	}
	window := func(window, output int) agent.ModelSpec {
		return agent.ModelSpec{ID: "m", Provider: "p", UpstreamModel: "u", ContextWindow: window, MaxOutputTokens: output}
	}
	provider := func(change func(*agent.ProviderSpec)) agent.ProviderSpec {
		p := agent.ProviderSpec{ID: "p", Adapter: "a"}
		change(&p)
		return p
	}
	at := func(address string) agent.ProviderSpec {
		return provider(func(p *agent.ProviderSpec) { p.BaseURL = address })
	}
	tests := []struct {
		name string
		spec interface{ Check() error }
		ok   bool
	}{
		{"a weight of 0", member(0, agent.RoleMember), true},
		{"a weight of 1000", member(1000, ""), true},
		{"a weight of -1", member(-1, ""), false},
		{"routing and scope by name", agent.ModelPoolSpec{ID: "p", Members: member(1, "").Members, Routing: agent.RouteDeterministic, StickyScope: agent.StickyThread}, true},
		{"a window that is not known", window(0, 5), true},
		{"a window of one turn", window(5, 5), true},
		{"a turn larger than its window", window(1, 2), false},
		{"a timeout of the adapter", provider(func(p *agent.ProviderSpec) { p.TimeoutMS = 0 }), true},
		{"a timeout of 15 minutes", provider(func(p *agent.ProviderSpec) { p.TimeoutMS = 900_000 }), true},
		{"a timeout in the past", provider(func(p *agent.ProviderSpec) { p.TimeoutMS = -1 }), false},
		{"options that are not JSON", provider(func(p *agent.ProviderSpec) { p.Options = json.RawMessage(`{"a"`) }), false},
		{"http", at("http://10.0.0.1:8080/v1"), true},
		{"https", at("https://vendor.example/v1"), true},
		{"another scheme", at("ftp://vendor.example"), false},
		{"no host", at("https:///v1"), false},
		{"a query", at("https://vendor.example?a=b"), false},
		{"an empty query", at("https://vendor.example?"), false},
		{"a fragment", at("https://vendor.example#f"), false},
		{"no address", at("https://vendor.example/%zz"), false},
	}
	for _, test := range tests {
		if err := test.spec.Check(); (err == nil) != test.ok {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestFieldsThatAreWrongAreNamedForPrograms(t *testing.T) {
	_, strict := agent.NewRegistry(parts(agent.Spec{ID: "a", Model: "small", Strict: true, AllowedToolPatterns: []string{"x*"}}))
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
		var field *agent.FieldError
		if !errors.As(test.err, &field) || field.Kind != test.kind || field.Field != test.field {
			t.Errorf("%s: %+v (%v), want the field %s of a %s", test.name, field, test.err, test.field, test.kind)
		}
	}
}

// A spec's own copy is changed in every place: what was made of it stays.
func TestASpecSharesNothingWithWhatItWasMadeOf(t *testing.T) {
	base, err := agent.DecodeSpec([]byte(full))
	if err != nil {
		t.Fatal(err)
	}
	made, err := agent.Merge(base, agent.Patch{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []*int{
		base.MaxRounds, base.MaxContinuations, base.MaxRepairs, base.Retry.MaxRetries, base.Retry.BackoffBaseMS, base.Retry.OverloadedBackoffBaseMS,
		base.Retry.StreamIdleTimeoutMS, base.Context.MinRecentMessages, base.Context.CompactionRawSuffixMessages,
	} {
		*n = 77
	}
	*base.Temperature, *base.TopP, *base.Context.EnablePromptCache = 7, 7, true
	for _, names := range [][]string{
		base.StopSequences, base.Plugins, base.ActiveHookFilter, base.AllowedTools, base.AllowedToolPatterns, base.ExcludedTools, base.ExcludedToolPatterns, base.Delegates, base.ExposedTools,
	} {
		names[0] = "changed"
	}
	base.Stop[0].Seconds, base.Context.MaxContextTokens, base.ResponseFormat.Name = 77, 77, "changed"
	base.ResponseFormat.Schema[1], base.Sections["greeting"][1] = 'X', 'X'
	base.ProviderOptions["groq"][1] = 'X'
	base.Sections["more"] = json.RawMessage("1")
	text, err := made.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(full, string(text)); diff != "" {
		t.Error(diff)
	}
}

func TestEmptyListsOfASpecSayNothing(t *testing.T) {
	tests := []struct{ fields, want string }{
		{`"stop":[],"plugins":[],"sections":{}`, `{"id":"a","model":"m"}`},
		{`"allowed_tools":["x"],"allowed_tool_patterns":[]`, `{"id":"a","model":"m","allowed_tools":["x"]}`},
		{`"allowed_tools":[],"allowed_tool_patterns":["x"]`, `{"id":"a","model":"m","allowed_tool_patterns":["x"]}`},
		{`"allowed_tool_patterns":[]`, `{"id":"a","model":"m","allowed_tools":[]}`},
	}
	for _, test := range tests {
		got, err := agent.DecodeSpec([]byte(`{"id":"a","model":"m",` + test.fields + `}`))
		if err != nil {
			t.Fatal(err)
		}
		want, err := agent.DecodeSpec([]byte(test.want))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", test.fields, diff)
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
	if _, err := agent.NewRegistry(agent.Parts{Plugins: []plugin.Plugin{bringer{"search", "find"}}}); err != nil {
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
		_, err := agent.NewRegistry(parts(agent.Spec{ID: "a", Model: "small", ExcludedTools: []string{test.entry}}))
		if err == nil || err.Error() != test.want || core.CodeOf(err) != core.CodeNotFound {
			t.Errorf("%s: %v (%s), want %s", test.entry, err, core.CodeOf(err), test.want)
		}
	}
}
