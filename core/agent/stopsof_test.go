package agent_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/stop"
)

func TestStopPoliciesOfASpecThatAreRefused(t *testing.T) {
	tests := []struct{ name, stop, want string }{
		{"an unknown type", `[{"type":"timeout","seconds":1},{"type":"moon"}]`, `agent "a": stop[1]: stop policy type "moon" is unknown, allowed are `},
		{"an unknown field", `[{"type":"timeout","second":1}]`, `agent spec: unknown field "second" in stop[0], did you mean "seconds"?`},
		{"a field of another type", `[{"type":"timeout","seconds":1,"max":2}]`, `agent "a": stop[0]: stop policy "timeout": it takes seconds, and not max`},
		{"a wrong value", `[{"type":"loop_detection","window":1}]`, `agent "a": stop[0]: stop policy "loop_detection": window is 1, allowed are 2 to 64`},
		{"a wrong pattern", `[{"type":"content_match","pattern":"("}]`, `agent "a": stop[0]: stop policy "content_match": pattern: error parsing regexp: `},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := agent.DecodeSpec([]byte(`{"id":"a","model":"m","stop":` + tt.stop + `}`))
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) || core.CodeOf(err) != core.CodeInvalid {
				t.Errorf("got  %v\nwant %s...", err, tt.want)
			}
		})
	}
}

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
	registry, err := agent.NewRegistry(parts)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string][]string{
		"a": {"timeout", "token_budget", "agent.StopFunc", "named"},
		"b": {"agent.StopFunc", "named"},
	} {
		resolved, err := registry.Resolve(id)
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
	if _, err := agent.NewRegistry(parts); err == nil || err.Error() != "stop policy Parts.Stops[1] is nil" {
		t.Errorf("a nil policy: %v", err)
	}
}
