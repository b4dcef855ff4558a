package run_test

import (
	"context"
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

// Every write of an end that puts the result of a newer program in force raises the head over
// it, whichever of them is the last that a process lives to make.
func TestAnEndRaisesTheHeadsSchemaOverTheResultsOfItsRound(t *testing.T) {
	fails := toolFunc{name: "last", run: func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{}, tool.Fatal(errPassing)
	}}
	tests := []struct {
		name  string
		last  tool.Tool
		ended bool // by a person, before the claim
		want  []uint16
	}{
		{"a failure, and its close", fails, false, []uint16{3, 3}},
		{"a close alone", slowly("last", new(int)), true, []uint16{3}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := options{
					model: replies(calls("first", "{}", "last", "{}"), text("ok")), mode: agent.ParallelStreaming,
					tools: []tool.Tool{counted("first", false, new(int)), slowly("last", new(int))},
				}
				w := newWorld(t, o)
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.crash(t, commitB)
				result := w.record(t, store.LogName(3))
				if err := w.store.Backend.Put(t.Context(), key, store.Record{
					Name: result.Name, Fence: 2, Payload: inSchema3(t, result.Payload),
				}); err != nil {
					t.Fatal(err)
				}
				w.take(t, key)
				w.reclaim(t)
				if tt.ended {
					cancelRun(t, w, &trace{}, receipt)
				}
				o.tools[1], o.records = tt.last, thread.Records{Schemas: thread.Schemas{Reads: 3, Writes: 1}, Extra: "x"}
				w.withRecords(t, o)
				head := w.take(t, key)
				var schemas []uint16
				w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
					schemas = append(schemas, c.Head.Schema)
					return w.store.Backend.Commit(ctx, key, c)
				}
				if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, schemas); diff != "" || w.stands(t) != "over" {
					t.Errorf("the run is %s; schemas of its heads (-want +got):\n%s", w.stands(t), diff)
				}
			})
		})
	}
}
