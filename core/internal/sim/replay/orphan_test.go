package replay_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// A process may die when it has put the record of a wait, and neither the ticket's nor the
// head. The run never waited: it was cancelled while its tool ran.
func TestReplayLeavesOutAWaitWhoseTicketsAreMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *recorder
		var cancelled core.ID
		ends := code{bare: true, run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			if err := r.CancelRun(ctx, ann, cancelled); err != nil {
				return tool.Result{}, err
			}
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		}}
		r = newRecorder(t, ends)
		run := r.submit(t, "hi", "")
		cancelled = run.RunID
		r.work(t)
		payload, err := thread.Records{}.Encode("round", &thread.RoundRecord{Turn: 2, Waits: []uint64{thread.TicketKey(run.RunID, "ask")}, Fence: 1})
		if err == nil {
			err = r.store.Put(t.Context(), key, store.Record{Name: recordname.Round(run.RunID, 4), Fence: 1, Version: 4, Payload: payload})
		}
		if err != nil {
			t.Fatal(err)
		}
		r.wantReplay(t, ends, run, "thread t1 run RUN1 (agent a, 1 steps, 3 records): the same")
	})
}
