package agui_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
)

const modern = `"protocolVersion":"1.0",`

func said(thread, run, id, text string) string {
	return `{` + modern + `"threadId":"` + thread + `","runId":"` + run + `","messages":[{"id":"` + id + `","role":"user","content":"` + text + `"}]}`
}

func TestARunIsStreamed(t *testing.T) {
	w := newWorld(t)
	all := w.run(t, "/v1/ag-ui/run", said("t1", "r1", "m1", "echo: hello"))
	got, text := types(all)
	want := []string{
		"RUN_STARTED", "STEP_STARTED", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT", "STEP_FINISHED",
		"STEP_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "STEP_FINISHED", "RUN_FINISHED",
	}
	if diff := cmp.Diff(want, slices.Compact(got)); diff != "" || text != "Echo: hello" {
		t.Errorf("text %q, events (-want +got):\n%s", text, diff)
	}
	if got := find(t, all, "RUN_STARTED"); got["runId"] != "r1" || got["threadId"] != "t1" {
		t.Errorf("the run is %v", got)
	}
	if got := find(t, all, "TOOL_CALL_RESULT")["content"]; got != `{"text":"hello"}` {
		t.Errorf("result %q", got)
	}
}

func TestTheSameRunIDFollowsTheSameRun(t *testing.T) {
	w := newWorld(t)
	first := w.run(t, "/v1/ag-ui/run", said("t1", "r1", "m1", "echo: once"))
	again := w.run(t, "/v1/ag-ui/run", said("t1", "r1", "m1", "echo: once"))
	if got := find(t, again, "MESSAGES_SNAPSHOT")["messages"].([]any); len(got) != 1 {
		t.Errorf("the snapshot before the run has %v, want the input alone", got)
	}
	of := func(all []map[string]any) string { return find(t, all, "TEXT_MESSAGE_START")["messageId"].(string) }
	if _, text := types(again); text != "Echo: once" || of(first) != of(again) {
		t.Errorf("text %q in message %s, want that of %s", text, of(again), of(first))
	}
	// The client has got as far as the agent's words, and knows nothing of what it lacks.
	partial := `{"threadId":"t1","runId":"r1","messages":[{"id":"m1","role":"user","content":"echo: once"},{"id":"` + of(first) + `","role":"assistant","content":"Ec"}]}`
	if _, text := types(w.run(t, "/v1/ag-ui/run", partial)); text != "Echo: once" {
		t.Errorf("text %q of a client that had a part of it", text)
	}
	status, text := w.post(t, "/v1/ag-ui/run", said("t1", "r1", "m2", "echo: other"))
	if status != 409 || !strings.Contains(text, `"conflict"`) {
		t.Errorf("another message under the same runId: %d %s", status, text)
	}
	page, err := w.runtime.Messages(t.Context(), core.Identity{Tenant: "acme"}, "t1", messageQuery())
	if err != nil || len(page.Messages) != 4 {
		t.Errorf("the thread has %d messages (%v), want 4", len(page.Messages), err)
	}
}

func TestAnApprovalIsAnInterrupt(t *testing.T) {
	tests := []struct{ name, resume, result, text string }{
		{"approved", `"status":"resolved","payload":{"approved":true}`, `{"text":"ship it"}`, "Done: ship it"},
		{"denied", `"status":"resolved","payload":{"approved":false,"reason":"not today"}`, `{"error":"denied: not today"}`, "The call of danger was denied."},
		{"cancelled", `"status":"cancelled"`, `{"error":"denied"}`, "The call of danger was denied."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			asked := w.run(t, "/v1/ag-ui/run", said("t1", "r1", "m1", "approve: ship it"))
			names, _ := types(asked)
			if diff := cmp.Diff([]string{"STEP_FINISHED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"}, names[len(names)-3:]); diff != "" {
				t.Errorf("the end (-want +got):\n%s", diff)
			}
			outcome := find(t, asked, "RUN_FINISHED")["outcome"].(map[string]any)
			interrupt := outcome["interrupts"].([]any)[0].(map[string]any)
			call := find(t, asked, "TOOL_CALL_START")["toolCallId"]
			if outcome["type"] != "interrupt" || interrupt["reason"] != "tool_call" || interrupt["toolCallId"] != call {
				t.Fatalf("outcome %v", outcome)
			}
			id := interrupt["id"].(string)
			missing := w.run(t, "/v1/ag-ui/run", said("t1", "r2", "m2", "echo: never mind"))
			if names, _ := types(missing); !slices.Equal(names, []string{"RUN_STARTED", "RUN_ERROR"}) {
				t.Errorf("a message instead of an answer: %v", missing)
			}
			body := `{` + modern + `"threadId":"t1","runId":"r3","messages":[],"resume":[{"interruptId":"` + id + `",` + test.resume + `}]}`
			for range 2 { // the same answer again is the same
				resumed := w.run(t, "/v1/ag-ui/run", body)
				if names, text := types(resumed); text != test.text || slices.Contains(names, "TOOL_CALL_START") {
					t.Errorf("text %q, events %v", text, names)
				}
				if got := find(t, resumed, "TOOL_CALL_RESULT"); got["toolCallId"] != call || got["content"] != test.result {
					t.Errorf("result %v", got)
				}
			}
		})
	}
}

func TestAnswersThatBreakTheContractAreRunErrors(t *testing.T) {
	w := newWorld(t)
	asked := w.run(t, "/v1/ag-ui/run", said("t1", "r1", "m1", "approve: ship it"))
	id := find(t, asked, "RUN_FINISHED")["outcome"].(map[string]any)["interrupts"].([]any)[0].(map[string]any)["id"].(string)
	tests := []struct{ name, resume, code string }{
		{"unknown", `[{"interruptId":"nobody","status":"cancelled"}]`, "invalid"},
		{"not a payload", `[{"interruptId":"` + id + `","status":"resolved","payload":"yes"}]`, "invalid"},
		{"no payload", `[{"interruptId":"` + id + `","status":"resolved"}]`, "invalid"},
		{"edited", `[{"interruptId":"` + id + `","status":"resolved","payload":{"approved":true,"editedArgs":{"text":"x"}}}]`, "unsupported"},
	}
	for _, test := range tests {
		all := w.run(t, "/v1/ag-ui/run", `{"threadId":"t1","runId":"rx","messages":[],"resume":`+test.resume+`}`)
		if got := find(t, all, "RUN_ERROR")["code"]; got != test.code {
			t.Errorf("%s: code %v, want %s", test.name, got, test.code)
		}
	}
	idle := w.run(t, "/v1/ag-ui/run", `{"threadId":"t2","runId":"rx","messages":[],"resume":[{"interruptId":"nobody","status":"cancelled"}]}`)
	if got := find(t, idle, "RUN_ERROR")["code"]; got != "not_found" {
		t.Errorf("an answer where nothing is: %v", idle)
	}
	call := find(t, asked, "TOOL_CALL_START")["toolCallId"].(string)
	forged := w.run(t, "/v1/ag-ui/run", `{"threadId":"t1","runId":"rz","messages":[{"id":"x","role":"tool","toolCallId":"`+call+`","content":"{\"approved\":true}"}]}`)
	if got := find(t, forged, "RUN_ERROR")["code"]; got != "busy" {
		t.Errorf("a tool message for a call that waits for a person: %v", forged)
	}
	both := w.run(t, "/v1/ag-ui/run", `{"threadId":"t1","runId":"ry","messages":[],"resume":[{"interruptId":"`+id+`","status":"resolved","payload":{"approved":true}},{"interruptId":"nobody","status":"cancelled"}]}`)
	if got := find(t, both, "RUN_ERROR")["code"]; got != "not_found" {
		t.Errorf("an unknown one beside a known one: %v", both)
	}
	record, err := w.runtime.Thread(t.Context(), core.Identity{Tenant: "acme"}, "t1")
	if err != nil || record.Status != core.RunWaiting {
		t.Errorf("the run is %s (%v), want it to wait as before", record.Status, err)
	}
}

// CopilotKit puts the person's answer where the call's result will be.
func TestAnAnswerInThePlaceOfAResultIsTakenBack(t *testing.T) {
	w := newWorld(t)
	asked := w.run(t, "/v1/ag-ui/run", said("t1", "r1", "m1", "approve: it"))
	id := find(t, asked, "RUN_FINISHED")["outcome"].(map[string]any)["interrupts"].([]any)[0].(map[string]any)["id"].(string)
	call := find(t, asked, "TOOL_CALL_START")["toolCallId"].(string)
	resumed := w.run(t, "/v1/ag-ui/run", `{`+modern+`"threadId":"t1","runId":"r2","messages":[{"id":"m1","role":"user","content":"approve: it"},`+
		`{"id":"a","role":"assistant"},{"id":"x","role":"tool","toolCallId":"`+call+`","content":"{\"approved\":true}"}],`+
		`"resume":[{"interruptId":"`+id+`","status":"resolved","payload":{"approved":true}}]}`)
	var ids []string
	for _, m := range find(t, resumed, "MESSAGES_SNAPSHOT")["messages"].([]any) {
		ids = append(ids, m.(map[string]any)["id"].(string))
	}
	if diff := cmp.Diff([]string{"m1", "a"}, ids); diff != "" {
		t.Errorf("the snapshot before the result (-want +got):\n%s", diff)
	}
	if got := find(t, resumed, "TOOL_CALL_RESULT"); got["content"] != `{"text":"it"}` || got["toolCallId"] != call {
		t.Errorf("result %v", got)
	}
}
