package wiring_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/secret"
	"github.com/reveille-run/reveille/functions/kit/demo"
	"github.com/reveille-run/reveille/functions/kit/demo/binding"
	"github.com/reveille-run/reveille/functions/kit/settings"
	"github.com/reveille-run/reveille/functions/kit/wiring"
)

// two are agents that name a model each.
func two(models map[string]agent.ModelBinding) (agent.Parts, error) {
	return agent.Parts{Models: models, Specs: []agent.Spec{{ID: "a", Model: "small"}, {ID: "b", Model: "large"}}}, nil
}

func TestAnIdleProcessNeedsNoModel(t *testing.T) {
	for name, parts := range map[string]wiring.Parts{
		"models as they are given": two,
		"no models": func(map[string]agent.ModelBinding) (agent.Parts, error) {
			p, err := two(nil)
			return p, err
		},
	} {
		got, err := wiring.Deployment{Parts: parts}.Idle(settings.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := host.New(host.Options{Agents: got})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, id := range []string{"a", "b"} {
			info, err := r.Agent(id)
			if err != nil {
				t.Fatal(err)
			}
			if bound := got.Models[info.Model].Model; bound != (model.None{}) {
				t.Errorf("%s: agent %s has the model %T, want none", name, id, bound)
			}
		}
	}
}

// What Parts binds by itself stays, also where no step runs, and an agent that names
// no model is as wrong there as everywhere.
func TestAnIdleProcessKeepsTheModelsThatPartsBind(t *testing.T) {
	got, err := wiring.Deployment{Parts: func(map[string]agent.ModelBinding) (agent.Parts, error) {
		own := map[string]agent.ModelBinding{"small": {Model: model.None{}, Name: "own"}}
		return agent.Parts{Models: own, Specs: []agent.Spec{{ID: "a", Model: "small"}, {ID: "b", Model: "large"}, {ID: "c"}}}, nil
	}}.Idle(settings.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]agent.ModelBinding{"small": {Model: model.None{}, Name: "own"}, "large": {Model: model.None{}}}
	if diff := cmp.Diff(want, got.Models); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
}

// An idle process opens no provider, whatever specs say of one.
func TestAnIdleProcessOpensNoProvider(t *testing.T) {
	got, err := wiring.Deployment{Parts: func(map[string]agent.ModelBinding) (agent.Parts, error) {
		return agent.Parts{
			Specs:      []agent.Spec{{ID: "a", Model: "small"}, {ID: "b", Model: "both"}},
			Pools:      []agent.ModelPoolSpec{{ID: "both", Members: []agent.PoolMember{{Model: "small"}, {Model: "bound"}}}},
			ModelSpecs: []agent.ModelSpec{{ID: "small", Provider: "p", UpstreamModel: "small-1"}},
			Providers:  []agent.ProviderSpec{{ID: "p", Adapter: "vendor", APIKeyEnv: "KEY"}},
		}, nil
	}}.Idle(settings.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]agent.ModelBinding{"bound": {Model: model.None{}}}, got.Models); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
	if _, err := host.New(host.Options{Agents: got}); err != nil {
		t.Fatal(err)
	}
	for _, p := range got.Providers {
		if client, err := got.Adapters[p.Adapter](p); err != nil || client != (model.None{}) {
			t.Errorf("provider %s has the client %T, %v, want none", p.ID, client, err)
		}
	}
}

func TestAModelThatNobodyBoundIsNamedAtStart(t *testing.T) {
	parts, err := wiring.Deployment{Parts: two, Models: binding.Bind}.Agents(env.System(), settings.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = host.New(host.Options{Agents: parts})
	if got, want := fmt.Sprint(err), `build host: resolving agent "a": model "small" not found, known are: default`; got != want {
		t.Errorf("error %s, want %s", got, want)
	}
}

func TestErrorsOfTheUsersCodeComeBack(t *testing.T) {
	broken := errors.New("broken")
	parts := func(map[string]agent.ModelBinding) (agent.Parts, error) { return agent.Parts{}, broken }
	models := func(*env.Env, settings.Settings) (wiring.Bound, error) { return wiring.Bound{}, broken }
	if _, err := (wiring.Deployment{Parts: parts, Models: binding.Bind}).Agents(env.System(), settings.Settings{}); !errors.Is(err, broken) {
		t.Errorf("parts: error %v, want %v", err, broken)
	}
	if _, err := (wiring.Deployment{Parts: demo.Parts, Models: models}).Agents(env.System(), settings.Settings{}); !errors.Is(err, broken) {
		t.Errorf("models: error %v, want %v", err, broken)
	}
	if _, err := (wiring.Deployment{Parts: parts}).Idle(settings.Settings{}); !errors.Is(err, broken) {
		t.Errorf("idle: error %v, want %v", err, broken)
	}
}

// Providers that are data find the adapters that are bound, and keys in the environment.
func TestProvidersThatAreDataAreOpened(t *testing.T) {
	t.Setenv("EAST_KEY", "sk-east")
	var opened []string
	open := func(name string) func(agent.ProviderSpec) (model.Model, error) {
		return func(p agent.ProviderSpec) (model.Model, error) {
			opened = append(opened, name+" "+p.ID+" "+p.APIKey.Reveal())
			return model.None{}, nil
		}
	}
	d := wiring.Deployment{
		Models: func(*env.Env, settings.Settings) (wiring.Bound, error) {
			return wiring.Bound{Adapters: map[string]func(agent.ProviderSpec) (model.Model, error){"linked": open("linked"), "own": open("linked")}}, nil
		},
		Parts: func(models map[string]agent.ModelBinding) (agent.Parts, error) {
			if models == nil {
				t.Error("the map of models is nil")
			}
			return agent.Parts{
				Adapters:   map[string]func(agent.ProviderSpec) (model.Model, error){"own": open("own")},
				Specs:      []agent.Spec{{ID: "a", Model: "m"}, {ID: "b", Model: "n"}},
				ModelSpecs: []agent.ModelSpec{{ID: "m", Provider: "east", UpstreamModel: "gpt-5"}, {ID: "n", Provider: "west", UpstreamModel: "n-1"}},
				Providers:  []agent.ProviderSpec{{ID: "east", Adapter: "linked", APIKeyEnv: "EAST_KEY"}, {ID: "west", Adapter: "own", APIKey: secret.New("sk-west"), APIKeyEnv: "EAST_KEY"}},
			}, nil
		},
	}
	parts, err := d.Agents(env.System(), settings.Settings{Catalog: `{"models":[{"provider":"east","names":["gpt-5"],"context_window":1234}]}`})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := host.New(host.Options{Agents: parts}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"linked east sk-east", "own west sk-west"}, opened); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]int{"gpt-5": 1234, "n-1": 0} {
		if got, _ := parts.Catalog.Find("east", name); got.ContextWindow != want {
			t.Errorf("%s has a window of %d, want %d", name, got.ContextWindow, want)
		}
	}
	if _, err := d.Agents(env.System(), settings.Settings{Catalog: `{`}); err == nil {
		t.Error("a broken catalog is accepted")
	}
}

// The parts are made with the models of the process, and then changed.
func TestPartsAreChanged(t *testing.T) {
	change := func(p agent.Parts) agent.Parts {
		p.Specs = append(p.Specs, agent.Spec{ID: "c", Model: "small"})
		return p
	}
	models := map[string]agent.ModelBinding{"small": {Name: "m"}}
	parts, err := wiring.Deployment{Parts: two}.With(change).Parts(models)
	if err != nil || len(parts.Specs) != 3 || parts.Specs[2].ID != "c" || parts.Models["small"].Name != "m" {
		t.Errorf("parts %+v, %v", parts, err)
	}
	broken := errors.New("broken")
	failing := wiring.Deployment{Parts: func(map[string]agent.ModelBinding) (agent.Parts, error) { return agent.Parts{}, broken }}
	if parts, err := failing.With(change).Parts(models); !errors.Is(err, broken) || len(parts.Specs) != 0 {
		t.Errorf("of parts that cannot be made: %+v, %v", parts, err)
	}
}

// Parts and models see the variables of the file, in processes of both kinds.
func TestVariablesOfTheFileAreSetBeforePartsAreMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "environment")
	if err := os.WriteFile(file, []byte("WIRING_TABLE=${STACK}-orders\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var seen []string
	see := func() { seen = append(seen, os.Getenv("WIRING_TABLE")) }
	d := wiring.Deployment{
		Parts:  func(models map[string]agent.ModelBinding) (agent.Parts, error) { see(); return two(models) },
		Models: func(*env.Env, settings.Settings) (wiring.Bound, error) { see(); return wiring.Bound{}, nil },
	}
	s := settings.Settings{Environment: file, Stack: "shop"}
	t.Setenv("WIRING_TABLE", "")
	if _, err := d.Agents(env.System(), s); err != nil {
		t.Fatal(err)
	}
	t.Setenv("WIRING_TABLE", "")
	if _, err := d.Idle(s); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"shop-orders", "shop-orders", "shop-orders"}, seen); diff != "" {
		t.Error(diff)
	}
	s.Environment += "-none"
	_, err := d.Agents(env.System(), s)
	_, idle := d.Idle(s)
	if !errors.Is(err, os.ErrNotExist) || !errors.Is(idle, os.ErrNotExist) {
		t.Errorf("a file that is missing: %v, %v", err, idle)
	}
}
