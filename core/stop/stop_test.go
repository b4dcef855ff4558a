package stop_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/stop"
)

// at is a time so many seconds after the run's first step began.
func at(seconds int64) time.Time { return time.Unix(1_000+seconds, 0) }

// said is a turn of text and calls without arguments.
func said(text string, tools ...string) core.Message {
	m := core.Message{Role: core.RoleAssistant}
	if text != "" {
		m.Content = []core.Block{{Type: core.BlockText, Text: text}}
	}
	for _, name := range tools {
		m.ToolCalls = append(m.ToolCalls, core.ToolCall{ID: "c", Name: name, Arguments: json.RawMessage(`{}`)})
	}
	return m
}

func must(t *testing.T) func(stop.Policy, error) stop.Policy {
	return func(p stop.Policy, err error) stop.Policy {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
}

func TestWhenEachPolicyStops(t *testing.T) {
	policy := must(t)
	failed := stop.View{Step: 3, Failed: "overloaded", ErrorSteps: 2}
	tests := []struct {
		name   string
		policy stop.Policy
		view   stop.View
		want   string // code and detail
	}{
		{"max_rounds before the limit", stop.MaxRounds(3), stop.View{Step: 2, Turn: said("", "dig")}, ""},
		{"max_rounds at the limit", stop.MaxRounds(3), stop.View{Step: 3, Turn: said("", "dig")}, "max_rounds: step 3 of at most 3 still asked for tools"},
		{"max_rounds after a limit that was lowered", stop.MaxRounds(3), stop.View{Step: 5, Turn: said("", "dig")}, "max_rounds: step 5 of at most 3 still asked for tools"},
		{"max_rounds of one step", stop.MaxRounds(1), stop.View{Step: 1, Turn: said("", "dig")}, "max_rounds: step 1 of at most 1 still asked for tools"},
		{"max_rounds at a last turn", stop.MaxRounds(3), stop.View{Step: 3, Turn: said("done")}, ""},
		{"max_rounds at a step that failed", stop.MaxRounds(3), failed, "max_rounds: step 3 of at most 3 failed"},
		{"max_rounds without a limit", stop.MaxRounds(0), stop.View{Step: 1000, Turn: said("", "dig")}, ""},

		{"timeout at the limit", stop.Timeout(30 * time.Second), stop.View{StartedAt: at(0), Now: at(30), Turn: said("", "dig")}, ""},
		{"timeout behind it", stop.Timeout(30 * time.Second), stop.View{StartedAt: at(0), Now: at(31), Turn: said("", "dig")}, "timeout: the run has taken 31s, at most 30s are allowed"},
		{"timeout at a late answer", stop.Timeout(30 * time.Second), stop.View{StartedAt: at(0), Now: at(31), Turn: said("done")}, ""},
		{"timeout at a step that failed", stop.Timeout(time.Minute), stop.View{StartedAt: at(0), Now: at(90), Failed: "timeout"}, "timeout: the run has taken 1m30s, at most 1m0s are allowed"},
		{"timeout of a run whose start is lost", stop.Timeout(time.Second), stop.View{Now: at(90), Turn: said("", "dig")}, ""},
		{"timeout of next to nothing", stop.Timeout(1), stop.View{StartedAt: at(0), Now: at(90), Turn: said("", "dig")}, "timeout: the run has taken 1m30s, at most 1ns are allowed"},
		{"timeout of none", stop.Timeout(0), stop.View{StartedAt: at(0), Now: at(90), Turn: said("", "dig")}, ""},

		{"token_budget at the limit", stop.TokenBudget(100), stop.View{Usage: core.Usage{Input: 60, Output: 40}, Turn: said("", "dig")}, ""},
		{"token_budget behind it", stop.TokenBudget(100), stop.View{Usage: core.Usage{Input: 60, Output: 41}, Turn: said("", "dig")}, "token_budget: the run has used 101 tokens, at most 100 are allowed"},
		{"token_budget counts no cached tokens beside the input", stop.TokenBudget(100), stop.View{Usage: core.Usage{Input: 60, CacheRead: 50, Output: 40}, Turn: said("", "dig")}, ""},
		{"token_budget at a costly answer", stop.TokenBudget(100), stop.View{Usage: core.Usage{Output: 101}, Turn: said("done")}, ""},
		{"token_budget at a step that failed", stop.TokenBudget(100), stop.View{Usage: core.Usage{Input: 101}, Failed: "interrupted"}, "token_budget: the run has used 101 tokens, at most 100 are allowed"},
		{"token_budget of one token", stop.TokenBudget(1), stop.View{Usage: core.Usage{Output: 2}, Turn: said("", "dig")}, "token_budget: the run has used 2 tokens, at most 1 are allowed"},
		{"token_budget of none", stop.TokenBudget(0), stop.View{Usage: core.Usage{Output: 101}, Turn: said("", "dig")}, ""},

		{"consecutive_errors before the limit", stop.ConsecutiveErrors(3), failed, ""},
		{"consecutive_errors at the limit", stop.ConsecutiveErrors(2), failed, "consecutive_errors: failed steps in a row: 2, the limit is 2"},
		{"consecutive_errors of calls", stop.ConsecutiveErrors(1), stop.View{ErrorSteps: 1, Turn: said("", "dig")}, "consecutive_errors: failed steps in a row: 1, the limit is 1"},
		{"consecutive_errors of none", stop.ConsecutiveErrors(0), failed, ""},

		{"stop_on_tool at the tool", stop.StopOnTool("done"), stop.View{Turn: said("", "dig", "done")}, `stop_on_tool: the tool "done" was called`},
		{"stop_on_tool at another", stop.StopOnTool("done"), stop.View{Turn: said("done", "dig")}, ""},
		{"stop_on_tool at a last turn", stop.StopOnTool("done"), stop.View{Turn: said("done")}, ""},
		{"stop_on_tool without a name", stop.StopOnTool(""), stop.View{Turn: said("", "")}, ""},

		{"content_match inside the text", policy(stop.ContentMatch("(?i)all done")), stop.View{Turn: said("We are ALL DONE here.", "dig")}, `content_match: the text matches "(?i)all done"`},
		{"content_match at a last turn", policy(stop.ContentMatch("^done$")), stop.View{Turn: said("done")}, `content_match: the text matches "^done$"`},
		{"content_match of another text", policy(stop.ContentMatch("^done$")), stop.View{Turn: said("not done")}, ""},
		{"content_match without a text", policy(stop.ContentMatch(".*")), stop.View{Turn: said("", "dig")}, ""},
		{"content_match of reasoning", policy(stop.ContentMatch("done")), stop.View{Turn: core.Message{Content: []core.Block{{Type: core.BlockReasoning, Text: "done"}}}}, ""},

		{"loop_detection of calls", policy(stop.LoopDetection(3)), stop.View{Calls: []uint32{1, 7, 7, 7}, Texts: []uint32{0, 1, 2, 3}}, "loop_detection: the last 3 turns made the same calls"},
		{"loop_detection of texts", policy(stop.LoopDetection(2)), stop.View{Calls: []uint32{1, 2, 0}, Texts: []uint32{4, 5, 5}}, "loop_detection: the last 2 turns said the same text"},
		{"loop_detection of as many turns as there are", policy(stop.LoopDetection(3)), stop.View{Calls: []uint32{7, 7, 7}, Texts: []uint32{0, 0, 0}}, "loop_detection: the last 3 turns made the same calls"},
		{"loop_detection of fewer turns", policy(stop.LoopDetection(4)), stop.View{Calls: []uint32{7, 7, 7}, Texts: []uint32{0, 0, 0}}, ""},
		{"loop_detection of a loop that has ended", policy(stop.LoopDetection(2)), stop.View{Calls: []uint32{7, 7, 8}, Texts: []uint32{5, 5, 6}}, ""},
		{"loop_detection of turns that say nothing", policy(stop.LoopDetection(2)), stop.View{Calls: []uint32{1, 2}, Texts: []uint32{0, 0}}, ""},
		{"loop_detection at a step that failed", policy(stop.LoopDetection(2)), stop.View{Calls: []uint32{7, 7}, Texts: []uint32{0, 0}, Failed: "overloaded"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if end := tt.policy.Check(tt.view); end != nil {
				got = end.Code + ": " + end.Detail
				if end.Type != "stopped" {
					t.Errorf("the termination is of type %q, want stopped", end.Type)
				}
			}
			if got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestPoliciesThatCannotBeMade(t *testing.T) {
	long := make([]byte, 1025)
	for i := range long {
		long[i] = 'x'
	}
	policy := must(t)
	policy(stop.ContentMatch(string(long[:1024])))
	policy(stop.LoopDetection(2))
	policy(stop.LoopDetection(64))
	tests := []struct {
		name string
		make func() (stop.Policy, error)
		want string
	}{
		{"wrong pattern", func() (stop.Policy, error) { return stop.ContentMatch("a(") }, "stop policy \"content_match\": pattern: error parsing regexp: missing closing ): `a(`"},
		{"empty pattern", func() (stop.Policy, error) { return stop.ContentMatch("") }, `stop policy "content_match": the pattern is empty`},
		{"long pattern", func() (stop.Policy, error) { return stop.ContentMatch(string(long)) }, `stop policy "content_match": the pattern is 1025 bytes long, at most 1024 are allowed`},
		{"window of one", func() (stop.Policy, error) { return stop.LoopDetection(1) }, `stop policy "loop_detection": window is 1, allowed are 2 to 64`},
		{"window beyond what is kept", func() (stop.Policy, error) { return stop.LoopDetection(65) }, `stop policy "loop_detection": window is 65, allowed are 2 to 64`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := tt.make()
			if err == nil || p != nil || err.Error() != tt.want || core.CodeOf(err) != core.CodeInvalid {
				t.Errorf("got %v and %v (%s), want the error %s with code invalid", p, err, core.CodeOf(err), tt.want)
			}
		})
	}
}

// budget is a policy of one's own.
type budget int

func (b budget) Check(v stop.View) *core.Termination {
	if v.Usage.Output <= int(b) {
		return nil
	}
	return stop.Stop("budget", "")
}

func TestWhichListsTolerateFailures(t *testing.T) {
	tests := []struct {
		name     string
		policies []stop.Policy
		want     bool
	}{
		{"none", nil, false},
		{"limits alone", []stop.Policy{stop.MaxRounds(3), stop.Func(func(stop.View) *core.Termination { return nil })}, false},
		{"consecutive_errors", []stop.Policy{stop.MaxRounds(3), stop.ConsecutiveErrors(2)}, true},
		{"consecutive_errors of one", []stop.Policy{stop.ConsecutiveErrors(1)}, true},
		{"consecutive_errors that is switched off", []stop.Policy{stop.ConsecutiveErrors(0)}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := stop.Tolerates(tt.policies); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestNilPoliciesAreRefusedByTheirPlace(t *testing.T) {
	tests := []struct {
		name     string
		policies []stop.Policy
		want     string
	}{
		{"none", nil, ""},
		{"nil", []stop.Policy{stop.MaxRounds(1), nil}, "stop policy Parts.Stops[1] is nil"},
		{"a function", []stop.Policy{stop.Func(func(stop.View) *core.Termination { return nil })}, ""},
		{"a nil function", []stop.Policy{stop.Func(nil)}, "stop policy Parts.Stops[0] is nil"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if err := stop.CheckAll("Parts.Stops", tt.policies); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestNamesOfPolicies(t *testing.T) {
	policy := must(t)
	named := []stop.Policy{
		stop.MaxRounds(1), stop.Timeout(1), stop.TokenBudget(1), stop.ConsecutiveErrors(1), stop.StopOnTool("x"),
		policy(stop.ContentMatch("x")), policy(stop.LoopDetection(2)), budget(1), stop.Func(nil),
	}
	var got []string
	for _, p := range named {
		got = append(got, stop.Name(p))
	}
	want := []string{
		"max_rounds", "timeout", "token_budget", "consecutive_errors", "stop_on_tool", "content_match", "loop_detection",
		"stop_test.budget", "stop.Func",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A policy that is a function: it ends a run that has searched three times in a row
// without saying anything.
func ExampleFunc() {
	silent := stop.Func(func(v stop.View) *core.Termination {
		searches := 0
		for _, m := range append(v.Turns[:len(v.Turns):len(v.Turns)], v.Turn) {
			switch {
			case m.Role != core.RoleAssistant:
			case m.Text() != "":
				searches = 0
			default:
				searches++
			}
		}
		if searches < 3 || !v.GoesOn() {
			return nil
		}
		return stop.Stop("silent", fmt.Sprintf("%d turns without a word", searches))
	})
	search := core.Message{Role: core.RoleAssistant, ToolCalls: []core.ToolCall{{ID: "call_1", Name: "search"}}}
	fmt.Println(silent.Check(stop.View{Step: 2, Turn: search, Turns: []core.Message{search}}))
	fmt.Println(silent.Check(stop.View{Step: 3, Turn: search, Turns: []core.Message{search, search}}).Detail)
	// Output:
	// <nil>
	// 3 turns without a word
}

func ExampleMaxRounds() {
	policy := stop.MaxRounds(2)
	view := stop.View{Step: 2, Turn: core.Message{ToolCalls: []core.ToolCall{{ID: "call_1", Name: "search"}}}}
	fmt.Println(policy.Check(view).Detail)
	// Output: step 2 of at most 2 still asked for tools
}
