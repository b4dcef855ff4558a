package registry_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/secret"
	"github.com/reveille-run/reveille/core/tool"
)

func TestContentIsTheDataOfAnAgentWithoutKeys(t *testing.T) {
	r := built(t, vendors(nil))
	a, _ := r.Resolve("a")
	b, _ := r.Resolve("b")
	tests := []struct {
		name      string
		agent     *registry.Resolved
		want      string
		wantsHash string
	}{
		{"a model", a, `{"spec":{"id":"a","model":"fast","retry":{"patience_ms":900000}},` +
			`"models":[{"id":"fast","provider":"east","upstream_model":"fast-1","context_window":1000,"max_output_tokens":100}],` +
			`"providers":[{"id":"east","adapter":"vendor","options":{"region":"x"}}]}`, "3d493d026ac7caea223ad6a0f3baa022"},
		{"a pool", b, `{"spec":{"id":"b","model":"both","retry":{"patience_ms":900000}},` +
			`"pool":{"id":"both","members":[{"model":"fast","weight":3},{"model":"slow"},{"model":"small"},{"model":"spare","role":"failover_only"}]},` +
			`"models":[{"id":"fast","provider":"east","upstream_model":"fast-1","context_window":1000,"max_output_tokens":100},` +
			`{"id":"slow","provider":"east","upstream_model":"slow-1"},{"id":"spare","provider":"west","upstream_model":"spare-1"}],` +
			`"providers":[{"id":"east","adapter":"vendor","options":{"region":"x"}},{"id":"west","adapter":"vendor"}]}`, ""},
		{"a model in code", resolve(t, parts(agent.Spec{ID: "a", Model: "small"}), "a"), `{"spec":{"id":"a","model":"small","retry":{"patience_ms":900000}}}`, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, string(test.agent.Content())); diff != "" {
				t.Error(diff)
			}
			if test.wantsHash != "" && test.agent.Hash() != test.wantsHash {
				t.Errorf("hash %q is another one: stored runs are pinned to the earlier", test.agent.Hash())
			}
		})
	}
}

func TestHashFollowsTheDataAndNotTheCode(t *testing.T) {
	hash := func(change func(*agent.Parts)) string {
		p := vendors(nil)
		change(&p)
		return resolve(t, p, "b").Hash()
	}
	before := hash(func(*agent.Parts) {})
	same := map[string]func(*agent.Parts){
		"another key":              func(p *agent.Parts) { p.Providers[0].APIKey = secret.New("sk-2") },
		"another source of a key":  func(p *agent.Parts) { p.Providers[0].APIKeyEnv = "KEY" },
		"another tool":             func(p *agent.Parts) { p.Tools = append(p.Tools, named{Name: "new"}) },
		"a tool's description":     func(p *agent.Parts) { p.Tools[1] = named{Name: "read", Description: "Reads."} },
		"another agent":            func(p *agent.Parts) { p.Specs[0].SystemPrompt = "Be brief." },
		"an unused provider":       func(p *agent.Parts) { p.Providers = p.Providers[:2] },
		"the order of the models":  func(p *agent.Parts) { p.ModelSpecs[0], p.ModelSpecs[1] = p.ModelSpecs[1], p.ModelSpecs[0] },
		"spaces in the options":    func(p *agent.Parts) { p.Providers[0].Options = json.RawMessage(`{"region":"x"}`) },
		"empty lists of the agent": func(p *agent.Parts) { p.Specs[1].Plugins, p.Specs[1].ExcludedTools = []string{}, []string{} },
	}
	for name, change := range same {
		if hash(change) != before {
			t.Errorf("%s changes the hash", name)
		}
	}
	other := map[string]func(*agent.Parts){
		"the prompt":         func(p *agent.Parts) { p.Specs[1].SystemPrompt = "Be brief." },
		"no tools":           func(p *agent.Parts) { p.Specs[1].AllowedTools = []string{} },
		"a weight":           func(p *agent.Parts) { p.Pools[0].Members[1].Weight = 2 },
		"a model's name":     func(p *agent.Parts) { p.ModelSpecs[1].UpstreamModel = "slow-2" },
		"a provider's place": func(p *agent.Parts) { p.Providers[1].BaseURL = "https://west.example" },
	}
	for name, change := range other {
		if hash(change) == before {
			t.Errorf("%s does not change the hash", name)
		}
	}
}

// An agent of yesterday with the tools, models in code and keys of today.
func TestStoredContentIsResolvedWithTheRunningCode(t *testing.T) {
	yesterday := vendors(nil)
	yesterday.Specs[0].SystemPrompt, yesterday.Specs[0].AllowedTools, yesterday.Specs[0].Delegates = "Be brief.", []string{"read", "drop"}, []string{"b"}
	stored := resolve(t, yesterday, "a")

	today := vendors(nil)
	today.Specs = today.Specs[:1]
	today.Specs[0] = agent.Spec{ID: "a", Model: "small"}
	today.ModelSpecs[0].UpstreamModel = "fast-2"
	today.Providers[0].APIKey = secret.New("sk-today")
	today.Tools = []tool.Tool{named{Name: "read", Description: "Reads."}, named{Name: "new"}}
	got, err := built(t, today).ResolveContent(stored.Content())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stored.Spec, got.Spec); diff != "" {
		t.Error(diff)
	}
	if got.Hash() != stored.Hash() || string(got.Content()) != string(stored.Content()) {
		t.Errorf("hash %s, want %s", got.Hash(), stored.Hash())
	}
	if got.ModelName != "fast-1" || got.Model.(*client).spec.APIKey.Reveal() != "sk-today" {
		t.Errorf("model %s of %+v", got.ModelName, got.Model)
	}
	if diff := cmp.Diff([]string{"read"}, toolNames(got)); diff != "" || got.ModelTools[0].Description != "Reads." {
		t.Errorf("tools %v %s", got.ModelTools, diff)
	}
}

// What a spec names and the program has not is told: another build may have it. What
// only patterns allow is not known.
func TestToolsThatAreGoneAreTold(t *testing.T) {
	tests := []struct {
		name   string
		spec   agent.Spec
		plugin []plugin.Plugin
		want   []string
	}{
		{"all are there", agent.Spec{AllowedTools: []string{"read"}, ToolChoice: model.ToolChoice{Mode: model.ToolNamed, Name: "read"}}, nil, nil},
		{"two of three, once each", agent.Spec{AllowedTools: []string{"wipe", "read", "drop"}, ToolChoice: model.ToolChoice{Mode: model.ToolNamed, Name: "wipe"}}, nil, []string{"drop", "wipe"}},
		{"the one to be called", agent.Spec{ToolChoice: model.ToolChoice{Mode: model.ToolNamed, Name: "drop"}}, nil, []string{"drop"}},
		{"by patterns", agent.Spec{AllowedToolPatterns: []string{"drop*"}}, nil, nil},
		{"a plugin's", agent.Spec{AllowedTools: []string{"drop"}, Plugins: []string{"dropper"}}, []plugin.Plugin{dropper{}}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.spec.ID, test.spec.Model = "a", "small"
			yesterday, today := parts(test.spec), parts(agent.Spec{ID: "a", Model: "small"})
			today.Tools = []tool.Tool{named{Name: "read"}}
			yesterday.Tools = []tool.Tool{named{Name: "read"}, named{Name: "wipe"}}
			if yesterday.Plugins, today.Plugins = append(yesterday.Plugins, test.plugin...), append(today.Plugins, test.plugin...); test.plugin == nil {
				yesterday.Tools = append(yesterday.Tools, named{Name: "drop"})
			} else {
				today.Specs[0].Plugins = []string{"dropper"}
			}
			stored := resolve(t, yesterday, "a")
			got, err := built(t, today).ResolveContent(stored.Content())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.Gone); diff != "" || stored.Gone != nil {
				t.Errorf("gone (-want +got):\n%s; where they are %v", diff, stored.Gone)
			}
		})
	}
}

// dropper is a plugin with a tool.
type dropper struct{}

func (dropper) ID() string { return "dropper" }
func (dropper) Register(r *plugin.Registrar) error {
	r.Tool(named{Name: "drop"})
	return nil
}

func TestAProviderThatIsTheSameKeepsItsClient(t *testing.T) {
	var opened []string
	r := built(t, vendors(&opened))
	a, _ := r.Resolve("a")
	again, err := r.ResolveContent(a.Content())
	if err != nil {
		t.Fatal(err)
	}
	if again == a || again.Model != a.Model {
		t.Error("want another agent with the same client")
	}
	moved, err := r.ResolveContent([]byte(strings.Replace(string(a.Content()), `"region":"x"`, `"region":"y"`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if moved.Model == a.Model || moved.Hash() == a.Hash() {
		t.Error("want another client for another provider")
	}
	if diff := cmp.Diff([]string{"east", "west", "east"}, opened); diff != "" {
		t.Error(diff)
	}
	pool, _ := r.Resolve("b")
	if got, err := r.ResolveContent(pool.Content()); err != nil || got.ModelOf(core.ThreadKey{}, core.ID{}).ID != pool.ModelOf(core.ThreadKey{}, core.ID{}).ID {
		t.Errorf("the pool's home has moved, %v", err)
	}
}

// What content says counts, whatever bears its ids today.
func TestStoredContentGoesBeforeWhatHasItsIdsToday(t *testing.T) {
	single, pool := resolve(t, vendors(nil), "a").Content(), resolve(t, vendors(nil), "b").Content()
	today := parts(agent.Spec{ID: "c", Model: "fast"})
	today.Models["both"] = agent.ModelBinding{Model: mute{}, Name: "in code"}
	today.Pools = []agent.ModelPoolSpec{{ID: "fast", Members: []agent.PoolMember{{Model: "small"}}}}
	today.Adapters = vendors(nil).Adapters
	r := built(t, today)
	if got, err := r.ResolveContent(single); err != nil || got.ModelName != "fast-1" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := r.ResolveContent(pool); err != nil || got.ModelOf(core.ThreadKey{}, core.ID{}).Name == "in code" {
		t.Errorf("%v, %v", got, err)
	}
	if c, _ := r.Resolve("c"); c.ModelName != "vendor-small-1" {
		t.Errorf("today's agent has the model %q", c.ModelName)
	}
}

// The ids of models and pools in stored content may be those of code today, and of
// the other kind.
func TestStoredContentGoesBeforeCodeOfItsIds(t *testing.T) {
	single, pool := resolve(t, vendors(nil), "a").Content(), resolve(t, vendors(nil), "b").Content()
	today := parts()
	for _, id := range []string{"fast", "slow", "spare"} {
		today.Models[id] = agent.ModelBinding{Model: mute{}, Name: "in code"}
	}
	today.Adapters = vendors(nil).Adapters
	today.Providers = []agent.ProviderSpec{{ID: "p", Adapter: "vendor"}}
	today.ModelSpecs = []agent.ModelSpec{{ID: "both", Provider: "p", UpstreamModel: "both-1"}}
	r := built(t, today)
	if got, err := r.ResolveContent(single); err != nil || got.ModelName != "fast-1" || got.Pooled() {
		t.Errorf("%+v, %v", got, err)
	}
	got, err := r.ResolveContent(pool)
	if err != nil || !got.Pooled() || got.ModelName != "fast-1" {
		t.Errorf("%+v, %v", got, err)
	}
}

// A run is pinned to the bytes that are stored, however they are spelled.
func TestTheHashOfStoredContentIsThatOfItsBytes(t *testing.T) {
	text := []byte(`{"spec": {"id":"a","model":"small"}}`)
	got, err := built(t, parts()).ResolveContent(text)
	if err != nil {
		t.Fatal(err)
	}
	text[0] = 'X'
	if got.Hash() != "d5738059d1b2a75cef924d9a06a47ed7" || string(got.Content()) != `{"spec": {"id":"a","model":"small"}}` {
		t.Errorf("hash %s of %s", got.Hash(), got.Content())
	}
}

func TestContentThatCannotBeResolved(t *testing.T) {
	bare := agent.Parts{Models: map[string]agent.ModelBinding{"small": {Model: mute{}}}, Tools: []tool.Tool{named{Name: "read"}}}
	tests := []struct {
		name, text, want string
		code             core.Code
	}{
		{"nothing", ``, `content of an agent: value is empty, want an object`, core.CodeCorrupt},
		{"no spec", `{}`, `content of an agent: agent id is empty`, core.CodeCorrupt},
		{"a spec out of range", `{"spec":{"id":"a","model":"small","max_rounds":-1}}`, `content of an agent: agent "a": max_rounds is -1, want 0 (no limit) or more`, core.CodeCorrupt},
		{"a pool out of range", `{"spec":{"id":"a","model":"p"},"pool":{"id":"p","members":[]}}`, `content of an agent: pool "p": members has none of role "member"`, core.CodeCorrupt},
		{"a model out of range", `{"spec":{"id":"a","model":"m"},"models":[{"id":"m","provider":"","upstream_model":""}]}`, `content of an agent: model "m": provider is empty`, core.CodeCorrupt},
		{"a provider out of range", `{"spec":{"id":"a","model":"m"},"providers":[{"id":"p","adapter":""}]}`, `content of an agent: provider "p": adapter is empty`, core.CodeCorrupt},
		{"a model without its provider", `{"spec":{"id":"a","model":"m"},"models":[{"id":"m","provider":"p","upstream_model":"u"}]}`, `resolving agent "a": model "m": provider "p" not found, known are: none`, core.CodeNotFound},
		{"a newer program's", `{"spec":{"id":"a","model":"small","later":1}}`, `content of an agent: unknown field "later" in spec, allowed are `, core.CodeSchema},
		{"no such plugin", `{"spec":{"id":"a","model":"small","plugins":["x"]}}`, `resolving agent "a": plugin "x" not found, known are: none`, core.CodeNotFound},
		{"no such model in code", `{"spec":{"id":"a","model":"large"}}`, `resolving agent "a": model "large" not found, known are: small`, core.CodeNotFound},
		{"no such adapter", `{"spec":{"id":"a","model":"m"},"models":[{"id":"m","provider":"p","upstream_model":"u"}],"providers":[{"id":"p","adapter":"v"}]}`,
			`resolving agent "a": model "m": provider "p": adapter "v" not found, known are: none`, core.CodeNotFound},
		{"an excluded tool that is gone", `{"spec":{"id":"a","model":"small","excluded_tools":["drop"]}}`, `resolving agent "a": tool "drop" not found, known are: read, read_result`, core.CodeNotFound},
		{"an allowed tool that is gone", `{"spec":{"id":"a","model":"small","allowed_tools":["drop"]}}`, `<nil>`, ""},
		{"patterns of tools that are gone, strictly", `{"spec":{"id":"a","model":"small","allowed_tool_patterns":["x*"],"strict":true}}`, `<nil>`, ""},
		{"a delegate that is gone", `{"spec":{"id":"a","model":"small","delegates":["b"]}}`, `<nil>`, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := built(t, bare).ResolveContent([]byte(test.text))
			got := fmt.Sprint(err)
			if strings.HasSuffix(test.want, " are ") { // a list of fields follows
				got = got[:min(len(test.want), len(got))]
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if core.CodeOf(err) != test.code {
				t.Errorf("code %q, want %q", core.CodeOf(err), test.code)
			}
		})
	}
}
