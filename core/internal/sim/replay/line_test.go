package replay_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/tool"
)

// Results of a parallel round are merged in the order in which they were stored, which is
// not that of the calls where a later call is quicker. A replay runs no tool, and follows
// the recorded order.
func TestReplayFollowsTheRecordedOrderOfAParallelRound(t *testing.T) {
	tests := []struct {
		name  string
		lasts [3]time.Duration
		tally string // the digits of the calls, in the order of their results
	}{
		{"the order of the calls", [3]time.Duration{time.Second, 2 * time.Second, 3 * time.Second}, "123"},
		{"the last call first", [3]time.Duration{3 * time.Second, 2 * time.Second, time.Second}, "321"},
		{"another order", [3]time.Duration{2 * time.Second, 3 * time.Second, time.Second}, "312"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				appends := code{
					mode: agent.ParallelStreaming,
					apply: func(v, u int) int {
						if u > 3 { // the hooks'
							return v
						}
						return 10*v + u
					},
					turns: func(n int, yield func(model.Delta, error) bool, _ model.Request) {
						if n > 0 {
							says("ok", yield)
							return
						}
						for range 3 {
							_ = yield(model.Delta{Type: model.DeltaToolStart, Name: "work"}, nil) && yield(model.Delta{Type: model.DeltaToolArgument, Text: "{}"}, nil)
						}
						yield(model.Delta{Type: model.DeltaStop, Stop: core.StopToolUse}, nil)
					},
				}
				appends.run = func(_ context.Context, c tool.Call) (tool.Result, error) {
					time.Sleep(tt.lasts[c.Index])
					return tool.NewResult("done").With(tally{}.key().Update(c.Index + 1)), nil
				}
				r := newRecorder(t, appends)
				run := r.submit(t, "hi", "")
				r.work(t)
				r.wantReplay(t, appends, run, "thread t1 run RUN1 (agent a, 2 steps, 8 records): the same")
			})
		})
	}
}
