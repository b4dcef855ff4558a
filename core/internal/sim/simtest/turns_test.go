package simtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model/scripted"
)

func echo(text string) core.ToolCall { return scripted.Call("echo", map[string]string{"text": text}) }

func linger(minutes int) core.ToolCall {
	return scripted.Call("linger", map[string]int{"minutes": minutes})
}

// came checks the messages of the thread, and how its runs ended.
func came(lines []string, runs ...core.TerminationType) func(Ended) error {
	return func(e Ended) error {
		var ends []core.TerminationType
		for _, r := range e.Runs {
			ends = append(ends, r.Type)
		}
		if !slices.Equal(e.Lines(), lines) || !slices.Equal(ends, runs) {
			return fmt.Errorf("%q %q, want %q %q", e.Lines(), ends, lines, runs)
		}
		return nil
	}
}

func TestScenariosWithTurnsOfTheirOwn(t *testing.T) {
	if raced {
		t.Skip("a world takes eight times as long: it runs without the race detector")
	}
	several := []scripted.Turn{
		{Text: "Both.", Calls: []core.ToolCall{echo("one"), echo("two")}},
		{Text: "One more, in pieces.", Cut: true, Calls: []core.ToolCall{echo("three")}},
		{Text: "Done."},
		{Input: "thanks", Text: "Bye."},
	}
	lines := []string{
		"user: go", `assistant: Both.[echo {"text":"one"}][echo {"text":"two"}]`, `tool: "one"`, `tool: "two"`,
		`assistant: One more, in pieces.[echo {"text":"three"}]`, `tool: "three"`, "assistant: Done.", "user: thanks", "assistant: Bye.",
	}
	var scenarios []Scenario
	modes := []agent.ExecutionMode{agent.ParallelStreaming, agent.Sequential}
	for _, mode := range modes {
		scenarios = append(scenarios, Scenario{
			Name: string(mode), Agent: string(mode), Turns: several, Person: []Act{Say("go"), Say("thanks")},
			Check: came(lines, core.TerminationNatural, core.TerminationNatural),
		})
	}
	scenarios = append(scenarios,
		Scenario{Name: "approved side by side", Agent: string(agent.ParallelStreaming), Person: []Act{Say("go"), Approve(), Deny("no")},
			Turns: []scripted.Turn{{Calls: []core.ToolCall{echo("wait 1"), echo("now"), echo("wait 2")}}, {Text: "Done."}},
			Check: came([]string{
				"user: go", `assistant: [echo {"text":"wait 1"}][echo {"text":"now"}][echo {"text":"wait 2"}]`,
				`tool: "wait 1"`, `tool: "now"`, "tool: denied: no", "assistant: Done.",
			}, core.TerminationNatural)},
		Scenario{Name: "steered", Person: []Act{Say("go"), Steer("on").While("linger")}, Varies: true,
			Turns: []scripted.Turn{{Calls: []core.ToolCall{linger(5)}}, {Calls: []core.ToolCall{echo("2")}}, {Text: "3"}, {Input: "on", Text: "late"}},
			Check: func(e Ended) error {
				if all := strings.Join(e.Lines(), "; "); strings.Count(all, "user: on") != 1 || strings.Count(all, `[echo {"text":"2"}]; tool: "2"; assistant: 3`) != 1 {
					return fmt.Errorf("%s", all)
				}
				return nil
			}},
		Scenario{Name: "interrupted", Person: []Act{Say("go"), Interrupt("stop").While("linger")}, Varies: true,
			Turns: []scripted.Turn{{Calls: []core.ToolCall{linger(60)}}, {Text: "2"}, {Input: "stop", Calls: []core.ToolCall{echo("stopped")}}, {Text: "4"}},
			Check: func(e Ended) error {
				if all := strings.Join(e.Lines(), "; "); !strings.HasSuffix(all, `user: stop; assistant: [echo {"text":"stopped"}]; tool: "stopped"; assistant: 4`) {
					return fmt.Errorf("%s", all)
				}
				return nil
			}},
		Scenario{Name: "with a child", Person: []Act{Say("go")},
			Turns: []scripted.Turn{
				{Calls: []core.ToolCall{scripted.Call("delegate", map[string]string{"prompt": "dig"})}}, {Text: "ok"},
				{Input: "dig", Calls: []core.ToolCall{echo("found")}}, {Text: "dug"},
			},
			Check: came([]string{"user: go", `assistant: [delegate {"prompt":"dig"}]`, `tool: "natural_end: dug"`, "assistant: ok"}, core.TerminationNatural)},
	)
	if diff := cmp.Diff([]string(nil), found(t, matrixParts, scenarios...)); diff != "" {
		t.Errorf("mistakes (-want +got):\n%s", diff)
	}
}

func TestARunWithoutTheTurnThatItAsksForIsAMistake(t *testing.T) {
	short := Scenario{Name: "s", Person: []Act{Say("go")}, Turns: []scripted.Turn{{Calls: []core.ToolCall{echo("1")}}}}
	want := []string{"world: scripted turns: step 2 of the run has no turn, there are 1"}
	if diff := cmp.Diff(want, found(t, matrixParts, short)); diff != "" {
		t.Errorf("mistakes (-want +got):\n%s", diff)
	}
	wrong := Scenario{Name: "s", Person: []Act{Say("go")}, Turns: []scripted.Turn{{Calls: []core.ToolCall{{}}}}}
	if err := check([]Scenario{wrong}); fmt.Sprint(err) != `scenario "s": scripted turns: turn 1: call 0 has no name` {
		t.Errorf("turns that cannot be said: %v", err)
	}
}
