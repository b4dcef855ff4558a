package registry_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/stop"
)

// called is a policy that says what it is called.
type called struct{ agent.StopFunc }

func (called) String() string { return "named" }

// Every agent has its spec's policies, and behind them the registry's.
func TestStopPoliciesOfAnAgent(t *testing.T) {
	own := agent.StopFunc(func(agent.StopView) *core.Termination { return nil })
	parts := agent.Parts{
		Models: map[string]agent.ModelBinding{"m": {Model: mute{}}},
		Specs: []agent.Spec{
			{ID: "a", Model: "m", Stop: []agent.StopSpec{{Type: "timeout", Seconds: 1}, {Type: "token_budget", MaxTotal: 1}}},
			{ID: "b", Model: "m"},
		},
		Stops: []agent.StopPolicy{own, called{}},
	}
	agents, err := registry.New(parts)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string][]string{
		"a": {"timeout", "token_budget", "agent.StopFunc", "named"},
		"b": {"agent.StopFunc", "named"},
	} {
		resolved, err := agents.Resolve(id)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range resolved.Stops {
			got = append(got, stop.Name(p))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("policies of %s (-want +got):\n%s", id, diff)
		}
	}
	parts.Stops = []agent.StopPolicy{own, nil}
	if _, err := registry.New(parts); err == nil || err.Error() != "stop policy Parts.Stops[1] is nil" {
		t.Errorf("a nil policy: %v", err)
	}
}
