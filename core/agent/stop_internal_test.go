package agent

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/stop"
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

func must(t *testing.T) func(StopPolicy, error) StopPolicy {
	return func(p StopPolicy, err error) StopPolicy {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
}

func TestWhenEachPolicyStops(t *testing.T) {
	policy := must(t)
	failed := StopView{Step: 3, Failed: "overloaded", ErrorSteps: 2}
	tests := []struct {
		name   string
		policy StopPolicy
		view   StopView
		want   string // code and detail
	}{
		{"max_rounds before the limit", maxRounds(3), StopView{Step: 2, Turn: said("", "dig")}, ""},
		{"max_rounds at the limit", maxRounds(3), StopView{Step: 3, Turn: said("", "dig")}, "max_rounds: step 3 of at most 3 still asked for tools"},
		{"max_rounds after a limit that was lowered", maxRounds(3), StopView{Step: 5, Turn: said("", "dig")}, "max_rounds: step 5 of at most 3 still asked for tools"},
		{"max_rounds of one step", maxRounds(1), StopView{Step: 1, Turn: said("", "dig")}, "max_rounds: step 1 of at most 1 still asked for tools"},
		{"max_rounds at a last turn", maxRounds(3), StopView{Step: 3, Turn: said("done")}, ""},
		{"max_rounds at a step that failed", maxRounds(3), failed, "max_rounds: step 3 of at most 3 failed"},
		{"max_rounds without a limit", maxRounds(0), StopView{Step: 1000, Turn: said("", "dig")}, ""},

		{"timeout at the limit", timeout(30 * time.Second), StopView{StartedAt: at(0), Now: at(30), Turn: said("", "dig")}, ""},
		{"timeout behind it", timeout(30 * time.Second), StopView{StartedAt: at(0), Now: at(31), Turn: said("", "dig")}, "timeout: the run has taken 31s, at most 30s are allowed"},
		{"timeout at a late answer", timeout(30 * time.Second), StopView{StartedAt: at(0), Now: at(31), Turn: said("done")}, ""},
		{"timeout at a step that failed", timeout(time.Minute), StopView{StartedAt: at(0), Now: at(90), Failed: "timeout"}, "timeout: the run has taken 1m30s, at most 1m0s are allowed"},
		{"timeout of a run whose start is lost", timeout(time.Second), StopView{Now: at(90), Turn: said("", "dig")}, ""},
		{"timeout of next to nothing", timeout(1), StopView{StartedAt: at(0), Now: at(90), Turn: said("", "dig")}, "timeout: the run has taken 1m30s, at most 1ns are allowed"},
		{"timeout of none", timeout(0), StopView{StartedAt: at(0), Now: at(90), Turn: said("", "dig")}, ""},

		{"token_budget at the limit", tokenBudget(100), StopView{Usage: core.Usage{Input: 60, Output: 40}, Turn: said("", "dig")}, ""},
		{"token_budget behind it", tokenBudget(100), StopView{Usage: core.Usage{Input: 60, Output: 41}, Turn: said("", "dig")}, "token_budget: the run has used 101 tokens, at most 100 are allowed"},
		{"token_budget counts no cached tokens beside the input", tokenBudget(100), StopView{Usage: core.Usage{Input: 60, CacheRead: 50, Output: 40}, Turn: said("", "dig")}, ""},
		{"token_budget at a costly answer", tokenBudget(100), StopView{Usage: core.Usage{Output: 101}, Turn: said("done")}, ""},
		{"token_budget at a step that failed", tokenBudget(100), StopView{Usage: core.Usage{Input: 101}, Failed: "interrupted"}, "token_budget: the run has used 101 tokens, at most 100 are allowed"},
		{"token_budget of one token", tokenBudget(1), StopView{Usage: core.Usage{Output: 2}, Turn: said("", "dig")}, "token_budget: the run has used 2 tokens, at most 1 are allowed"},
		{"token_budget of none", tokenBudget(0), StopView{Usage: core.Usage{Output: 101}, Turn: said("", "dig")}, ""},

		{"consecutive_errors before the limit", consecutiveErrors(3), failed, ""},
		{"consecutive_errors at the limit", consecutiveErrors(2), failed, "consecutive_errors: failed steps in a row: 2, the limit is 2"},
		{"consecutive_errors of calls", consecutiveErrors(1), StopView{ErrorSteps: 1, Turn: said("", "dig")}, "consecutive_errors: failed steps in a row: 1, the limit is 1"},
		{"consecutive_errors of none", consecutiveErrors(0), failed, ""},

		{"stop_on_tool at the tool", stopOnTool("done"), StopView{Turn: said("", "dig", "done")}, `stop_on_tool: the tool "done" was called`},
		{"stop_on_tool at another", stopOnTool("done"), StopView{Turn: said("done", "dig")}, ""},
		{"stop_on_tool at a last turn", stopOnTool("done"), StopView{Turn: said("done")}, ""},
		{"stop_on_tool without a name", stopOnTool(""), StopView{Turn: said("", "")}, ""},

		{"content_match inside the text", policy(newContentMatch("(?i)all done")), StopView{Turn: said("We are ALL DONE here.", "dig")}, `content_match: the text matches "(?i)all done"`},
		{"content_match at a last turn", policy(newContentMatch("^done$")), StopView{Turn: said("done")}, `content_match: the text matches "^done$"`},
		{"content_match of another text", policy(newContentMatch("^done$")), StopView{Turn: said("not done")}, ""},
		{"content_match without a text", policy(newContentMatch(".*")), StopView{Turn: said("", "dig")}, ""},
		{"content_match of reasoning", policy(newContentMatch("done")), StopView{Turn: core.Message{Content: []core.Block{{Type: core.BlockReasoning, Text: "done"}}}}, ""},

		{"loop_detection of calls", policy(newLoopDetection(3)), StopView{Calls: []uint32{1, 7, 7, 7}, Texts: []uint32{0, 1, 2, 3}}, "loop_detection: the last 3 turns made the same calls"},
		{"loop_detection of texts", policy(newLoopDetection(2)), StopView{Calls: []uint32{1, 2, 0}, Texts: []uint32{4, 5, 5}}, "loop_detection: the last 2 turns said the same text"},
		{"loop_detection of as many turns as there are", policy(newLoopDetection(3)), StopView{Calls: []uint32{7, 7, 7}, Texts: []uint32{0, 0, 0}}, "loop_detection: the last 3 turns made the same calls"},
		{"loop_detection of fewer turns", policy(newLoopDetection(4)), StopView{Calls: []uint32{7, 7, 7}, Texts: []uint32{0, 0, 0}}, ""},
		{"loop_detection of a loop that has ended", policy(newLoopDetection(2)), StopView{Calls: []uint32{7, 7, 8}, Texts: []uint32{5, 5, 6}}, ""},
		{"loop_detection of turns that say nothing", policy(newLoopDetection(2)), StopView{Calls: []uint32{1, 2}, Texts: []uint32{0, 0}}, ""},
		{"loop_detection at a step that failed", policy(newLoopDetection(2)), StopView{Calls: []uint32{7, 7}, Texts: []uint32{0, 0}, Failed: "overloaded"}, ""},
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
	policy(newContentMatch(string(long[:1024])))
	policy(newLoopDetection(2))
	policy(newLoopDetection(64))
	tests := []struct {
		name string
		make func() (StopPolicy, error)
		want string
	}{
		{"wrong pattern", func() (StopPolicy, error) { return newContentMatch("a(") }, "stop policy \"content_match\": pattern: error parsing regexp: missing closing ): `a(`"},
		{"empty pattern", func() (StopPolicy, error) { return newContentMatch("") }, `stop policy "content_match": the pattern is empty`},
		{"long pattern", func() (StopPolicy, error) { return newContentMatch(string(long)) }, `stop policy "content_match": the pattern is 1025 bytes long, at most 1024 are allowed`},
		{"window of one", func() (StopPolicy, error) { return newLoopDetection(1) }, `stop policy "loop_detection": window is 1, allowed are 2 to 64`},
		{"window beyond what is kept", func() (StopPolicy, error) { return newLoopDetection(65) }, `stop policy "loop_detection": window is 65, allowed are 2 to 64`},
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

func (b budget) Check(v StopView) *core.Termination {
	if v.Usage.Output <= int(b) {
		return nil
	}
	return stopped("budget", "")
}

func TestWhichListsTolerateFailures(t *testing.T) {
	tests := []struct {
		name     string
		policies []StopPolicy
		want     bool
	}{
		{"none", nil, false},
		{"limits alone", []StopPolicy{maxRounds(3), StopFunc(func(StopView) *core.Termination { return nil })}, false},
		{"consecutive_errors", []StopPolicy{maxRounds(3), consecutiveErrors(2)}, true},
		{"consecutive_errors of one", []StopPolicy{consecutiveErrors(1)}, true},
		{"consecutive_errors that is switched off", []StopPolicy{consecutiveErrors(0)}, false},
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
		policies []StopPolicy
		want     string
	}{
		{"none", nil, ""},
		{"nil", []StopPolicy{maxRounds(1), nil}, "stop policy Parts.Stops[1] is nil"},
		{"a function", []StopPolicy{StopFunc(func(StopView) *core.Termination { return nil })}, ""},
		{"a nil function", []StopPolicy{StopFunc(nil)}, "stop policy Parts.Stops[0] is nil"},
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
	named := []StopPolicy{
		maxRounds(1), timeout(1), tokenBudget(1), consecutiveErrors(1), stopOnTool("x"),
		policy(newContentMatch("x")), policy(newLoopDetection(2)), budget(1), StopFunc(nil),
	}
	var got []string
	for _, p := range named {
		got = append(got, stop.Name(p))
	}
	want := []string{
		"max_rounds", "timeout", "token_budget", "consecutive_errors", "stop_on_tool", "content_match", "loop_detection",
		"agent.budget", "agent.StopFunc",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
