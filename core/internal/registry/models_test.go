package registry_test

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
	"github.com/reveille-run/reveille/core/internal/registry"
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
	r := built(t, vendors(&opened))
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
	if diff := cmp.Diff(registry.BoundModel{ID: "fast", Name: "fast-1", Model: mute{}, Provider: "east", Facts: model.Facts{ContextWindow: 1000, MaxOutputTokens: 100}},
		registry.BoundModel{ID: got.ID, Name: got.Name, Model: mute{}, Provider: got.Provider, Facts: got.Facts}, cmpopts.IgnoreUnexported(registry.BoundModel{})); diff != "" {
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
	if diff := cmp.Diff(registry.BoundModel{ID: "own", Name: "own", Model: mute{}}, *code, cmpopts.IgnoreUnexported(registry.BoundModel{})); diff != "" {
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
			_, err := registry.New(p)
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
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
func pooled(t *testing.T, change func(*agent.ModelPoolSpec), members ...agent.PoolMember) *registry.Resolved {
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
	for name, a := range map[string]*registry.Resolved{"a model": plain, "a pool": pool} {
		if n := testing.AllocsPerRun(100, func() { a.ModelOf(key, core.ID{}) }); n != 0 {
			t.Errorf("%s: %v allocations, want none", name, n)
		}
	}
}
