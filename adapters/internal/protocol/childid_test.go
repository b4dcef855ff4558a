package protocol_test

import (
	"testing"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

// The id of a call of a child run names both, also if the call's own id has a colon.
func TestAnIDOfAChildRunNamesBoth(t *testing.T) {
	run := core.ID{1, 15: 2}
	const id = "01000000-0000-0000-0000-000000000002:call:1"
	if got := protocol.ChildID(run, "call:1"); got != id {
		t.Errorf("%s, want %s", got, id)
	}
	if got, rest, ok := protocol.ParseChildID(id); got != run || rest != "call:1" || !ok {
		t.Errorf("%s, %q, %t", got, rest, ok)
	}
	for _, other := range []string{"", "call_1", "call:1", "01000000-0000-0000-0000-000000000002", "01000000-0000-0000-0000-000000000002:"} {
		if got, rest, ok := protocol.ParseChildID(other); ok {
			t.Errorf("%q is read as %s, %q", other, got, rest)
		}
	}
}
