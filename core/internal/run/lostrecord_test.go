package run_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
)

// The record of a run whose own is lost has all that its input says.
func TestWhatARecordHasOfItsRunsInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		sent := time.Now().UnixMilli()
		parent := mailbox.Parent{Thread: "parent", Run: core.ID{7}, Call: thread.NoCall}
		receipt, err := w.box.Submit(t.Context(), mailbox.Submission{
			Thread: key, Origin: core.OriginInternal, Messages: []core.Message{core.UserMessage("parallel: a, b")},
			Opening: mailbox.Opening{
				AgentID: "demo", Request: json.RawMessage(`{"plan":"gold"}`), Parent: &parent,
				Frontend: &core.Frontend{Context: []core.FrontendContext{{Description: "Page", Value: "/home"}}, State: json.RawMessage(`{"a":1}`)},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		w.turnOnly(t)
		before := w.runRecord(t, receipt.RunID)
		w.spoil(t, recordname.Run(receipt.RunID))
		w.stepper = w.other(t, options{})
		w.crash(t, 2) // it has begun to close, and no more
		after := w.runRecord(t, receipt.RunID)
		want := thread.RunRecord{
			Run: core.Run{
				ID: receipt.RunID, ThreadID: "t1", AgentID: "demo", Origin: core.OriginInternal, Status: core.RunRunning, Dispatch: receipt.DispatchID, CreatedAt: sent,
				Steps: 1, Usage: core.Usage{Input: 3, Output: 2}, Calls: 2,
			},
			Request: json.RawMessage(`{"plan":"gold"}`), Frontend: &core.Frontend{Context: []core.FrontendContext{{Description: "Page", Value: "/home"}}},
			Parent: before.Parent, Ending: after.Ending, InRound: true,
		}
		if diff := cmp.Diff(want, after); diff != "" {
			t.Errorf("the record of the closing run (-want +got):\n%s", diff)
		}
		if p := before.Parent; p == nil || p.Run != parent.Run || p.Thread != "parent" || p.Call != thread.NoCall || before.Origin != core.OriginInternal {
			t.Errorf("the record before was of %+v, %q", p, before.Origin)
		}
	})
}
