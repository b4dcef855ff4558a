package run_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// A reader who comes late is shown the same events at the same positions, but
// for the deltas of one block, which come as one.
func TestReplayHasThePositionsOfTheLiveStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{model: replies(everything, text("ok")), tools: []tool.Tool{fails}})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		place := func(e core.Event) string { return e.Position + string(e.Type) + e.MessageID + e.CallID }
		live := map[string]bool{}
		w.finish(t, key, func(e core.Event) error {
			live[place(e)] = true
			return nil
		})
		record := w.runRecord(t, receipt.RunID)
		entries, err := threadlog.Read(t.Context(), w.store, thread.Records{}, key, 1, w.head(t, key).Seq)
		if err != nil {
			t.Fatal(err)
		}
		var got, places []string
		replayer := history.NewReplayer(record.Run, func(e core.Event) error {
			got, places = append(got, eventLine(t, receipt.RunID, e)), append(places, place(e))
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
			`1.0.0-0-a {"event_type":"run_start","run_id":"RUN","step":1,"thread_id":"t1","agent_id":"demo"}`,
			`1.1.0-0-b {"event_type":"step_start","step":1,"message_id":"RUN.1"}`,
			`1.1.0-2-e {"event_type":"reasoning_delta","step":1,"message_id":"RUN.1","delta":"hm"}`,
			`1.1.1-6-f {"event_type":"text_delta","step":1,"message_id":"RUN.1","delta":"I look"}`,
			`1.1.2-2-e {"event_type":"reasoning_delta","step":1,"message_id":"RUN.1","delta":"so"}`,
			`1.1.2-2-o {"event_type":"reasoning_encrypted_value","step":1,"message_id":"RUN.1","encrypted_value":{"signature":"x"}}`,
			`1.1.3-0-d {"event_type":"tool_call_start","step":1,"message_id":"RUN.1","id":"c1","name":"echo"}`,
			`1.1.3-12-g {"event_type":"tool_call_delta","step":1,"message_id":"RUN.1","delta":"{\"text\":\"a\"}","id":"c1"}`,
			`1.1.4-0-d {"event_type":"tool_call_start","step":1,"message_id":"RUN.1","id":"c2","name":"fails"}`,
			`1.1.4-2-g {"event_type":"tool_call_delta","step":1,"message_id":"RUN.1","delta":"{}","id":"c2"}`,
			`1.1.3-12-h {"event_type":"tool_call_ready","step":1,"message_id":"RUN.1","id":"c1","name":"echo","arguments":{"text":"a"}}`,
			`1.1.4-2-h {"event_type":"tool_call_ready","step":1,"message_id":"RUN.1","id":"c2","name":"fails","arguments":{}}`,
			`1.1.5-0-i {"event_type":"inference_complete","step":1,"message_id":"RUN.1","model":"scripted","usage":{"input":3,"output":2},"stop_reason":"tool_use"}`,
			`1.1.3-0-j {"event_type":"tool_call_done","step":1,"message_id":"RUN.1.0","id":"c1","name":"echo","result":{"text":"a"},"outcome":"succeeded","status":"ok"}`,
			`1.1.4-0-j {"event_type":"tool_call_done","step":1,"message_id":"RUN.1.1","id":"c2","name":"fails","result":{"error":"execution failed: no such file"},"is_error":true,"outcome":"failed","status":"error"}`,
			`1.1.9999-0-k {"event_type":"step_end","step":1}`,
			`2.2.0-0-b {"event_type":"step_start","step":2,"message_id":"RUN.2"}`,
			`2.2.0-2-f {"event_type":"text_delta","step":2,"message_id":"RUN.2","delta":"ok"}`,
			`2.2.1-0-i {"event_type":"inference_complete","step":2,"message_id":"RUN.2","model":"scripted","stop_reason":"end_turn"}`,
			`2.2.9999-0-k {"event_type":"step_end","step":2}`,
			`2.2.9999-0-m {"event_type":"run_finish","run_id":"RUN","step":2,"status":"done","usage":{"input":3,"output":2},"steps":2,"response":"ok","termination":{"type":"natural_end"}}`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("replay (-want +got):\n%s", diff)
		}
		for _, l := range places[1:] { // the first is not of any attempt
			if !live[l] {
				t.Errorf("%q is not in the live stream", l)
			}
		}
	})
}

// A reader that is gone ends its replay.
// Records of the release before this one have no clock of their own: whoever replays
// them, and whenever, says the time of what they hold.
func TestReplayOfRecordsWithoutAClockSaysTheTimeOfTheirTurn(t *testing.T) {
	of := core.ID{15: 1}
	entries := []thread.Entry{
		{Run: of, Step: 1, Message: &core.Message{ID: "m1", Role: core.RoleAssistant, Step: 1, CreatedAt: 2000, ToolCalls: []core.ToolCall{{ID: "c1", Name: "echo"}}}},
		{Run: of, Step: 1, Message: &core.Message{ID: "m2", Role: core.RoleTool, CreatedAt: 3000, ToolResult: &core.ToolResult{CallID: "c1", Name: "echo"}}},
		{Run: of, Step: 1, Patch: state.Patch{{Op: "add", Path: "/thread/n", Value: []byte("1")}}, Revision: 1},
		{Run: of, Step: 1, Closing: true, Patch: state.Patch{{Op: "add", Path: "/thread/n", Value: []byte("2")}}, Revision: 2},
	}
	var got []string
	replayer := history.NewReplayer(core.Run{ID: of, CreatedAt: 1000}, func(e core.Event) error {
		switch e.Type {
		case core.EventStepStart, core.EventStateDelta, core.EventStepEnd:
			got = append(got, fmt.Sprint(e.Type, " ", int64(e.Time)))
		}
		return nil
	})
	for _, e := range entries {
		if err := replayer.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"step_start 2000", "state_delta 3000", "step_end 3000", "state_delta 3000"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReplayReturnsTheErrorOfItsSink(t *testing.T) {
	left := errors.New("nobody listens")
	replayer := history.NewReplayer(core.Run{ID: core.ID{1}}, func(core.Event) error { return left })
	if err := replayer.Add(thread.Entry{Run: core.ID{1}, Message: &core.Message{Role: core.RoleAssistant}}); !errors.Is(err, left) {
		t.Errorf("Add returns %v, want the sink's error", err)
	}
}
