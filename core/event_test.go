package core_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
)

// The wire form of each type, with the fields that belong to it.
var eventRun = core.ID{0x01, 0x90, 0xab, 15: 0xff}

const eventRunText = "0190ab00-0000-0000-0000-0000000000ff"

func TestWireFormOfEvents(t *testing.T) {
	const run = `"run_id":"` + eventRunText + `"`
	ticket := core.Ticket{Suspension: core.Suspension{ID: "s1", Action: "tool:ask"}, CallID: "c1", Tool: "ask", Arguments: []byte("{}"), Mode: core.ResumeReplay, Kind: core.TicketPerson}
	tests := []struct {
		event core.Event
		want  string
	}{
		{core.Event{Type: core.EventRunStart, Sequence: 1, Time: 946684800250, RunID: eventRun, Step: 1, ThreadID: "t1", AgentID: "demo", Position: "not sent"},
			`{"event_type":"run_start","sequence":1,"time":"2000-01-01T00:00:00.250Z",` + run + `,"step":1,"thread_id":"t1","agent_id":"demo"}`},
		{core.Event{Type: core.EventMessagesSnapshot, Messages: []core.Message{core.UserMessage("hi").WithID("m")}},
			`{"event_type":"messages_snapshot","messages":[{"id":"m","role":"user","content":[{"type":"text","text":"hi"}]}]}`},
		{core.Event{Type: core.EventStateSnapshot, Snapshot: []byte(`{"thread":{},"run":{"n":1}}`), Revision: 3},
			`{"event_type":"state_snapshot","revision":3,"snapshot":{"thread":{},"run":{"n":1}}}`},
		{core.Event{Type: core.EventStateDelta, Patch: []byte(`[{"op":"remove","path":"/run/n"}]`), Revision: 4},
			`{"event_type":"state_delta","patch":[{"op":"remove","path":"/run/n"}],"revision":4}`},
		{core.Event{Type: core.EventStepStart, Step: 2, MessageID: "r.2"}, `{"event_type":"step_start","step":2,"message_id":"r.2"}`},
		{core.Event{Type: core.EventStepRestarted, Step: 2}, `{"event_type":"step_restarted","step":2}`},
		{core.Event{Type: core.EventReasoningDelta, MessageID: "r.2", Delta: "hm"}, `{"event_type":"reasoning_delta","message_id":"r.2","delta":"hm"}`},
		{core.Event{Type: core.EventReasoningEncrypted, MessageID: "r.2", EncryptedValue: []byte(`"opaque"`)},
			`{"event_type":"reasoning_encrypted_value","message_id":"r.2","encrypted_value":"opaque"}`},
		{core.Event{Type: core.EventTextDelta, MessageID: "r.2", Delta: "so"}, `{"event_type":"text_delta","message_id":"r.2","delta":"so"}`},
		{core.Event{Type: core.EventToolCallStart, CallID: "c1", Name: "ask"}, `{"event_type":"tool_call_start","id":"c1","name":"ask"}`},
		{core.Event{Type: core.EventToolCallDelta, CallID: "c1", Delta: "{"}, `{"event_type":"tool_call_delta","delta":"{","id":"c1"}`},
		{core.Event{Type: core.EventToolCallReady, CallID: "c1", Name: "ask", Arguments: []byte(`{"a":1}`)},
			`{"event_type":"tool_call_ready","id":"c1","name":"ask","arguments":{"a":1}}`},
		{core.Event{Type: core.EventToolCallCancel, CallID: "c1", Name: "ask"}, `{"event_type":"tool_call_cancel","id":"c1","name":"ask"}`},
		{core.Event{Type: core.EventInferenceRetry, Failed: 1, Wait: 500, Reason: "overloaded"},
			`{"event_type":"inference_retry","failed":1,"wait":500,"reason":"overloaded"}`},
		{core.Event{Type: core.EventInferenceComplete, Model: "m", Usage: &core.Usage{Input: 7, Output: 3}, StopReason: core.StopEndTurn, Duration: 1200},
			`{"event_type":"inference_complete","model":"m","usage":{"input":7,"output":3},"stop_reason":"end_turn","duration_ms":1200}`},
		{core.Event{Type: core.EventToolCallSuspended, CallID: "c1", Name: "ask", Ticket: &ticket},
			`{"event_type":"tool_call_suspended","id":"c1","name":"ask","ticket":{"tool_call_id":"c1","tool_name":"ask","arguments":{},"suspension_id":"s1","action":"tool:ask","resume_mode":"replay_tool_call","kind":"person"}}`},
		{core.Event{Type: core.EventToolCallResumed, CallID: "c1", Name: "ask", DecisionID: "d1", Action: core.DecisionResume},
			`{"event_type":"tool_call_resumed","id":"c1","name":"ask","decision_id":"d1","action":"resume"}`},
		{core.Event{Type: core.EventToolCallDone, MessageID: "r.2.0", CallID: "c1", Name: "ask", Result: []byte(`{"error":"no"}`), IsError: true, Outcome: core.CallFailed, Status: string(core.ResultDenied), Duration: 5},
			`{"event_type":"tool_call_done","message_id":"r.2.0","id":"c1","name":"ask","result":{"error":"no"},"is_error":true,"outcome":"failed","status":"denied","duration_ms":5}`},
		{core.Event{Type: core.EventStepEnd, Step: 2}, `{"event_type":"step_end","step":2}`},
		{core.Event{Type: core.EventError, Error: "the model failed", Code: "model"}, `{"event_type":"error","error":"the model failed","code":"model"}`},
		{core.Event{Type: core.EventRunYield, RunID: eventRun}, `{"event_type":"run_yield",` + run + `}`},
		{core.Event{Type: core.EventRunFinish, Status: string(core.RunDone), Usage: &core.Usage{Input: 7}, Duration: 4100, Steps: 2, Response: "so", Termination: &core.Termination{Type: core.TerminationNatural}},
			`{"event_type":"run_finish","status":"done","usage":{"input":7},"duration_ms":4100,"steps":2,"response":"so","termination":{"type":"natural_end"}}`},
	}
	for _, tt := range tests {
		t.Run(string(tt.event.Type), func(t *testing.T) {
			text, err := json.Marshal(tt.event)
			if err != nil || string(text) != tt.want {
				t.Errorf("%s, %v\nwant %s", text, err, tt.want)
			}
			var back core.Event
			if err := json.Unmarshal([]byte(tt.want), &back); err != nil {
				t.Fatal(err)
			}
			tt.event.Position = ""
			if diff := cmp.Diff(tt.event, back); diff != "" {
				t.Errorf("read back (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMillisAreISO8601(t *testing.T) {
	for text, want := range map[string]core.Millis{
		"1970-01-01T00:00:00.001Z":       1,
		"2026-11-22T01:54:28.250Z":       1795312468250,
		"2026-11-22T02:54:28.2509+01:00": 1795312468250, // any of RFC 3339 is read
	} {
		var got core.Millis
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%s is read as %d, %v; want %d", text, got, err, want)
		}
	}
	if got := core.Millis(1795312468250).String(); got != "2026-11-22T01:54:28.250Z" {
		t.Errorf("1795312468250 is written %s", got)
	}
	var got core.Millis
	if err := got.UnmarshalText([]byte("yesterday")); core.CodeOf(err) != core.CodeInvalid || got != 0 {
		t.Errorf("%d, %v, want code invalid", got, err)
	}
}
