package registry_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/catalog"
)

// heardOf is a catalog of three models.
func heardOf(t *testing.T, window int) *catalog.Catalog {
	t.Helper()
	known, err := new(catalog.Catalog).With(fmt.Appendf(nil, `{"models":[
		{"provider":"openai","names":["o-1"],"context_window":%d,"max_input_tokens":900,"max_output_tokens":50,"inputs":["image"],"tokens_per_byte":0.5,"native_format":true},
		{"provider":"groq","names":["o-1"],"context_window":700},
		{"provider":"east","names":["e-1"],"context_window":900,"assumed":true}]}`, window))
	if err != nil {
		t.Fatal(err)
	}
	return known
}

// known are agents of one model each, bound in code or by providers that are data.
func knownModels(known *catalog.Catalog) agent.Parts {
	p := parts()
	p.Catalog = known
	p.Models = map[string]agent.ModelBinding{
		"code":  {Model: mute{}, Name: "o-1", Provider: "openai"},
		"said":  {Model: mute{}, Name: "o-1", Provider: "openai", Facts: model.Facts{ContextWindow: 40}},
		"wrong": {Model: mute{}, Name: "o-2", Provider: "openai"},
		"long":  {Model: mute{}, Name: "o-1", Provider: "openai", Facts: model.Facts{LongInput: 30}},
	}
	open := func(agent.ProviderSpec) (model.Model, error) { return mute{}, nil }
	p.Adapters = map[string]func(agent.ProviderSpec) (model.Model, error){"openai": open, "groq": open}
	p.Providers = []agent.ProviderSpec{
		{ID: "mine", Adapter: "openai"}, {ID: "proxy", Adapter: "openai", BaseURL: "https://proxy.example/v1"},
		{ID: "fast", Adapter: "groq", BaseURL: "https://proxy.example/v1"}, {ID: "east", Adapter: "openai"},
	}
	p.ModelSpecs = []agent.ModelSpec{
		{ID: "data", Provider: "mine", UpstreamModel: "o-1"},
		{ID: "sized", Provider: "mine", UpstreamModel: "o-1", ContextWindow: 60, MaxOutputTokens: 20},
		{ID: "proxied", Provider: "proxy", UpstreamModel: "o-1"},
		{ID: "proxied-e", Provider: "proxy", UpstreamModel: "e-1"},
		{ID: "groq", Provider: "fast", UpstreamModel: "o-1"},
		{ID: "own", Provider: "east", UpstreamModel: "e-1"},
	}
	for _, id := range []string{"code", "said", "wrong", "long", "data", "sized", "proxied", "proxied-e", "groq", "own"} {
		p.Specs = append(p.Specs, agent.Spec{ID: id, Model: id})
	}
	return p
}

func TestWhatIsKnownOfAnAgentsModel(t *testing.T) {
	r := built(t, knownModels(heardOf(t, 1000)))
	openai := model.Facts{ContextWindow: 1000, MaxInputTokens: 900, MaxOutputTokens: 50, Inputs: []string{"image"}, TokensPerByte: 0.5, NativeFormat: true}
	smaller := func(window, input, output int) model.Facts {
		f := openai
		f.ContextWindow, f.MaxInputTokens, f.MaxOutputTokens = window, input, output
		return f
	}
	long := openai
	long.LongInput = 30
	for id, want := range map[string]model.Facts{
		"code":      openai,
		"long":      long,
		"said":      smaller(40, 40, 40),
		"wrong":     {ContextWindow: 128_000, Assumed: true},
		"data":      openai,
		"sized":     smaller(60, 60, 20),
		"proxied":   {ContextWindow: 128_000, Assumed: true}, // OpenAI's or Groq's?
		"proxied-e": {ContextWindow: 900},
		"groq":      {ContextWindow: 700},
		"own":       {ContextWindow: 900},
	} {
		a, err := r.Resolve(id)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, a.CallableModels()[0].Facts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
	want := []string{
		`agent "wrong": model "wrong" is openai/o-2, of which the model catalog has no context window: it is taken to be 128000 tokens`,
		`agent "proxied": model "proxied" is proxy/o-1, of which the model catalog has no context window: it is taken to be 128000 tokens`,
	}
	var got []string
	for _, w := range r.Warnings() {
		got = append(got, w.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAModelThatNobodyKnowsIsAnErrorInAStrictSpec(t *testing.T) {
	for id, want := range map[string]string{
		"wrong": `agent "wrong": model "wrong" is openai/o-2, of which the model catalog has no context window: it is taken to be 128000 tokens`,
		"sized": "<nil>",
	} {
		p := knownModels(heardOf(t, 1000))
		p.Specs = []agent.Spec{{ID: id, Model: id, Strict: true}}
		if _, err := registry.New(p); fmt.Sprint(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	p := knownModels(nil)
	p.Specs = []agent.Spec{{ID: "wrong", Model: "wrong", Strict: true}}
	if _, err := registry.New(p); err != nil {
		t.Errorf("without a catalog: %v", err)
	}
}

// A run ends with the window that it began with, whatever is known by then.
func TestWhatIsKnownIsPinnedWithTheRun(t *testing.T) {
	yesterday, today := knownModels(heardOf(t, 1000)), built(t, knownModels(heardOf(t, 2000)))
	for id, want := range map[string]string{
		"code": `{"spec":{"id":"code","model":"code","retry":{"patience_ms":900000}},` +
			`"facts":{"code":{"context_window":1000,"max_input_tokens":900,"max_output_tokens":50,"tokens_per_byte":0.5,"inputs":["image"],"native_format":true}}}`,
		"wrong": `{"spec":{"id":"wrong","model":"wrong","retry":{"patience_ms":900000}},"facts":{"wrong":{"context_window":128000,"assumed":true}}}`,
		"data": `{"spec":{"id":"data","model":"data","retry":{"patience_ms":900000}},"models":[{"id":"data","provider":"mine","upstream_model":"o-1"}],"providers":[{"id":"mine","adapter":"openai"}],` +
			`"facts":{"data":{"context_window":1000,"max_input_tokens":900,"max_output_tokens":50,"tokens_per_byte":0.5,"inputs":["image"],"native_format":true}}}`,
	} {
		then := resolve(t, yesterday, id)
		if diff := cmp.Diff(want, string(then.Content())); diff != "" {
			t.Error(diff)
		}
		again, err := today.ResolveContent(then.Content())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(then.CallableModels()[0].Facts, again.CallableModels()[0].Facts); diff != "" {
			t.Errorf("%s (-then +again):\n%s", id, diff)
		}
	}
	// What code says is pinned as well, without any catalog.
	if got, want := string(resolve(t, knownModels(nil), "said").Content()), `{"spec":{"id":"said","model":"said","retry":{"patience_ms":900000}},"facts":{"said":{"context_window":40}}}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	// An agent that was stored before anything was known has what is known today.
	old, err := today.ResolveContent([]byte(`{"spec":{"id":"code","model":"code"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := old.CallableModels()[0].ContextWindow; got != 2000 {
		t.Errorf("an old agent's window is %d", got)
	}
	_, err = today.ResolveContent([]byte(`{"spec":{"id":"code","model":"code"},"facts":{"code":{"context_window":-1}}}`))
	if core.CodeOf(err) != core.CodeCorrupt || !strings.Contains(err.Error(), `model "code": context_window is -1`) {
		t.Errorf("facts that cannot be: %v", err)
	}
}

// A tool by itself asks no model, and nothing of one is warned of.
func TestAToolByItselfNeedsNoWindow(t *testing.T) {
	p := knownModels(heardOf(t, 1000))
	p.Specs = []agent.Spec{{ID: "a", Model: "code", ExposedTools: []string{"read"}, Strict: true}}
	r := built(t, p)
	if len(r.Warnings()) > 0 {
		t.Error(r.Warnings())
	}
}

// A model that is retired is a warning, also in a strict spec, and names what to use.
func TestARetiredModelIsWarnedOf(t *testing.T) {
	known, err := new(catalog.Catalog).With([]byte(`{"models":[
		{"provider":"openai","names":["o-1"],"context_window":100000,"retired":"2026-12-11","successor":"o-9"},
		{"provider":"openai","names":["o-2"],"context_window":100000,"retired":"2026-10-01"},
		{"provider":"openai","names":["o-9"],"context_window":100000}]}`))
	if err != nil {
		t.Fatal(err)
	}
	p := parts()
	p.Catalog = known
	p.Models = map[string]agent.ModelBinding{"one": {Model: mute{}, Name: "o-1", Provider: "openai"}, "two": {Model: mute{}, Name: "o-2", Provider: "openai"}, "nine": {Model: mute{}, Name: "o-9", Provider: "openai"}}
	p.Adapters = map[string]func(agent.ProviderSpec) (model.Model, error){"openai": func(agent.ProviderSpec) (model.Model, error) { return mute{}, nil }}
	p.Providers = []agent.ProviderSpec{{ID: "mine", Adapter: "openai"}}
	p.ModelSpecs = []agent.ModelSpec{{ID: "data", Provider: "mine", UpstreamModel: "o-1"}}
	p.Pools = []agent.ModelPoolSpec{{ID: "pool", Members: []agent.PoolMember{{Model: "nine"}, {Model: "two"}}}}
	for _, id := range []string{"one", "two", "nine", "data", "pool"} {
		p.Specs = append(p.Specs, agent.Spec{ID: id, Model: id, Strict: true})
	}
	want := []registry.Warning{
		{Agent: "one", Field: "model", Message: `"one" is openai/o-1, which its provider retires on 2026-12-11: use openai/o-9 instead`, Day: "2026-12-11"},
		{Agent: "two", Field: "model", Message: `"two" is openai/o-2, which its provider retires on 2026-10-01: the model catalog names no successor`, Day: "2026-10-01"},
		{Agent: "data", Field: "model", Message: `"data" is mine/o-1, which its provider retires on 2026-12-11: use mine/o-9 instead`, Day: "2026-12-11"},
		{Agent: "pool", Field: "model", Message: `"two" is openai/o-2, which its provider retires on 2026-10-01: the model catalog names no successor`, Day: "2026-10-01"},
	}
	if diff := cmp.Diff(want, built(t, p).Warnings()); diff != "" {
		t.Error(diff)
	}
}
