package host_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/catalog"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/tool"
)

// two is a process with two agents: one with all tools, one with none and a plugin.
func two(t *testing.T) *host.Host {
	t.Helper()
	r := newRig(t)
	rounds := 3
	return r.process("w", r.store, func(c *host.Options) {
		zip := tool.New(tool.Spec{Name: "zip", Description: "Zips."}, func(context.Context, tool.Call, struct{}) (string, error) { return "", nil })
		c.Agents.Tools = append(c.Agents.Tools, zip)
		c.Agents.Plugins = []plugin.Plugin{countBoth{}}
		c.Agents.Default = "quiet"
		c.Agents.Specs = []agent.Spec{
			{ID: "quiet", Description: "Says little.", Model: "m", AllowedTools: []string{}, Plugins: []string{"count"}, MaxRounds: &rounds, ExecutionMode: agent.ParallelStreaming, Hidden: true},
			{ID: "demo", Model: "m", Delegates: []string{"quiet"}, ExposedTools: []string{"zip"}},
			{ID: "other", Model: "m", AllowedTools: []string{"zip"}},
		}
	})
}

func TestAgentsAreDescribedToTheirClients(t *testing.T) {
	p := two(t)
	var got []string
	for _, a := range p.Agents() {
		got = append(got, a.ID)
	}
	if diff := cmp.Diff([]string{"demo", "other", "quiet"}, got); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	quiet, err := p.Agent("quiet")
	want := host.AgentInfo{
		ID: "quiet", Description: "Says little.", Model: "m", Default: true, Plugins: []string{"count"}, MaxRounds: 3, Mode: agent.ParallelStreaming,
		ContextWindow: 111_616, Answers: []host.Answer{{Model: "m", Name: "scripted"}},
	}
	if diff := cmp.Diff(want, quiet); diff != "" || err != nil {
		t.Errorf("quiet: %v (-want +got):\n%s", err, diff)
	}
	demo, err := p.Agent("demo")
	if err != nil || demo.Default || demo.Mode != agent.Sequential || demo.MaxRounds != 16 || !cmp.Equal(demo.Delegates, []string{"quiet"}) {
		t.Errorf("demo is %+v, %v", demo, err)
	}
	var tools []string
	for _, spec := range demo.Tools {
		tools = append(tools, spec.Name)
	}
	if diff := cmp.Diff([]string{"echo", "zip"}, tools); diff != "" {
		t.Errorf("demo's tools (-want +got):\n%s", diff)
	}
	if _, err := p.Agent("nobody"); core.CodeOf(err) != core.CodeNotFound || err.Error() != `agent "nobody" not found` {
		t.Errorf("an unknown agent: %v", err)
	}
	if !p.HasAgent("demo") || p.HasAgent("nobody") || p.DefaultAgent() != "quiet" {
		t.Errorf("demo %v, nobody %v, the default is %q", p.HasAgent("demo"), p.HasAgent("nobody"), p.DefaultAgent())
	}
}

func TestCapabilitiesAreWhatAgentsAreMadeOf(t *testing.T) {
	c := two(t).Capabilities()
	var tools []string
	for _, spec := range c.Tools {
		tools = append(tools, spec.Name)
	}
	got := map[string][]string{"agents": c.Agents, "tools": tools, "plugins": c.Plugins, "models": c.Models, "default": {c.Default}}
	want := map[string][]string{
		"agents": {"demo", "other", "quiet"}, "tools": {"echo", "zip"}, "plugins": {"count"}, "models": {"m", "tool:zip"}, "default": {"quiet"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestExposedAreAgentsThatAreNotHiddenAndTheirTools(t *testing.T) {
	var got []string
	for _, e := range two(t).Exposed() {
		got = append(got, e.Name)
	}
	if diff := cmp.Diff([]string{"demo", "other", "zip"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Of a pool all members may respond, in its order. A process that links no models says
// nothing of them.
func TestTheModelsOfAnAgent(t *testing.T) {
	r := newRig(t)
	prices, err := new(catalog.Catalog).With([]byte(`{"models":[{"provider":"acme","names":["large"],"context_window":200000,"inputs":["image"],"reasoning":"levels","reasoning_levels":["low","max"],"prices":[{"from":"1970-01-01","input":3,"output":15,"source":"a price list"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	p := r.process("w", r.store, func(c *host.Options) {
		c.Metering = &host.Metering{Models: prices}
		c.Agents.Catalog = prices
		c.Agents.Models = map[string]agent.ModelBinding{
			"a": {Model: scripted.New(c.Env), Name: "rules"},
			"b": {Model: scripted.New(c.Env), Provider: "acme", Name: "large"},
			"c": {Model: model.None{}},
		}
		c.Agents.Pools = []agent.ModelPoolSpec{{ID: "both", Members: []agent.PoolMember{{Model: "b"}, {Model: "a"}}}}
		c.Agents.Default = "demo"
		c.Agents.Specs = []agent.Spec{{ID: "demo", Model: "both"}, {ID: "idle", Model: "c"}, {ID: "large", Model: "b"}}
	})
	input, output := core.USD(3_000_000_000), core.USD(15_000_000_000)
	a := host.Answer{Model: "a", Name: "rules", Scripted: true, ContextWindow: 128_000, Assumed: true}
	b := host.Answer{
		Model: "b", Provider: "acme", Name: "large", Scripted: true, Input: &input, Output: &output,
		ContextWindow: 200_000, Inputs: []string{"image"}, Levels: []string{"low", "max"},
	}
	demo, _ := p.Agent("demo")
	if large, _ := p.Agent("large"); large.ContextWindow != 183_616 || large.Assumed || !slices.Equal(large.Inputs, []string{"image"}) {
		t.Errorf("an agent's window is %d, assumed %t; it accepts %v", large.ContextWindow, large.Assumed, large.Inputs)
	}
	if demo.ContextWindow != 111_616 || len(demo.Inputs) > 0 {
		t.Errorf("a pool's window is %d, it accepts %v", demo.ContextWindow, demo.Inputs)
	}
	idle, _ := p.Agent("idle")
	for _, row := range []struct {
		of        string
		want, got []host.Answer
	}{
		{"a pool", []host.Answer{b, a}, demo.Answers},
		{"an agent without a model", nil, idle.Answers},
		{"the deployment", []host.Answer{a, b}, p.Capabilities().Answers},
	} {
		if diff := cmp.Diff(row.want, row.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.of, diff)
		}
	}
}
