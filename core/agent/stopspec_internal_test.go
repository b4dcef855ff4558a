package agent

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/stop"
	"github.com/reveille-run/reveille/core/strict"
)

// decodeStop reads a checked policy as specs are read.
func decodeStop(data []byte) (s StopSpec, err error) {
	if err := strict.Decode(data, &s); err != nil {
		return s, core.Errorf(core.CodeInvalid, "stop policy: %w", err)
	}
	return s, s.Check()
}

func TestSpecOfEachType(t *testing.T) {
	tests := []struct {
		data string
		want StopSpec
		name string // of the policy
	}{
		{`{"type":"max_rounds","rounds":8}`, StopSpec{Type: "max_rounds", Rounds: 8}, "max_rounds"},
		{`{"type":"timeout","seconds":30}`, StopSpec{Type: "timeout", Seconds: 30}, "timeout"},
		{`{"type":"token_budget","max_total":20000}`, StopSpec{Type: "token_budget", MaxTotal: 20000}, "token_budget"},
		{`{"type":"consecutive_errors","max":3}`, StopSpec{Type: "consecutive_errors", Max: 3}, "consecutive_errors"},
		{`{"type":"stop_on_tool","tool_name":"done"}`, StopSpec{Type: "stop_on_tool", ToolName: "done"}, "stop_on_tool"},
		{`{"type":"content_match","pattern":"^done$"}`, StopSpec{Type: "content_match", Pattern: "^done$"}, "content_match"},
		{`{"type":"loop_detection","window":3}`, StopSpec{Type: "loop_detection", Window: 3}, "loop_detection"},
	}
	for _, tt := range tests {
		t.Run(string(tt.want.Type), func(t *testing.T) {
			got, err := decodeStop([]byte(tt.data))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			p, err := got.Policy()
			if err != nil || stop.Name(p) != tt.name {
				t.Errorf("the policy is %v, %v, want %s", p, err, tt.name)
			}
			back, err := json.Marshal(got)
			if err != nil || string(back) != tt.data {
				t.Errorf("encoded it is %s, %v", back, err)
			}
		})
	}
}

func TestSpecsThatAreRefused(t *testing.T) {
	tests := []struct {
		name, data, want string
	}{
		{"unknown type", `{"type":"moon_phase"}`, `stop policy type "moon_phase" is unknown, allowed are max_rounds, timeout, token_budget, consecutive_errors, stop_on_tool, content_match, loop_detection`},
		{"no type", `{"seconds":3}`, `stop policy type "" is unknown, allowed are max_rounds, timeout, token_budget, consecutive_errors, stop_on_tool, content_match, loop_detection`},
		{"unknown field", `{"type":"timeout","second":3}`, `stop policy: unknown field "second", did you mean "seconds"?`},
		{"field of another type", `{"type":"timeout","seconds":3,"rounds":2}`, `stop policy "timeout": it takes seconds, and not rounds`},
		{"wrong JSON type", `{"type":"timeout","seconds":"3"}`, `stop policy: seconds is "3", want a whole number`},
		{"rounds missing", `{"type":"max_rounds"}`, `stop policy "max_rounds": rounds is 0, allowed are 1 to 2147483647`},
		{"negative seconds", `{"type":"timeout","seconds":-1}`, `stop policy "timeout": seconds is -1, allowed are 1 to 2147483647`},
		{"too many seconds", `{"type":"timeout","seconds":2147483648}`, `stop policy "timeout": seconds is 2147483648, allowed are 1 to 2147483647`},
		{"no tokens", `{"type":"token_budget","max_total":0}`, `stop policy "token_budget": max_total is 0, allowed are 1 to 2147483647`},
		{"no errors", `{"type":"consecutive_errors","max":0}`, `stop policy "consecutive_errors": max is 0, allowed are 1 to 2147483647`},
		{"no tool", `{"type":"stop_on_tool"}`, `stop policy "stop_on_tool": tool_name is empty`},
		{"no pattern", `{"type":"content_match"}`, `stop policy "content_match": the pattern is empty`},
		{"wrong pattern", `{"type":"content_match","pattern":"["}`, "stop policy \"content_match\": pattern: error parsing regexp: missing closing ]: `[`"},
		{"two values", `{"type":"loop_detection","window":2} {}`, "stop policy: value is not JSON at byte 38: invalid character '{' after top-level value"},
		{"small window", `{"type":"loop_detection","window":1}`, `stop policy "loop_detection": window is 1, allowed are 2 to 64`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := decodeStop([]byte(tt.data))
			if err == nil || err.Error() != tt.want || core.CodeOf(err) != core.CodeInvalid {
				t.Errorf("got  %v (%s)\nwant %s", err, core.CodeOf(err), tt.want)
			}
		})
	}
}

func TestPoliciesOfAListHaveTheLimitsOfItsSpecs(t *testing.T) {
	policies, err := Spec{Stop: []StopSpec{
		{Type: "timeout", Seconds: 2147483647}, {Type: "timeout", Seconds: 90}, {Type: "max_rounds", Rounds: 2147483647},
		{Type: "max_rounds", Rounds: 8}, {Type: "consecutive_errors", Max: 3}, {Type: "loop_detection", Window: 2},
	}}.StopPolicies()
	if err != nil {
		t.Fatal(err)
	}
	turn := core.Message{ToolCalls: []core.ToolCall{{ID: "call_1", Name: "search"}}}
	view := StopView{
		StartedAt: time.Unix(1_000, 0), Now: time.Unix(1_091, 0), Step: 8, Turn: turn, ErrorSteps: 3, Calls: []uint32{7, 7}, Texts: []uint32{0, 0},
	}
	var got []string
	for _, p := range policies {
		detail := ""
		if end := p.Check(view); end != nil {
			detail = end.Detail
		}
		got = append(got, detail)
	}
	want := []string{
		"", "the run has taken 1m31s, at most 1m30s are allowed", "",
		"step 8 of at most 8 still asked for tools", "failed steps in a row: 3, the limit is 3", "the last 2 turns made the same calls",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPoliciesNamesThePlaceOfAWrongSpec(t *testing.T) {
	_, err := Spec{Stop: []StopSpec{{Type: "timeout", Seconds: 1}, {Type: "timeout"}}}.StopPolicies()
	if want := `stop[1]: stop policy "timeout": seconds is 0, allowed are 1 to 2147483647`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
