package agent_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/agent"
)

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
		{"a weight of 0", member(0, "member"), true},
		{"a weight of 1000", member(1000, ""), true},
		{"a weight of -1", member(-1, ""), false},
		{"routing and scope by name", agent.ModelPoolSpec{ID: "p", Members: member(1, "").Members, Routing: "deterministic", StickyScope: "thread"}, true},
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

func TestCheckRefusesTemperaturesThatAreNoNumber(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		if err := (agent.Spec{ID: "a", Model: "m", Temperature: &bad}).Check(); err == nil {
			t.Errorf("%v passes", bad)
		}
	}
}

func TestRoundsDefaultToSixteen(t *testing.T) {
	tests := []struct {
		name string
		max  *int
		want int
	}{
		{"nothing said", nil, 16},
		{"no limit", new(0), 0},
		{"a limit", new(3), 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := (agent.Spec{MaxRounds: test.max}).Rounds(); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func TestDefaultsOfASpecThatSaysNothing(t *testing.T) {
	var s agent.Spec
	if got := s.Continuations(); got != 2 {
		t.Errorf("%d continuations, want 2", got)
	}
	if got := s.ModelCalls(); got != 3 {
		t.Errorf("%d model calls a step, want 3", got)
	}
	if got := s.Mode(); got != agent.Sequential {
		t.Errorf("mode %q", got)
	}
	if a, b, c := s.Retry.Backoff(), s.Retry.OverloadedBackoff(), s.Retry.StreamIdleTimeout(); a != 500*time.Millisecond || b != 2*time.Second || c != time.Minute {
		t.Errorf("waits %s, %s, %s", a, b, c)
	}
	want := agent.ContextWindowPolicy{MaxContextTokens: 200_000, MaxOutputTokens: 16_384, MinRecentMessages: new(10), EnablePromptCache: new(true),
		Compaction: "off", CompactionMode: "keep_recent_raw_suffix", CompactionRawSuffixMessages: new(2),
		SummaryMaxTokens: 2048, MinSavingsRatio: new(0.3)}
	if got := (agent.ContextWindowPolicy{AutocompactThreshold: 1}).WithDefaults().Compaction; got != "background" {
		t.Errorf("compaction with a threshold is %q, want background", got)
	}
	if diff := cmp.Diff(want, agent.ContextWindowPolicy{}.WithDefaults()); diff != "" {
		t.Error(diff)
	}
	said := agent.Retry{BackoffBaseMS: new(0), StreamIdleTimeoutMS: new(1500)}
	if a, c := said.Backoff(), said.StreamIdleTimeout(); a != 0 || c != 1500*time.Millisecond {
		t.Errorf("waits %s, %s, want 0s and 1.5s", a, c)
	}
}
