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
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
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

// A tool that only reads runs beside the commit of its turn. If the process does not learn
// that the turn is committed, the tool's outcome is dropped. The call's result is then unknown:
// "not executed" would be wrong.
func TestCallBesideACommitWithoutAResponseIsUnknown(t *testing.T) {
	tests := []struct {
		name  string
		ended bool // the run, while the response is awaited
	}{
		{"the run ends after the step", false},
		{"the run ends while the response is awaited", true},
	}
	for _, mode := range allModes {
		for _, tt := range tests {
			t.Run(tt.name+", "+string(mode), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					runs := 0
					read := toolFunc{name: "read", readOnly: true, run: func(context.Context, tool.Call) (tool.Result, error) {
						runs++
						return tool.NewResult("read"), nil
					}}
					w := newWorld(t, options{mode: mode, model: replies(calls("read", "{}"), text("ok")), tools: []tool.Tool{read}})
					receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
					head := w.take(t, key)
					cancel := func() {
						if _, err := w.box.Cancel(context.WithoutCancel(t.Context()), key, receipt.RunID); err != nil {
							t.Error(err)
						}
					}
					w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
						w.store.OnCommit = nil
						if _, err := w.store.Backend.Commit(ctx, key, c); err != nil || c.Head.Run.Cursor != thread.CursorTools {
							t.Errorf("the turn is not committed: %v", err)
						}
						if tt.ended {
							cancel()
						}
						<-ctx.Done() // the time for a commit is over
						return store.Outcome{}, ctx.Err()
					}
					if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil); err != nil {
						t.Fatal(err)
					}
					if !tt.ended {
						cancel()
					}
					w.finish(t, key, nil)
					if diff := cmp.Diff([]core.ResultStatus{core.ResultUnknown}, w.statuses(t)); diff != "" || runs != 1 {
						t.Errorf("after %d executions (-want +got):\n%s", runs, diff)
					}
				})
			})
		}
	}
}
