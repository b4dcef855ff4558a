package history_test

import (
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run/history"
)

// Ids are derived from where a thing stands, and are in logs: they must not become
// others.
func TestIdsSayWhereAThingStands(t *testing.T) {
	run := core.ID{0: 0xab, 15: 0xcd}
	tests := []struct{ name, got, want string }{
		{"a turn", history.TurnID(run, 27), "ab000000-0000-0000-0000-0000000000cd.27"},
		{"a call", history.CallID(run, 27, 13), "call_0000000000cd_27_13"},
		{"a result", history.ResultID(run, 27, 13), "ab000000-0000-0000-0000-0000000000cd.27.13"},
	}
	for _, test := range tests {
		if test.got != test.want {
			t.Errorf("%s is %s, want %s", test.name, test.got, test.want)
		}
	}
}
