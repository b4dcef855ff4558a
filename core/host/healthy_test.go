package host

import (
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/model/scripted"
)

func TestSixteenToolsLeftBehindMakeAProcessUnhealthy(t *testing.T) {
	for _, n := range []int{0, 1, 15} {
		if err := healthy(n); err != nil {
			t.Errorf("with %d tools left behind: %v", n, err)
		}
	}
	want := "16 abandoned tools still run, want fewer than 16"
	if err := healthy(16); core.CodeOf(err) != core.CodeUnavailable || err.Error() != want {
		t.Errorf("with 16 tools left behind: %v, want unavailable: %s", err, want)
	}
}

func TestTheEnvironmentIsThatOfTheConfiguration(t *testing.T) {
	e := env.System()
	r, err := New(Options{Env: e, Agents: agent.Parts{
		Models: map[string]agent.ModelBinding{"m": {Model: scripted.Rules()}}, Specs: []agent.Spec{{ID: "demo", Model: "m"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Env() != e {
		t.Errorf("environment %p, want that of the configuration, %p", r.Env(), e)
	}
}
