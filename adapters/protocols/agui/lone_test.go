package agui_test

import (
	"strings"
	"testing"
)

// A tool message, or an answer of resume, that nothing waits for is told what does wait.
func TestALoneToolResultIsToldWhatIsMissing(t *testing.T) {
	w := newWorld(t)
	lone := func(thread, message string) string {
		return `{"threadId":"` + thread + `","runId":"rx","messages":[` + message + `]}`
	}
	const result = `{"id":"x","role":"tool","toolCallId":"c9","content":"1"}`
	refusal := func(body string) map[string]any { return find(t, w.run(t, "/v1/ag-ui/run", body), "RUN_ERROR") }

	if got := refusal(lone("t1", result)); got["code"] != "not_found" || got["message"] != `"c9" does not wait for an answer; thread "t1" does not exist: send a user message first` {
		t.Errorf("without a thread: %v", got)
	}
	w.run(t, "/v1/ag-ui/run", said("t1", "r1", "m1", "hello"))
	if got := refusal(lone("t1", result)); got["code"] != "not_found" || got["message"] != `"c9" does not wait for an answer; no call of thread "t1" waits: send a user message first` {
		t.Errorf("on a thread that does not wait: %v", got)
	}
	if got := refusal(`{"threadId":"t1","runId":"rx","messages":[],"resume":[{"interruptId":"i1","status":"cancelled"}]}`); got["message"] != `"i1" does not wait for an answer; no call of thread "t1" waits: send a user message first` {
		t.Errorf("an answer of resume: %v", got)
	}
	asked := w.run(t, "/v1/ag-ui/run", said("t2", "r2", "m2", "ask: when?"))
	call := find(t, asked, "TOOL_CALL_START")["toolCallId"].(string)
	if got := refusal(lone("t2", result)); got["code"] != "not_found" || got["message"] != `"c9" does not wait for an answer; thread "t2" waits for an answer to tool call "`+call+`"` {
		t.Errorf("of another call: %v", got)
	}
	if got := refusal(lone("t2", `{"id":"x","role":"tool","content":"1"}`)); got["code"] != "invalid" || got["message"] != "messages[0].toolCallId is required: the id of the call whose result the message is" {
		t.Errorf("without the call's id: %v", got)
	}
	answered := w.run(t, "/v1/ag-ui/run", lone("t2", strings.Replace(result, "c9", call, 1)))
	if names, _ := types(answered); names[len(names)-1] != "RUN_FINISHED" {
		t.Errorf("the call's result: %v", names)
	}
}
