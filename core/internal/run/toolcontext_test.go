package run_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/tool"
)

// The context of a tool that has returned is over, also for what it has left running.
func TestTheContextOfAToolEndsWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		freed := make(chan time.Time, 1)
		leaves := timed{toolFunc{name: "leaves", run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			go func() {
				<-ctx.Done()
				freed <- time.Now()
			}()
			return tool.NewResult("left"), nil
		}}, time.Hour}
		w := newWorld(t, options{model: replies(calls("leaves", "{}", "sleeps", `"5s"`), text("ok")), tools: []tool.Tool{leaves, sleeps}})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		began := time.Now()
		w.finish(t, key, nil)
		if took := (<-freed).Sub(began); took != 0 {
			t.Errorf("it ended after %s, want at once", took)
		}
	})
}

// What a tool that is left behind has shown is passed on, the last of it, too, which nobody
// has waited for.
func TestTheLastOfAToolThatIsLeftBehindIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf := timed{toolFunc{name: "deaf", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			time.Sleep(2500 * time.Millisecond)
			c.Output("first ")
			time.Sleep(700 * time.Millisecond)
			c.Output("last ")
			time.Sleep(time.Minute)
			c.Output("nobody's")
			return tool.NewResult("late"), nil
		}}, time.Second}
		w := newWorld(t, options{model: replies(calls("deaf", "{}"), text("ok")), tools: []tool.Tool{deaf}})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		shown := ""
		w.finish(t, key, func(e core.Event) error {
			if e.Type == core.EventToolCallStreamDelta {
				shown += e.Delta
				time.Sleep(time.Second) // a slow reader
			}
			return nil
		})
		time.Sleep(2 * time.Minute)
		if shown != "first last " {
			t.Errorf("shown are %q", shown)
		}
	})
}

// A turn's sequence in the keys of its calls is a usual number.
func TestKeysOfLaterTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var keys []string
		notes := toolFunc{name: "notes", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			keys = append(keys, strings.TrimPrefix(c.Key(), c.Run.String()))
			return tool.NewResult("ok"), nil
		}}
		turn := calls("notes", "{}")
		w := newWorld(t, options{model: replies(turn, turn, turn, turn, turn, text("ok")), tools: []tool.Tool{notes}})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		if diff := cmp.Diff([]string{"/2/0", "/4/0", "/6/0", "/8/0", "/10/0"}, keys); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
	})
}
