package delegate

import (
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/plugin"
)

// TestTheResultOfEveryEnd has each end of a delegate's run.
func TestTheResultOfEveryEnd(t *testing.T) {
	run := core.ID{15: 7}
	ended := func(t core.Termination) core.ChildEnd {
		return core.ChildEnd{RunID: run, ThreadID: "child.x", AgentID: "poet", Termination: &t, Response: "Roses.", Steps: 2}
	}
	said := func(text string, cut bool) core.ChildEnd {
		end := ended(core.Termination{Type: core.TerminationNatural})
		end.Response, end.Cut = text, cut
		return end
	}
	for _, tt := range []struct {
		name        string
		typed       bool
		end         core.ChildEnd
		data, error string
	}{
		{"by itself", false, ended(core.Termination{Type: core.TerminationNatural}), `{"agent_id":"poet","status":"completed","response":"Roses.","output":"Roses.","steps":2}`, ""},
		{"as a policy of the program asked", false, ended(core.Termination{Type: core.TerminationBehavior}), `{"agent_id":"poet","status":"completed","response":"Roses.","output":"Roses.","steps":2}`, ""},
		{"stopped", false, ended(core.Termination{Type: core.TerminationStopped, Code: "max_rounds", Detail: "step 2"}), `{"agent_id":"poet","status":"stopped","stopped":"max_rounds","response":"Roses.","output":"Roses.","steps":2}`, ""},
		{"stopped by time", false, ended(core.Termination{Type: core.TerminationStopped, Code: "timeout"}), `{"agent_id":"poet","status":"stopped","stopped":"timeout","response":"Roses.","output":"Roses.","steps":2}`, ""},
		{"in a form", true, said(`{"lines": [1, 2]}`, false), `{"agent_id":"poet","status":"completed","response":"{\"lines\": [1, 2]}","output":{"lines":[1,2]},"steps":2}`, ""},
		{"not in its form", true, said("Roses.", false), `{"agent_id":"poet","status":"completed","response":"Roses.","output":"Roses.","steps":2}`, ""},
		{"in a form, cut", true, said("12", true), `{"agent_id":"poet","status":"completed","response":"12","output":"12","cut":true,"steps":2}`, ""},
		{"JSON without a form", false, said("12", false), `{"agent_id":"poet","status":"completed","response":"12","output":"12","steps":2}`, ""},
		{"no text", false, said("", false), `{"agent_id":"poet","status":"completed","response":"","output":"","steps":2}`, ""},
		{"blocked", false, ended(core.Termination{Type: core.TerminationBlocked, Detail: "shell is denied"}), "", "delegation to poet failed: blocked: shell is denied"},
		{"blocked with a code", false, ended(core.Termination{Type: core.TerminationBlocked, Code: "rule", Detail: "shell"}), "", "delegation to poet failed: blocked: rule: shell"},
		{"failed", false, ended(core.Termination{Type: core.TerminationError, Code: "model", Detail: "overloaded"}), "", "delegation to poet failed: model: overloaded"},
		{"expired", false, ended(core.Termination{Type: core.TerminationError, Code: "expired", Detail: "a decision did not come in time"}), "", "delegation to poet failed: expired: a decision did not come in time"},
		{"out of time", false, ended(core.Termination{Type: core.TerminationError, Code: "timeout", Detail: "the step did not finish"}), "", "delegation to poet timed out"},
		{"cancelled", false, ended(core.Termination{Type: core.TerminationCancelled}), "", "delegation to poet cancelled"},
		{"superseded", false, ended(core.Termination{Type: core.TerminationSuperseded}), "", "delegation to poet cancelled"},
		{"unknown", false, core.ChildEnd{RunID: run}, "", "delegation to poet failed: internal"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := delegation{agent: plugin.Delegate{ID: "poet", Typed: tt.typed}}.result(tt.end)
			if string(r.Data) != tt.data || r.Message != tt.error || r.IsError != (tt.error != "") || r.Err != nil {
				t.Errorf("data %s, message %q, error %t, %v\nwant %s, %q", r.Data, r.Message, r.IsError, r.Err, tt.data, tt.error)
			}
			if got := string(r.Metadata["child_run_id"]); got != `"00000000-0000-0000-0000-000000000007"` {
				t.Errorf("child_run_id is %s", got)
			}
		})
	}
}

func TestAPromptIsAText(t *testing.T) {
	for prompt, refused := range map[string]bool{"": true, " \n\t": true, " x ": false} {
		err := arguments{Prompt: prompt}.Check()
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), "prompt") {
			t.Errorf("%q: %v", prompt, err)
		}
	}
}
