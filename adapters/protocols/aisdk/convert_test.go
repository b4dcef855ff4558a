package aisdk

import (
	"testing"

	"github.com/reveille-run/reveille/core"
)

func TestWhatTheRuntimeSaysToAModelIsNotShown(t *testing.T) {
	mend := core.UserMessage("[again]").WithID("b")
	mend.Repair = true
	if got := convert([]core.Message{core.UserMessage("hi").WithID("a"), mend}).out; len(got) != 1 || got[0].ID != "a" {
		t.Errorf("shown are %+v, want the first alone", got)
	}
}
