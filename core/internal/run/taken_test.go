package run

import (
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run/checkpoint"
)

// An id is taken by any call of any turn that is shown.
func TestWhichCallIDsAreTaken(t *testing.T) {
	turn := func(ids ...string) core.Message {
		m := core.Message{Role: core.RoleAssistant}
		for _, id := range ids {
			m.ToolCalls = append(m.ToolCalls, core.ToolCall{ID: id})
		}
		return m
	}
	p := &prompt{draft: &draft{messages: checkpoint.ListOf([]core.Message{core.UserMessage("hi").WithID("d"), turn("a", "b"), turn("c")})}}
	for id, want := range map[string]bool{"a": true, "b": true, "c": true, "d": false, "": false} {
		if got := p.Taken(id); got != want {
			t.Errorf("%q is taken: %v, want %v", id, got, want)
		}
	}
	if p.draft.messages = checkpoint.ListOf([]core.Message{turn("a")}); p.Taken("b") {
		t.Error("an id is taken that no call has")
	}
}
