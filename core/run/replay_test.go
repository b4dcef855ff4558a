package run_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/run"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
	"github.com/reveille-run/reveille/core/tool"
)

// A reader who comes late is shown the same events at the same positions, but
// for the deltas of one block, which come as one.
func TestReplayHasThePositionsOfTheLiveStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{model: answers(everything, text("ok")), tools: []tool.Tool{fails}})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		line := func(e core.Event) string {
			return strings.TrimPrefix(e.Position, receipt.RunID.String()+".") + " " + string(e.Type)
		}
		live := map[string]bool{}
		w.finish(t, key, func(e core.Event) error {
			live[line(e)] = true
			return nil
		})
		record := w.runRecord(t, receipt.RunID)
		entries, err := store.ReadLog(t.Context(), w.store, thread.Records{}, key, 1, w.head(t, key).Seq)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		replayer := run.NewReplayer(record.Run, func(e core.Event) error {
			got = append(got, line(e))
			return nil
		})
		for _, e := range entries {
			if err := replayer.Add(e); err != nil {
				t.Fatal(err)
			}
		}
		if err := replayer.Finish(record.Run); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"1.0.0-0-a run_start", "1.1.0-0-b step_start", "1.1.0-2-e reasoning_delta", "1.1.1-6-f text_delta", "1.1.2-2-e reasoning_delta",
			"1.1.3-0-d tool_call_start", "1.1.3-12-g tool_call_delta", "1.1.4-0-d tool_call_start", "1.1.4-2-g tool_call_delta",
			"1.1.3-12-h tool_call_ready", "1.1.4-2-h tool_call_ready", "1.1.5-0-i inference_complete",
			"1.1.3-0-j tool_call_done", "1.1.4-0-j tool_call_done", "1.1.9999-0-k step_end",
			"2.2.0-0-b step_start", "2.2.0-2-f text_delta", "2.2.1-0-i inference_complete", "2.2.9999-0-k step_end", "2.2.9999-0-m run_finish",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("replay (-want +got):\n%s", diff)
		}
		for _, l := range got[1:] { // the first is not of any attempt
			if !live[l] {
				t.Errorf("%q is not in the live stream", l)
			}
		}
	})
}

// A reader that is gone ends its replay.
func TestReplayReturnsTheErrorOfItsSink(t *testing.T) {
	left := errors.New("nobody listens")
	calls := 0
	replayer := run.NewReplayer(core.Run{ID: core.ID{1}}, func(core.Event) error {
		calls++
		return left
	})
	err := replayer.Add(thread.Entry{Run: core.ID{1}, Message: &core.Message{Role: core.RoleAssistant}})
	if !errors.Is(err, left) || calls != 1 {
		t.Errorf("Add returns %v after %d events, want the sink's error after one", err, calls)
	}
}
