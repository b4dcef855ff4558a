package run_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/tool"
)

// A tool learns that its reader has left when it shows something that nobody takes, and not
// from what its siblings come to before.
func TestAToolLearnsFromWhatItShowsThatItsReaderHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		encoded := 0
		shows := toolFunc{name: "shows", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			for range 4 {
				time.Sleep(5 * time.Second)
				c.Activity("plan", encodes(func() { encoded++ }))
			}
			return tool.NewResult("done"), nil
		}}
		w := newWorld(t, options{
			mode: agent.ParallelStreaming, model: replies(calls("sleeps", `"1s"`, "sleeps", `"2s"`, "sleeps", `"3s"`, "shows", "{}"), text("ok")),
			tools: []tool.Tool{sleeps, shows},
		})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		gone := false
		w.finish(t, key, func(e core.Event) error {
			if gone = gone || e.Type == core.EventToolCallDone; gone {
				return errors.New("gone")
			}
			return nil
		})
		if encoded != 2 {
			t.Errorf("%d reports were made, want 2", encoded)
		}
	})
}
