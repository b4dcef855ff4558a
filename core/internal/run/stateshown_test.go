package run_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
)

// A state of 64 KiB and more is shown to a reader where a stream begins, and not again behind
// a step that has changed it.
func TestHowLargeAStateIsShown(t *testing.T) {
	for bytes, want := range map[int]string{1_000: "state_snapshot state_delta state_snapshot", 100_000: "state_snapshot state_delta"} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, options{plugins: []plugin.Plugin{pluginFunc{"piles", func(r *plugin.Registrar) {
				r.Key(seenBy)
				r.OnStepEnd(func(_ context.Context, c plugin.StepEnd) (state.Command, error) {
					list, err := seenBy.Read(c.Snapshot)
					if len(list) == 0 {
						list = []string{strings.Repeat("x", bytes)}
					}
					return seenBy.Update(append(list[:1:1], time.Now().String())), err
				})
			}}}})
			w.submit(t, key, "hi", mailbox.ModeQueue)
			w.finish(t, key, nil)
			time.Sleep(time.Second)
			w.submit(t, key, "hi", mailbox.ModeQueue)
			var told []string
			w.finish(t, key, func(e core.Event) error {
				if strings.HasPrefix(string(e.Type), "state_") {
					told = append(told, string(e.Type))
				}
				return nil
			})
			if got := strings.Join(told, " "); got != want {
				t.Errorf("with %d bytes told are %q, want %q", bytes, got, want)
			}
		})
	}
}
