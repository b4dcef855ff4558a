package stop_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/stop"
)

func TestMaxRoundsStopsATurnThatStillAsksForTools(t *testing.T) {
	calls := []core.ToolCall{{ID: "c1", Name: "dig"}}
	stopped := func(detail string) *core.Termination {
		return &core.Termination{Type: "stopped", Code: "max_rounds", Detail: detail}
	}
	tests := []struct {
		name  string
		limit int
		step  int
		calls []core.ToolCall
		want  *core.Termination
	}{
		{"before the limit", 3, 2, calls, nil},
		{"at the limit", 3, 3, calls, stopped("step 3 of at most 3 still asked for tools")},
		{"after a limit that was lowered", 3, 5, calls, stopped("step 5 of at most 3 still asked for tools")},
		{"a last turn", 3, 3, nil, nil},
		{"no limit", 0, 1000, calls, nil},
		{"one step", 1, 1, calls, stopped("step 1 of at most 1 still asked for tools")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := stop.MaxRounds(test.limit).Check(stop.Turn{Step: test.step, Message: core.Message{ToolCalls: test.calls}})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// budget is a policy of one's own.
type budget int

func (b budget) Check(turn stop.Turn) *core.Termination {
	if turn.Usage.Output <= int(b) {
		return nil
	}
	return &core.Termination{Type: core.TerminationStopped, Code: "budget"}
}

func TestFirstAsksInOrder(t *testing.T) {
	turn := stop.Turn{Step: 4, Message: core.Message{ToolCalls: []core.ToolCall{{ID: "c1"}}}, Usage: core.Usage{Output: 50}}
	tests := []struct {
		name     string
		policies []stop.Policy
		want     string
	}{
		{"none", nil, ""},
		{"none of them", []stop.Policy{stop.MaxRounds(5), budget(50)}, ""},
		{"the first of two", []stop.Policy{budget(49), stop.MaxRounds(4)}, "budget"},
		{"the only one", []stop.Policy{budget(50), stop.MaxRounds(4)}, "max_rounds"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := ""
			if termination := stop.First(test.policies, turn); termination != nil {
				got = termination.Code
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func Example() {
	policy := stop.MaxRounds(2)
	turn := stop.Turn{Step: 2, Message: core.Message{ToolCalls: []core.ToolCall{{ID: "call_1", Name: "search"}}}}
	fmt.Println(policy.Check(turn).Detail)
	// Output: step 2 of at most 2 still asked for tools
}
