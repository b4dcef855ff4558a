package acp

import (
	"testing"

	"github.com/reveille-run/reveille/core"
)

func TestWhatTheRuntimeSaysToAModelIsNotShown(t *testing.T) {
	said := core.UserMessage("hi").WithID("a")
	mend := said
	mend.Repair = true
	h := history{}
	if shown, hidden := h.message(said), h.message(mend); len(shown) != 1 || hidden != nil {
		t.Errorf("shown are %+v and %+v, want the first alone", shown, hidden)
	}
}
