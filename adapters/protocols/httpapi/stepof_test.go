package httpapi

import (
	"encoding/json"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
)

// A call that waited names the user who has decided, and the time that a person may have been
// earlier than.
func TestACallThatWaitedHasItsDecider(t *testing.T) {
	step := stepOf(host.Step{Calls: []host.StepCall{{ToolCall: core.ToolCall{ID: "c"}, Wait: host.CallWait{
		Asked: 1, Answered: 2, Action: core.DecisionResume, WakeAt: 3, User: "ann",
	}}}})
	got, err := json.Marshal(step.Calls[0])
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"id":"c","name":"","arguments":null,"status":"","asked_at":1,"answered_at":2,"action":"resume","wakes_at":3,"user":"ann"}`
	if string(got) != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
