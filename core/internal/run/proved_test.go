package run_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/tool"
)

// Whoever waits until a run has made progress hears of it when the turn is committed, and
// of each result that a tool gave and that is stored. What the runtime says of a tool that
// it has left behind, and that goes on, proves nothing.
func TestProgressIsToldWhileTheStepGoesOn(t *testing.T) {
	tests := []struct {
		name  string
		lasts [2]time.Duration
		limit time.Duration // of the tools
		want  []string
	}{
		{"a turn and a result", [2]time.Duration{20 * time.Second, 2 * time.Second}, 0, []string{"1s", "3s"}},
		{"a tool that is left behind", [2]time.Duration{20 * time.Second, 20 * time.Second}, 4 * time.Second, []string{"1s"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, options{
					mode: agent.ParallelStreaming, model: pacing(time.Second/5, begin(0, "x", "act"), argue(0, "{}"), begin(1, "y", "act"), argue(1, "{}"), model.Delta{Type: model.DeltaStop, Stop: core.StopToolUse}),
					tools: []tool.Tool{timed{toolFunc{name: "act", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
						time.Sleep(tt.lasts[c.Index]) // whatever its context says
						return tool.NewResult("ok"), nil
					}}, tt.limit}},
				})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				began := time.Now()
				var told []string
				head := w.take(t, key)
				work := run.Work{Key: key, Head: head, Proved: func() { told = append(told, fmt.Sprint(time.Since(began))) }}
				if _, err := w.stepper.Step(t.Context(), work, nil); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, told); diff != "" {
					t.Errorf("progress is told after (-want +got):\n%s", diff)
				}
				time.Sleep(time.Minute) // what was left behind
			})
		})
	}
}
