package agent_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/secret"
)

// client is a model of a provider.
type client struct {
	mute
	spec agent.ProviderSpec
}

// vendors has an agent with a model, one with a pool, and a provider each.
func vendors(opened *[]string) agent.Parts {
	p := parts(agent.Spec{ID: "a", Model: "fast"}, agent.Spec{ID: "b", Model: "both"})
	p.ModelSpecs = []agent.ModelSpec{
		{ID: "fast", Provider: "east", UpstreamModel: "fast-1", ContextWindow: 1000, MaxOutputTokens: 100},
		{ID: "slow", Provider: "east", UpstreamModel: "slow-1"},
		{ID: "spare", Provider: "west", UpstreamModel: "spare-1"},
	}
	p.Pools = []agent.ModelPoolSpec{{ID: "both", Members: []agent.PoolMember{
		{Model: "fast", Weight: 3}, {Model: "slow"}, {Model: "small"}, {Model: "spare", Role: agent.RoleFailoverOnly},
	}}}
	p.Providers = []agent.ProviderSpec{
		{ID: "east", Adapter: "vendor", APIKey: secret.New("sk-east"), Options: json.RawMessage(`{ "region": "x" }`)},
		{ID: "west", Adapter: "vendor"},
		{ID: "idle", Adapter: "vendor"},
	}
	p.Adapters = map[string]func(agent.ProviderSpec) (model.Model, error){
		"vendor": func(s agent.ProviderSpec) (model.Model, error) {
			if opened != nil {
				*opened = append(*opened, s.ID)
			}
			return &client{spec: s}, nil
		},
	}
	return p
}

func TestAnAgentsModelComesFromItsProvider(t *testing.T) {
	var opened []string
	r := registry(t, vendors(&opened))
	if diff := cmp.Diff([]string{"east", "west"}, opened); diff != "" {
		t.Errorf("providers opened, each once and the unused one never:\n%s", diff)
	}
	a, err := r.Resolve("a")
	if err != nil {
		t.Fatal(err)
	}
	got := a.ModelOf(core.ThreadKey{Tenant: "t", Thread: "x"}, core.ID{})
	c, ok := got.Model.(*client)
	if !ok || c.spec.APIKey.Reveal() != "sk-east" || string(c.spec.Options) != `{"region":"x"}` {
		t.Fatalf("model %+v", got.Model)
	}
	if diff := cmp.Diff(agent.BoundModel{ID: "fast", Name: "fast-1", Model: mute{}, Provider: "east", Facts: model.Facts{ContextWindow: 1000, MaxOutputTokens: 100}},
		agent.BoundModel{ID: got.ID, Name: got.Name, Model: mute{}, Provider: got.Provider, Facts: got.Facts}, cmpopts.IgnoreUnexported(agent.BoundModel{})); diff != "" {
		t.Error(diff)
	}
	if a.ModelName != "fast-1" || a.Model != got.Model {
		t.Errorf("the agent's model is %q, %v", a.ModelName, a.Model)
	}
	b, _ := r.Resolve("b")
	names := map[string]bool{}
	for i := range 200 {
		names[b.ModelOf(core.ThreadKey{Tenant: "t", Thread: fmt.Sprint(i)}, core.ID{}).Name] = true
	}
	if diff := cmp.Diff(map[string]bool{"fast-1": true, "slow-1": true, "vendor-small-1": true}, names); diff != "" {
		t.Errorf("homes of the pool, one bound in code and none for failover only:\n%s", diff)
	}
	code := resolve(t, parts(agent.Spec{ID: "a", Model: "own"}), "a").ModelOf(core.ThreadKey{}, core.ID{})
	if diff := cmp.Diff(agent.BoundModel{ID: "own", Name: "own", Model: mute{}}, *code, cmpopts.IgnoreUnexported(agent.BoundModel{})); diff != "" {
		t.Error(diff)
	}
}

func TestNewRegistryFindsBrokenModels(t *testing.T) {
	provider, fast := agent.ProviderSpec{ID: "p", Adapter: "vendor"}, agent.ModelSpec{ID: "m", Provider: "p", UpstreamModel: "u"}
	tests := []struct {
		name   string
		change func(*agent.Parts)
		want   string
	}{
		{"no such model", func(p *agent.Parts) { p.Specs[0].Model = "x" }, `resolving agent "a": model "x" not found, known are: both, fast, own, slow, small, spare`},
		{"no such provider", func(p *agent.Parts) { p.ModelSpecs[0].Provider = "x" }, `model "fast": provider "x" not found, known are: east, idle, west`},
		{"no such adapter", func(p *agent.Parts) { p.Providers[2].Adapter = "x" }, `provider "idle": adapter "x" not found, known are: vendor`},
		{"no such member", func(p *agent.Parts) { p.Pools[0].Members[1].Model = "x" }, `pool "both": model "x" not found, known are: fast, own, slow, small, spare`},
		{"a pool in a pool", func(p *agent.Parts) { p.Pools[0].Members[1].Model = "both" }, `pool "both": member "both" is a pool, want a model`},
		{"a model twice", func(p *agent.Parts) { p.ModelSpecs = append(p.ModelSpecs, fast, fast) }, `model "m" is given twice`},
		{"a model as code and data", func(p *agent.Parts) { p.ModelSpecs[1].ID = "small" }, `model "small" is given twice: as code and as a spec`},
		{"a pool twice", func(p *agent.Parts) { p.Pools = append(p.Pools, p.Pools[0]) }, `pool "both" is given twice`},
		{"a provider twice", func(p *agent.Parts) { p.Providers = append(p.Providers, provider, provider) }, `provider "p" is given twice`},
		{"a model and a pool", func(p *agent.Parts) { p.ModelSpecs[2].ID = "both" }, `"both" is ambiguous: model "both" and pool "both" have one id`},
		{"a model in code and a pool", func(p *agent.Parts) { p.Pools[0].ID = "own" }, `"own" is ambiguous: model "own" and pool "own" have one id`},
		{"an invalid model", func(p *agent.Parts) { p.ModelSpecs[0].UpstreamModel = "" }, `model "fast": upstream_model is empty`},
		{"an adapter that is nil", func(p *agent.Parts) { p.Adapters["other"] = nil }, `adapter "other" has no name or no function`},
		{"an adapter without a name", func(p *agent.Parts) { p.Adapters[""] = p.Adapters["vendor"] }, `adapter "" has no name or no function`},
		{"a key that is not set", func(p *agent.Parts) { p.Providers[1].APIKeyEnv = "WEST_KEY" }, `resolving agent "b": pool "both": model "spare": provider "west": api_key_env is "WEST_KEY", a variable that is not set`},
		{"an adapter that fails", func(p *agent.Parts) {
			p.Adapters["vendor"] = func(agent.ProviderSpec) (model.Model, error) { return nil, errors.New("no key") }
		}, `resolving agent "a": model "fast": provider "east": no key`},
		{"an adapter that returns nothing", func(p *agent.Parts) {
			p.Adapters["vendor"] = func(agent.ProviderSpec) (model.Model, error) { return nil, nil }
		}, `resolving agent "a": model "fast": provider "east": adapter "vendor" returned no model`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := vendors(nil)
			test.change(&p)
			_, err := agent.NewRegistry(p)
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestModelsPoolsAndProvidersAreDecodedStrictly(t *testing.T) {
	modelSpec := func(text string) (any, error) { return agent.DecodeModel([]byte(text)) }
	pool := func(text string) (any, error) { return agent.DecodePool([]byte(text)) }
	provider := func(text string) (any, error) { return agent.DecodeProvider([]byte(text)) }
	tests := []struct {
		name   string
		decode func(string) (any, error)
		text   string
		want   any // a value, or the error's text
	}{
		{"a model", modelSpec, `{"id":"m","provider":"p","upstream_model":"u","context_window":10,"max_output_tokens":10}`,
			agent.ModelSpec{ID: "m", Provider: "p", UpstreamModel: "u", ContextWindow: 10, MaxOutputTokens: 10}},
		{"a model's unknown field", modelSpec, `{"id":"m","provider":"p","upstream":"u"}`, `model spec: unknown field "upstream", allowed are id, provider, upstream_model, context_window, max_output_tokens`},
		{"a model without id", modelSpec, `{"provider":"p","upstream_model":"u"}`, `model id is empty`},
		{"a model without provider", modelSpec, `{"id":"m","upstream_model":"u"}`, `model "m": provider is empty`},
		{"a model with a negative window", modelSpec, `{"id":"m","provider":"p","upstream_model":"u","context_window":-1}`, `model "m": context_window is -1, want 0 (not known) or more`},
		{"a model with negative output", modelSpec, `{"id":"m","provider":"p","upstream_model":"u","max_output_tokens":-1}`, `model "m": max_output_tokens is -1, want 0 (not known) or more`},
		{"a model with more output than window", modelSpec, `{"id":"m","provider":"p","upstream_model":"u","context_window":10,"max_output_tokens":11}`, `model "m": max_output_tokens is 11, more than the 10 of context_window`},
		{"a pool", pool, `{"id":"p","members":[{"model":"a","weight":3},{"model":"b","role":"failover_only"}],"routing":"first_healthy","sticky_scope":"run","switch":{"on_quota":false,"max_switches":2}}`,
			agent.ModelPoolSpec{ID: "p", Members: []agent.PoolMember{{Model: "a", Weight: 3}, {Model: "b", Role: agent.RoleFailoverOnly}}, Routing: agent.RouteFirstHealthy, StickyScope: agent.StickyRun,
				Switch: agent.PoolSwitch{OnQuota: new(false), MaxSwitches: 2}}},
		{"a pool without id", pool, `{"members":[{"model":"a"}]}`, `pool id is empty`},
		{"a provider's bad id", provider, `{"id":"p/1","adapter":"a"}`, `provider id "p/1" has the character '/', allowed are A-Z a-z 0-9 . _ : -`},
		{"a pool without members", pool, `{"id":"p"}`, `pool "p": members has none of role "member"`},
		{"a pool that never returns", pool, `{"id":"p","members":[{"model":"a"}],"return_after_ms":-1}`, `pool "p": return_after_ms is -1, allowed are 0 (5 minutes) to 86400000`},
		{"a pool that returns in more than a day", pool, `{"id":"p","members":[{"model":"a"}],"return_after_ms":86400001}`, `pool "p": return_after_ms is 86400001, allowed are 0 (5 minutes) to 86400000`},
		{"a pool for failover alone", pool, `{"id":"p","members":[{"model":"a","role":"failover_only"}]}`, `pool "p": members has none of role "member"`},
		{"a pool's unknown field", pool, `{"id":"p","members":[{"model":"a","wieght":1}]}`, `pool spec: unknown field "wieght" in members[0], did you mean "weight"?`},
		{"a member twice", pool, `{"id":"p","members":[{"model":"a"},{"model":"a"}]}`, `pool "p": members[1].model is "a", which is a member already`},
		{"a member without a model", pool, `{"id":"p","members":[{}]}`, `pool "p": members[0].model is empty`},
		{"no such role", pool, `{"id":"p","members":[{"model":"a","role":"spare"}]}`, `pool "p": members[0].role is "spare", allowed are "member" and "failover_only"`},
		{"too heavy a member", pool, `{"id":"p","members":[{"model":"a","weight":1001}]}`, `pool "p": members[0].weight is 1001, allowed are 1 to 1000`},
		{"a spare member with a weight", pool, `{"id":"p","members":[{"model":"a"},{"model":"b","role":"failover_only","weight":1}]}`, `pool "p": members[1].weight is 1, a member of role "failover_only" has none`},
		{"no such routing", pool, `{"id":"p","members":[{"model":"a"}],"routing":"round_robin"}`, `pool "p": routing is "round_robin", allowed are "deterministic" and "first_healthy"`},
		{"no such scope", pool, `{"id":"p","members":[{"model":"a"}],"sticky_scope":"user"}`, `pool "p": sticky_scope is "user", allowed are "thread" and "run"`},
		{"negative switches", pool, `{"id":"p","members":[{"model":"a"}],"switch":{"max_switches":-1}}`, `pool "p": switch.max_switches is -1, want 0 (no limit) or more`},
		{"a negative threshold", pool, `{"id":"p","members":[{"model":"a"}],"switch":{"quota_retry_after_threshold_ms":-1}}`, `pool "p": switch.quota_retry_after_threshold_ms is -1, want 0 (any wait) or more`},
		{"a provider", provider, `{"id":"p","adapter":"openai","base_url":"https://x.example/v1","api_key":"sk","api_key_env":"KEY","timeout_ms":900000,"options":{"a": 1}}`,
			agent.ProviderSpec{ID: "p", Adapter: "openai", BaseURL: "https://x.example/v1", APIKey: secret.New("sk"), APIKeyEnv: "KEY", TimeoutMS: 900000, Options: json.RawMessage(`{"a":1}`)}},
		{"a provider without adapter", provider, `{"id":"p"}`, `provider "p": adapter is empty`},
		{"a key that was read back", provider, `{"id":"p","adapter":"a","api_key":"***"}`, `provider spec: api_key: *** stands for a secret and is none`},
		{"a key that is a number", provider, `{"id":"p","adapter":"a","api_key":123456}`, `provider spec: api_key: a secret is a string`},
		{"too long a call", provider, `{"id":"p","adapter":"a","timeout_ms":900001}`, `provider "p": timeout_ms is 900001, allowed are 0 (no limit but the adapter's) to 900000`},
		{"options that are a list", provider, `{"id":"p","adapter":"a","options":[]}`, `provider "p": options is [], want an object`},
		{"options that are null", provider, `{"id":"p","adapter":"a","options":null}`, `provider "p": options is null, want an object`},
		{"an address without a scheme", provider, `{"id":"p","adapter":"a","base_url":"x.example"}`, `provider "p": base_url is "x.example", want http:// or https://, a host and a path`},
		{"an address with a query", provider, `{"id":"p","adapter":"a","base_url":"https://x.example?a=b"}`, `provider "p": base_url is "https://x.example?a=b", want http:// or https://, a host and a path`},
		{"an address with a password", provider, `{"id":"p","adapter":"a","base_url":"https://me:hunter2@x.example"}`, `provider "p": base_url holds a user, want http:// or https://, a host and a path`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := test.decode(test.text)
			if want, wrong := test.want.(string); wrong {
				if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
					t.Error(diff)
				}
				if core.CodeOf(err) != core.CodeInvalid {
					t.Errorf("code %q", core.CodeOf(err))
				}
				return
			}
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
}

func TestNothingShowsAProvidersKey(t *testing.T) {
	p := agent.ProviderSpec{ID: "p", Adapter: "a", APIKey: secret.New("sk-hunter2")}
	text, err := json.Marshal(p)
	if err != nil || string(text) != `{"id":"p","adapter":"a","api_key":"***"}` {
		t.Errorf("%s, %v", text, err)
	}
	if shown := fmt.Sprintf("%v %+v %#v", p, p, &p); strings.Contains(shown, "hunter2") {
		t.Error(shown)
	}
}

// pooled is an agent whose pool has the members, by model and weight.
func pooled(t *testing.T, change func(*agent.ModelPoolSpec), members ...agent.PoolMember) *agent.Resolved {
	t.Helper()
	p := parts(agent.Spec{ID: "a", Model: "pool"})
	spec := agent.ModelPoolSpec{ID: "pool", Members: members}
	if change != nil {
		change(&spec)
	}
	p.Pools = []agent.ModelPoolSpec{spec}
	for _, m := range members {
		p.Models[m.Model] = agent.ModelBinding{Model: mute{}}
	}
	return resolve(t, p, "a")
}

// Decision 30: a pool spreads 20,000 threads over its members as their weights say,
// within 3 % of each share, however alike their ids are.
func TestPoolsSpreadThreadsByWeight(t *testing.T) {
	const threads = 20_000
	tests := []struct {
		name    string
		members []agent.PoolMember
		want    map[string]float64
	}{
		{"two equal ones that differ at the end", []agent.PoolMember{{Model: "model-a"}, {Model: "model-b"}}, map[string]float64{"model-a": 0.5, "model-b": 0.5}},
		{"four equal ones of one letter", []agent.PoolMember{{Model: "a"}, {Model: "b"}, {Model: "c"}, {Model: "d"}}, map[string]float64{"a": 0.25, "b": 0.25, "c": 0.25, "d": 0.25}},
		{"three to one", []agent.PoolMember{{Model: "model-a", Weight: 3}, {Model: "model-b", Weight: 1}}, map[string]float64{"model-a": 0.75, "model-b": 0.25}},
		{"three to one of other names", []agent.PoolMember{{Model: "openai-east", Weight: 3}, {Model: "openai-west"}}, map[string]float64{"openai-east": 0.75, "openai-west": 0.25}},
		{"two to one to one", []agent.PoolMember{{Model: "gpt-4o-1", Weight: 2}, {Model: "gpt-4o-2"}, {Model: "gpt-4o-3"}}, map[string]float64{"gpt-4o-1": 0.5, "gpt-4o-2": 0.25, "gpt-4o-3": 0.25}},
		{"one for failover", []agent.PoolMember{{Model: "a"}, {Model: "b", Role: agent.RoleFailoverOnly}}, map[string]float64{"a": 1}},
	}
	keys := map[string]func(i int) core.ThreadKey{
		"threads that are counted": func(i int) core.ThreadKey { return core.ThreadKey{Tenant: "t", Thread: fmt.Sprint(i)} },
		"tenants that are counted": func(i int) core.ThreadKey { return core.ThreadKey{Tenant: fmt.Sprint("tenant-", i), Thread: "main"} },
		"ids": func(i int) core.ThreadKey {
			return core.ThreadKey{Tenant: "t", Thread: core.ID{6: 0x70, 14: byte(i >> 8), 15: byte(i)}.String()}
		},
	}
	for _, test := range tests {
		for name, key := range keys {
			t.Run(test.name+", "+name, func(t *testing.T) {
				a := pooled(t, nil, test.members...)
				counts := map[string]float64{}
				for i := range threads {
					counts[a.ModelOf(key(i), core.ID{}).ID]++
				}
				for _, m := range test.members {
					if share := counts[m.Model] / threads; math.Abs(share-test.want[m.Model]) > 0.03*test.want[m.Model] {
						t.Errorf("%s has %.4f of the threads, want %.2f within 3 %%", m.Model, share, test.want[m.Model])
					}
				}
			})
		}
	}
}

func TestAThreadKeepsItsHome(t *testing.T) {
	key := func(i int) core.ThreadKey { return core.ThreadKey{Tenant: "t", Thread: fmt.Sprint(i)} }
	three := pooled(t, nil, agent.PoolMember{Model: "a"}, agent.PoolMember{Model: "b"}, agent.PoolMember{Model: "c"})
	other := pooled(t, nil, agent.PoolMember{Model: "c"}, agent.PoolMember{Model: "a"}, agent.PoolMember{Model: "b"})
	two := pooled(t, nil, agent.PoolMember{Model: "a"}, agent.PoolMember{Model: "b"})
	for i := range 1000 {
		home := three.ModelOf(key(i), core.ID{1}).ID
		if again := other.ModelOf(key(i), core.ID{2}).ID; again != home {
			t.Fatalf("thread %d goes to %s for another run or order of members, and to %s before", i, again, home)
		}
		if left := two.ModelOf(key(i), core.ID{}).ID; home != "c" && left != home {
			t.Fatalf("thread %d moves from %s to %s because c is gone", i, home, left)
		}
	}
	if a, b := three.ModelOf(core.ThreadKey{Tenant: "t", Thread: "first"}, core.ID{}).ID, three.ModelOf(core.ThreadKey{Tenant: "t", Thread: "second"}, core.ID{}).ID; a != "a" || b != "b" {
		t.Errorf("homes are %s and %s: running threads have changed their models", a, b)
	}
}

func TestAPoolCanChooseByRunOrTakeItsFirst(t *testing.T) {
	byRun := pooled(t, func(p *agent.ModelPoolSpec) { p.StickyScope = agent.StickyRun }, agent.PoolMember{Model: "a"}, agent.PoolMember{Model: "b"})
	first := pooled(t, func(p *agent.ModelPoolSpec) { p.Routing = agent.RouteFirstHealthy },
		agent.PoolMember{Model: "spare", Role: agent.RoleFailoverOnly}, agent.PoolMember{Model: "a"}, agent.PoolMember{Model: "b", Weight: 9})
	key, counts := core.ThreadKey{Tenant: "t", Thread: "x"}, map[string]int{}
	for i := range 1000 {
		run := core.ID{14: byte(i >> 8), 15: byte(i)}
		counts[byRun.ModelOf(key, run).ID]++
		if got := first.ModelOf(core.ThreadKey{Tenant: "t", Thread: fmt.Sprint(i)}, run).ID; got != "a" {
			t.Fatalf("home %q, want the first member", got)
		}
	}
	if a, b := byRun.ModelOf(key, core.ID{15: 1}).ID, byRun.ModelOf(key, core.ID{15: 2}).ID; a != "b" || b != "a" {
		t.Errorf("homes are %s and %s: running runs have changed their models", a, b)
	}
	if counts["a"] < 450 || counts["b"] < 450 {
		t.Errorf("runs of one thread go to %v, want each half", counts)
	}
}

func TestChoosingAModelAllocatesNothing(t *testing.T) {
	plain := resolve(t, parts(agent.Spec{ID: "a", Model: "small"}), "a")
	pool := pooled(t, nil, agent.PoolMember{Model: "a"}, agent.PoolMember{Model: "b"})
	key := core.ThreadKey{Tenant: "t", Thread: "x"}
	for name, a := range map[string]*agent.Resolved{"a model": plain, "a pool": pool} {
		if n := testing.AllocsPerRun(100, func() { a.ModelOf(key, core.ID{}) }); n != 0 {
			t.Errorf("%s: %v allocations, want none", name, n)
		}
	}
}
