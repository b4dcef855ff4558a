package agui_test

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

const navigate = `{"name":"navigate","description":"Opens a page","parameters":{"type":"object","properties":{"to":{"type":"string"}},"required":["to"],"additionalProperties":false}}`

func TestAFrontendsToolIsOfferedAndItsResultIsTheMessage(t *testing.T) {
	w := newWorld(t)
	asks := `{"id":"m1","role":"user","content":"call: navigate {\"to\":\"/home\"}"}`
	asked := w.run(t, "/v1/ag-ui/run", `{`+modern+`"threadId":"t1","runId":"r1","tools":[`+navigate+`],"messages":[`+asks+`]}`)
	outcome := encoded(t, find(t, asked, "RUN_FINISHED")["outcome"])
	call := find(t, asked, "TOOL_CALL_START")["toolCallId"].(string)
	if outcome != `{"pendingToolCallIds":["`+call+`"],"type":"success"}` {
		t.Errorf("outcome %s", outcome)
	}
	w.mu.Lock()
	var offered []string
	for _, d := range w.asked[0].Tools {
		offered = append(offered, d.Name)
	}
	w.mu.Unlock()
	if diff := cmp.Diff([]string{"ask_user", "danger", "delegate", "depict", "echo", "nap", "paint", "patient", "work", "navigate"}, offered); diff != "" {
		t.Errorf("offered tools (-want +got):\n%s", diff)
	}
	body := `{` + modern + `"threadId":"t1","runId":"r2","messages":[` + asks + `,{"id":"x","role":"assistant"},{"id":"y","role":"tool","toolCallId":"` + call + `","content":"{\"opened\":true}"}]}`
	for range 2 { // the same message again is the same decision
		answered := w.run(t, "/v1/ag-ui/run", body)
		names, text := types(answered)
		if text != `The result of navigate: {"opened":true}` || slices.Contains(names, "TOOL_CALL_RESULT") {
			t.Errorf("text %q, events %v", text, names)
		}
	}
}

func TestAMessageInsteadOfAToolsResultTakesItsPlace(t *testing.T) {
	w := newWorld(t)
	w.run(t, "/v1/ag-ui/run", said("t1", "r1", "m1", "ask: when?"))
	attached := w.run(t, "/v1/ag-ui/run", `{`+modern+`"threadId":"t1","runId":"r0","messages":[]}`)
	if got := find(t, attached, "RUN_FINISHED")["outcome"].(map[string]any)["pendingToolCallIds"]; got == nil {
		t.Errorf("an input that says nothing shows the open run: %v", attached)
	}
	all := w.run(t, "/v1/ag-ui/run", `{"threadId":"t1","runId":"r2","messages":[{"id":"m1","role":"user","content":"ask: when?"},{"id":"m2","role":"user","content":"echo: never mind"}]}`)
	page, err := w.runtime.Messages(t.Context(), core.Identity{Tenant: "acme"}, "t1", messageQuery())
	if err != nil || strings.Count(encoded(t, page.Messages), `"m1"`) != 1 {
		t.Errorf("%v, the message that the thread had is there twice: %s", err, encoded(t, page.Messages))
	}
	if _, text := types(all); text != "Echo: never mind" {
		t.Errorf("text %q", text)
	}
}

func TestAResultAndAMessageInOneInputAreBothTaken(t *testing.T) {
	w := newWorld(t)
	asked := w.run(t, "/v1/ag-ui/run", said("t1", "r1", "m1", "ask: when?"))
	call := find(t, asked, "TOOL_CALL_START")["toolCallId"].(string)
	all := w.run(t, "/v1/ag-ui/run", `{"threadId":"t1","runId":"r2","messages":[{"id":"y","role":"tool","toolCallId":"`+call+`","content":"now"},{"id":"m2","role":"user","content":"echo: and this"}]}`)
	if _, text := types(all); !strings.HasSuffix(text, "Echo: and this") {
		t.Errorf("text %q", text)
	}
	page, err := w.runtime.Messages(t.Context(), core.Identity{Tenant: "acme"}, "t1", messageQuery())
	if err != nil {
		t.Fatal(err)
	}
	var results []string
	for _, m := range page.Messages {
		if m.Role == core.RoleTool {
			results = append(results, m.ToolResult.Text())
		}
	}
	if diff := cmp.Diff([]string{`"now"`, `{"text":"and this"}`}, results); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

func TestToolsOfAFrontendThatAnAgentCannotBeGivenAreRefused(t *testing.T) {
	w := newWorld(t)
	tests := []struct {
		name, tools string
		status      int
		says        string
	}{
		{"the agent's own name", `{"name":"echo"}`, 409, `frontend tool \"echo\" has the name of a tool that agent \"demo\" runs itself`},
		{"no name", `{"name":""}`, 400, "tool name is empty"},
		{"no tool's name", `{"name":"a b"}`, 400, "has the character"},
		{"no schema", `{"name":"a","parameters":{"type":"string"}}`, 400, `tool \"a\"`},
		{"twice", `{"name":"a"},{"name":"a"}`, 400, `tool \"a\" is declared twice`},
		{"too many", strings.TrimSuffix(strings.Repeat(`{"name":"a"},`, 65), ","), 413, "65 tools, at most 64"},
		{"too large", `{"name":"a","description":"` + strings.Repeat("x", 64<<10) + `"}`, 413, "larger than 65536 bytes"},
	}
	for _, test := range tests {
		status, text := w.post(t, "/v1/ag-ui/run", `{"threadId":"t1","runId":"r1","tools":[`+test.tools+`],"messages":[{"id":"m1","role":"user","content":"hello"}]}`)
		if status != test.status || !strings.Contains(text, test.says) {
			t.Errorf("%s: %d %s", test.name, status, text)
		}
	}
	// One that the agent has, and the client runs.
	all := w.run(t, "/v1/ag-ui/run", `{"threadId":"t2","runId":"r1","tools":[{"name":"ask_user","description":"mine"}],"messages":[{"id":"m1","role":"user","content":"hello"}]}`)
	if _, text := types(all); text != "You said: hello" {
		t.Errorf("text %q", text)
	}
}

func TestContextReachesTheModelAndNoThread(t *testing.T) {
	w := newWorld(t)
	w.run(t, "/v1/ag-ui/run", `{"threadId":"t1","runId":"r1","context":[{"description":"The open page","value":"/cart"}],`+
		`"messages":[{"id":"s","role":"system","content":"Answer in verse."},{"id":"m1","role":"user","content":"echo: x"}]}`)
	const want = "Be kind.\n\nWhat the user's application shows at present:\n\nInstructions of the application:\nAnswer in verse.\n\nThe open page:\n/cart"
	w.mu.Lock()
	for _, r := range w.asked { // in each step
		if r.System != want {
			t.Errorf("system prompt %q", r.System)
		}
	}
	w.mu.Unlock()
	_, text := w.post(t, "/v1/ag-ui/run", said("t1", "r2", "m2", "hello"))
	w.mu.Lock()
	defer w.mu.Unlock()
	if last := w.asked[len(w.asked)-1].System; last != "Be kind." || strings.Contains(text, "cart") {
		t.Errorf("the next run's system prompt is %q", last)
	}
}

func TestStateIsSharedBothWays(t *testing.T) {
	w := newWorld(t)
	input := func(run, id, text, state string) string {
		return `{"threadId":"t1","runId":"` + run + `","state":` + state + `,"messages":[{"id":"` + id + `","role":"user","content":"` + text + `"}]}`
	}
	states := func(all []map[string]any) (told []string) {
		for _, e := range all {
			switch e["type"] {
			case "STATE_SNAPSHOT":
				told = append(told, "snapshot "+encoded(t, e["snapshot"]))
			case "STATE_DELTA":
				told = append(told, "delta "+encoded(t, e["delta"]))
			case "CUSTOM":
				told = append(told, e["name"].(string)+" "+encoded(t, e["value"]))
			}
		}
		return told
	}
	tests := []struct {
		name, body string
		want       []string
	}{
		{"what was sent is shown", input("r1", "m1", "hello", `{"n": 1, "color":"blue"}`), []string{`snapshot {"color":"blue","n":1}`}},
		{"a tool changes it", input("r2", "m2", `call: paint {\"text\":\"red\"}`, `{"n":1,"color":"blue"}`), []string{
			`snapshot {"color":"blue","n":1}`, `delta [{"op":"replace","path":"/color","value":"red"}]`,
			`reveille.state_delta [{"op":"add","path":"/thread/sketch","value":"red"}]`,
		}},
		{"a client without one reads it", input("r3", "m3", "hello", `{}`), []string{
			`reveille.state_snapshot {"run":{},"thread":{"sketch":"red"}}`, `snapshot {"color":"red","n":1}`,
		}},
		{"what another sends is merged into it", input("r4", "m4", "hello", `{"n":2,"list":[1, 2]}`), []string{
			`reveille.state_snapshot {"run":{},"thread":{"sketch":"red"}}`, `snapshot {"color":"red","list":[1,2],"n":2}`,
		}},
		{"what it has of it already is shown with the rest", input("r6", "m6", "hello", `{"list": [1,2]}`), []string{
			`reveille.state_snapshot {"run":{},"thread":{"sketch":"red"}}`, `snapshot {"color":"red","list":[1,2],"n":2}`,
		}},
		{"and it stays", input("r5", "m5", "hello", `null`), []string{
			`reveille.state_snapshot {"run":{},"thread":{"sketch":"red"}}`, `snapshot {"color":"red","list":[1,2],"n":2}`,
		}},
	}
	for _, test := range tests {
		got := states(w.run(t, "/v1/ag-ui/run", test.body))
		slices.Sort(got)
		slices.Sort(test.want)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	for _, bad := range []string{`[1]`, `"x"`, `1`} {
		if status, text := w.post(t, "/v1/ag-ui/run", input("r7", "m7", "hello", bad)); status != 400 || !strings.Contains(text, "state must be a JSON object") {
			t.Errorf("state %s: %d %s", bad, status, text)
		}
	}
}

func TestConnectShowsTheConversationAndTheOpenRun(t *testing.T) {
	w := newWorld(t)
	names := func(all []map[string]any) []string { n, _ := types(all); return n }
	empty := w.run(t, "/v1/ag-ui/connect", `{"threadId":"t0","runId":"c0","messages":[]}`)
	if diff := cmp.Diff([]string{"RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"}, names(empty)); diff != "" || encoded(t, empty[1]["messages"]) != "[]" {
		t.Errorf("a new thread: %v", empty)
	}
	w.run(t, "/v1/ag-ui/run", said("t1", "r1", "m1", "echo: one"))
	idle := w.run(t, "/v1/ag-ui/threads/t1/connect", `{"threadId":"ignored","runId":"c1","messages":[]}`)
	if got := find(t, idle, "MESSAGES_SNAPSHOT")["messages"].([]any); len(got) != 4 || len(idle) != 3 {
		t.Errorf("an idle thread: %v", idle)
	}
	asked := w.run(t, "/v1/ag-ui/run", said("t1", "r2", "m2", "approve: it"))
	response, err := w.Client().Get(w.URL + "/v1/ag-ui/threads/t1/stream")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	waiting := w.run(t, "/v1/ag-ui/connect", `{`+modern+`"threadId":"t1","runId":"c2","messages":[]}`)
	got, want := find(t, waiting, "RUN_FINISHED"), find(t, asked, "RUN_FINISHED")
	if encoded(t, got["outcome"]) != encoded(t, want["outcome"]) || got["runId"] != "c2" {
		t.Errorf("the end of a run that waits is %v, want %v", got, want)
	}
	if response.StatusCode != 200 {
		t.Errorf("GET stream: %d", response.StatusCode)
	}
}

func TestAMessageThatIsSentAgainIsSaidAgain(t *testing.T) {
	w := newWorld(t)
	w.run(t, "/v1/ag-ui/run", said("t1", "r1", "m1", "echo: one"))
	w.run(t, "/v1/ag-ui/run", said("t1", "r2", "m2", "echo: two"))
	body := `{"threadId":"t1","runId":"r3","messages":[{"id":"m1","role":"user","content":"echo: one"}]}`
	for range 2 {
		if _, text := types(w.run(t, "/v1/ag-ui/run", body)); text != "Echo: one" {
			t.Errorf("text %q", text)
		}
	}
	page, err := w.runtime.Messages(t.Context(), core.Identity{Tenant: "acme"}, "t1", messageQuery())
	if err != nil || len(page.Messages) != 4 {
		t.Errorf("the thread has %d messages (%v), want 4: what followed was taken back", len(page.Messages), err)
	}
}

func TestActivitiesAndOutputsOfToolsAreShown(t *testing.T) {
	w := newWorld(t)
	all := w.run(t, "/v1/ag-ui/run", said("t1", "r1", "m1", `call: work {\"text\":\"x\"}`))
	var got []string
	for _, e := range all {
		switch e["type"] {
		case "ACTIVITY_SNAPSHOT":
			got = append(got, e["activityType"].(string)+" "+encoded(t, e["content"]))
		case "ACTIVITY_DELTA":
			got = append(got, e["activityType"].(string)+" "+encoded(t, e["patch"]))
		}
	}
	call := find(t, all, "TOOL_CALL_START")["toolCallId"].(string)
	want := []string{
		`plan {"steps":["x"]}`,
		`tool-stream-output {"output":["half "],"toolCallId":"` + call + `","toolCallName":"work"}`,
		`tool-stream-output [{"op":"add","path":"/output/-","value":"done"}]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("activities (-want +got):\n%s", diff)
	}
}

// What says an earlier input again, or takes its run up, has the tools of that run.
func TestAnEarlierInputKeepsItsFrontend(t *testing.T) {
	w := newWorld(t)
	id := core.Identity{Tenant: "acme"}
	offered := func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		tools := w.asked[len(w.asked)-1].Tools
		return tools[len(tools)-1].Name == "navigate"
	}
	w.run(t, "/v1/ag-ui/run", `{"threadId":"t1","runId":"r1","state":{"n":1},"tools":[`+navigate+`],"messages":[{"id":"m1","role":"user","content":"fail"}]}`)
	run, ok, err := w.runtime.RunOfKey(t.Context(), id, "t1", "ag-ui:r1")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	again := mailbox.Submission{Thread: core.ThreadKey{Tenant: "acme", Thread: "t1"}, Opening: mailbox.Opening{Retake: &mailbox.Retake{Message: "m1"}}}
	receipts := map[string]func() (mailbox.Receipt, error){
		"taken up":   func() (mailbox.Receipt, error) { return w.runtime.TakeUp(t.Context(), id, run) },
		"said again": func() (mailbox.Receipt, error) { return w.runtime.Submit(t.Context(), again) },
	}
	for _, name := range []string{"taken up", "said again"} {
		receipt, err := receipts[name]()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		ended := host.ListenerFunc(func(core.Event) error { return nil })
		if err := w.runtime.Follow(t.Context(), id, receipt.RunID, ended); err != nil || !offered() {
			t.Errorf("%s: %v, the tool is offered: %v", name, err, offered())
		}
	}
}

func TestAnAnswerThatComesTooLateIsRefused(t *testing.T) {
	w := newWorld(t)
	asked := w.run(t, "/v1/ag-ui/run", said("t1", "r1", "m1", "call: patient {}"))
	interrupt := find(t, asked, "RUN_FINISHED")["outcome"].(map[string]any)["interrupts"].([]any)[0].(map[string]any)
	if interrupt["reason"] != "input_required" || interrupt["expiresAt"] == nil || encoded(t, interrupt["responseSchema"]) != `{"type":"object"}` {
		t.Errorf("interrupt %v", interrupt)
	}
	expires, err := time.Parse(time.RFC3339, interrupt["expiresAt"].(string))
	if err != nil {
		t.Fatal(err)
	}
	answer := func(now time.Time, status string) *httptest.ResponseRecorder {
		e := env.System()
		e.Now = func() time.Time { return now }
		body := `{"threadId":"t1","runId":"r2","messages":[],"resume":[{"interruptId":"` + interrupt["id"].(string) + `","status":"` + status + `","payload":{}}]}`
		return w.bufferedAt(e, "POST", "/v1/ag-ui/run", body, "", "")
	}
	late := answer(expires, "resolved")
	if late.Code != 400 || !strings.Contains(late.Body.String(), "has expired: it can only be cancelled") {
		t.Errorf("late: %d %s", late.Code, late.Body)
	}
	if got := answer(expires, "cancelled"); got.Code != 202 {
		t.Errorf("late, and cancelled: %d %s", got.Code, got.Body)
	}
}
