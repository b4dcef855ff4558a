package agui_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
)

// A call that waits for a time asks the frontend nothing: the run's stream ends as a success
// with nothing pending, and no answer counts. A message of the user takes the call's place.
func TestACallThatWaitsForATimeTakesNoAnswer(t *testing.T) {
	w := newWorld(t)
	id := core.Identity{Tenant: "acme"}
	events := w.run(t, "/v1/ag-ui/run", `{`+modern+`"threadId":"t1","runId":"r1","messages":[{"id":"m1","role":"user","content":"call: nap {}"}]}`)
	if last := events[len(events)-1]; last["type"] != "RUN_FINISHED" || !cmp.Equal(last["outcome"], any(map[string]any{"type": "success"})) {
		t.Errorf("the stream ends with %v", last)
	}
	info, err := w.runtime.Thread(t.Context(), id, "t1")
	if err != nil {
		t.Fatal(err)
	}
	waits, err := w.runtime.ReadRun(t.Context(), id, info.ActiveRun)
	if err != nil || len(waits.Tickets) != 1 || waits.Tickets[0].Kind != core.TicketTimer {
		t.Fatalf("run %+v, %v", waits, err)
	}
	ticket := waits.Tickets[0]
	result := `{"id":"m2","role":"tool","toolCallId":"` + ticket.CallID + `","content":"mine"}`
	failed := `{"id":"m2","role":"tool","toolCallId":"` + ticket.CallID + `","content":"","error":"gone"}`
	answer := `"resume":[{"interruptId":"` + ticket.Suspension.ID + `","status":"resolved","payload":{"approved":true}}]`
	want := `{"error":"tool call \"` + ticket.CallID + `\": the call waits for a time, not for an answer","code":"invalid"}` + "\n"
	for name, body := range map[string]string{
		"an interrupt's answer": `{"threadId":"t1","runId":"r2","messages":[],` + answer + `}`,
		"the call's result":     `{"threadId":"t1","runId":"r3","messages":[` + result + `]}`,
		"the call's error":      `{"threadId":"t1","runId":"r4","messages":[` + failed + `]}`,
		"both":                  `{"threadId":"t1","runId":"r5","messages":[` + result + `],` + answer + `}`,
	} {
		if status, text := w.post(t, "/v1/ag-ui/run", body); status != 400 || text != want {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	after, err := w.runtime.ReadRun(t.Context(), id, info.ActiveRun)
	if err != nil || len(after.Tickets) != 1 || after.Tickets[0].Decision != nil {
		t.Errorf("then the run is %+v, %v", after, err)
	}
	others := w.run(t, "/v1/ag-ui/run", `{"threadId":"t1","runId":"r6","messages":[],"resume":[{"interruptId":"other","status":"resolved","payload":{"approved":true}}]}`)
	const none = `"other" does not wait for an answer; no call of thread "t1" waits: send a user message first`
	if got := find(t, others, "RUN_ERROR")["message"]; got != none {
		t.Errorf("another answer is refused with %v, want %s", got, none)
	}
	var calls []any
	for _, e := range w.run(t, "/v1/ag-ui/run", `{"threadId":"t1","runId":"r7","messages":[`+result+`,{"id":"m3","role":"user","content":"hello"}]}`) {
		if e["type"] == "TOOL_CALL_RESULT" {
			calls = append(calls, e["content"])
		}
	}
	if diff := cmp.Diff([]any{`{"error":"cancelled: the user went on without deciding"}`}, calls); diff != "" {
		t.Errorf("what became of the call (-want +got):\n%s", diff)
	}
}
