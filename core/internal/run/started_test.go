package run_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/reveille-run/reveille/core/mailbox"
)

// A step that begins its run may end it, too: the run has started once.
func TestARunThatFailsInItsFirstStepStartsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		w.submit(t, key, "fail", mailbox.ModeQueue)
		var got events
		w.finish(t, key, got.sink)
		starts := 0
		for _, line := range got.lines {
			if strings.HasPrefix(line, "run_start") {
				starts++
			}
		}
		if starts != 1 {
			t.Errorf("%d starts, want 1: %q", starts, got.lines)
		}
	})
}
