package run_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/tool"
)

// A tool that ran in a process that died may have acted. If the run ends before the call
// has a result, nobody says that it did not run.
func TestCallThatALostClaimLetThroughIsUnknown(t *testing.T) {
	cancel := func(t *testing.T, w *world, r mailbox.Receipt) {
		if _, err := w.box.Cancel(t.Context(), key, r.RunID); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name string
		mode agent.ExecutionMode
		dies int // so many processes die in the first tool
		end  func(t *testing.T, w *world, r mailbox.Receipt)
		want []core.ResultStatus
	}{
		{"cancelled, the second tool waited for the first", agent.Sequential, 1, cancel, []core.ResultStatus{core.ResultUnknown, core.ResultNotExecuted}},
		{"cancelled, both tools were started", agent.ParallelStreaming, 1, cancel, []core.ResultStatus{core.ResultUnknown, core.ResultUnknown}},
		{"dead-lettered", agent.Sequential, 6, func(*testing.T, *world, mailbox.Receipt) {}, []core.ResultStatus{core.ResultUnknown, core.ResultNotExecuted}},
		{"cancelled before its process died", agent.Sequential, 0, func(t *testing.T, w *world, r mailbox.Receipt) {
			w.store.died = func() { cancel(t, w, r) }
			w.die(t)
		}, []core.ResultStatus{core.ResultUnknown, core.ResultNotExecuted}},
		{"closed by two processes, the first of which died", agent.Sequential, 1, func(t *testing.T, w *world, r mailbox.Receipt) {
			cancel(t, w, r)
			w.crash(t, 1)
		}, []core.ResultStatus{core.ResultUnknown, core.ResultNotExecuted}},
		{"nothing was let through", agent.Sequential, 0, func(t *testing.T, w *world, r mailbox.Receipt) {
			w.crash(t, commitA)
			cancel(t, w, r)
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var w *world
				var runs atomic.Int64
				deadly := toolFunc{name: "deadly", run: func(context.Context, tool.Call) (tool.Result, error) {
					runs.Add(1)
					if w.store.died != nil {
						w.store.died()
					}
					w.store.dead.Store(true)
					return tool.NewResult("done"), nil
				}}
				w = newWorld(t, options{
					model: replies(calls("deadly", "{}", "deadly", "{}"), text("ok")), tools: []tool.Tool{deadly}, mode: tt.mode,
				})
				r := w.submit(t, key, "hi", mailbox.ModeQueue)
				for range tt.dies {
					w.die(t)
				}
				tt.end(t, w, r)
				before := runs.Load()
				w.finish(t, key, nil)
				if diff := cmp.Diff(tt.want, w.statuses(t)); diff != "" || runs.Load() != before {
					t.Errorf("after %d of %d executions (-want +got):\n%s", before, runs.Load(), diff)
				}
			})
		})
	}
}

// die runs a step whose process dies in a tool.
func (w *world) die(t *testing.T) {
	t.Helper()
	if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: w.take(t, key)}, nil); err == nil {
		t.Fatal("the process did not die")
	}
	w.store.dead.Store(false)
	w.reclaim(t)
}
