package tool_test

import (
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/tool"
)

func TestAStoppedDelegateHasAnswered(t *testing.T) {
	id, err := core.ParseID("01a201b9-85cf-799c-a7c4-09d23f59e10b")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		end   *core.Termination
		cut   bool
		data  string
		error string
	}{
		{"by itself", &core.Termination{Type: core.TerminationNatural}, false,
			`{"agent_id":"poet","run_id":"01a201b9-85cf-799c-a7c4-09d23f59e10b","status":"natural_end","response":"Roses.","steps":2}`, ""},
		{"as a plugin asked", &core.Termination{Type: core.TerminationBehavior}, true,
			`{"agent_id":"poet","run_id":"01a201b9-85cf-799c-a7c4-09d23f59e10b","status":"behavior_requested","response":"Roses.","cut":true,"steps":2}`, ""},
		{"stopped", &core.Termination{Type: core.TerminationStopped, Code: "max_rounds", Detail: "step 2 of at most 2"}, false,
			`{"agent_id":"poet","run_id":"01a201b9-85cf-799c-a7c4-09d23f59e10b","status":"stopped","stopped":"max_rounds","response":"Roses.","steps":2}`, ""},
		{"failed", &core.Termination{Type: core.TerminationError, Code: "model", Detail: "overloaded"}, false, "",
			"the run of agent poet ended without an answer: error: model: overloaded"},
		{"cancelled", &core.Termination{Type: core.TerminationCancelled}, false, "", "the run of agent poet ended without an answer: cancelled"},
		{"blocked", &core.Termination{Type: core.TerminationBlocked, Detail: "no"}, false, "", "the run of agent poet ended without an answer: blocked: no"},
		{"not said", nil, false, "", "the run of agent poet ended without an answer: error: internal"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := tool.ChildResult(core.ChildEnd{RunID: id, AgentID: "poet", Termination: tt.end, Response: "Roses.", Cut: tt.cut, Steps: 2})
			if string(r.Data) != tt.data || r.Message != tt.error || r.IsError != (tt.error != "") {
				t.Errorf("data %s, message %q, error %v\nwant %s, %q", r.Data, r.Message, r.IsError, tt.data, tt.error)
			}
		})
	}
}
