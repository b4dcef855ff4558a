package agui_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// Only the end of a child run answers the call that waits for it. An answer of a client, to
// the interrupt or as the call's result, is refused with the code child.
func TestACallThatWaitsForAChildTakesNoAnswer(t *testing.T) {
	w := newWorld(t)
	id := core.Identity{Tenant: "acme"}
	receipt, err := w.runtime.Submit(t.Context(), mailbox.Submission{
		Thread: core.ThreadKey{Tenant: "acme", Thread: "t1"}, Opening: mailbox.Opening{AgentID: "demo"}, Messages: []core.Message{core.UserMessage("call: delegate {}").WithID("m1")},
	})
	if err != nil {
		t.Fatal(err)
	}
	var waits core.Run
	for deadline := time.Now().Add(10 * time.Second); len(waits.Tickets) == 0; time.Sleep(time.Millisecond) {
		if waits, err = w.runtime.ReadRun(t.Context(), id, receipt.RunID); err != nil || time.Now().After(deadline) {
			t.Fatalf("run %+v, %v", waits, err)
		}
	}
	ticket := waits.Tickets[0]
	if ticket.Kind != core.TicketChild {
		t.Fatalf("it waits for %q", ticket.Kind)
	}
	result := `{"id":"m2","role":"tool","toolCallId":"` + ticket.CallID + `","content":"mine"}`
	answer := `"resume":[{"interruptId":"` + ticket.Suspension.ID + `","status":"resolved","payload":{"approved":true}}]`
	want := `{"error":"tool call \"` + ticket.CallID + `\": the call waits for a child run, whose end alone decides it","code":"child"}` + "\n"
	for name, body := range map[string]string{
		"an interrupt's answer": `{"threadId":"t1","runId":"r2","messages":[],` + answer + `}`,
		"the call's result":     `{"threadId":"t1","runId":"r3","messages":[` + result + `]}`,
		"both":                  `{"threadId":"t1","runId":"r4","messages":[` + result + `],` + answer + `}`,
	} {
		if status, text := w.post(t, "/v1/ag-ui/run", body); status != 409 || text != want {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	after, err := w.runtime.ReadRun(t.Context(), id, receipt.RunID)
	if err != nil || len(after.Tickets) != 1 || after.Tickets[0].Decision != nil {
		t.Errorf("then the run is %+v, %v", after, err)
	}
}

// A question of a child run is an interrupt of its parent's run. The answer lets the child run go
// on, and the response shows the end of both.
func TestAQuestionOfAChildRunIsAnInterrupt(t *testing.T) {
	for name, test := range map[string]struct{ answer, want string }{
		"approved":  {`"status":"resolved","payload":{"approved":true}`, `The result of delegate: `},
		"denied":    {`"status":"resolved","payload":{"approved":false}`, `The result of delegate: `},
		"cancelled": {`"status":"cancelled"`, `The result of delegate: `},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			const says = `{"id":"m1","role":"user","content":"call: delegate {}"}`
			status, text := w.post(t, "/v1/ag-ui/run", `{"threadId":"t1","runId":"r1","protocolVersion":"1.0","messages":[`+says+`]}`)
			asked := regexp.MustCompile(`"interrupts":\[\{"id":"([0-9a-f-]{36}:[^"]+)","reason":"tool_call","message":"[^"]+","toolCallId":"([0-9a-f-]{36}):([^"]+)"`).FindStringSubmatch(text)
			if status != 200 || asked == nil || !strings.HasPrefix(asked[1], asked[2]+":") || !strings.Contains(text, `"activityType":"agent_run"`) {
				t.Fatalf("status %d, no interrupt of a child run in\n%s", status, text)
			}
			unanswered := `{"threadId":"t1","runId":"r2","messages":[` + says + `,{"id":"m2","role":"user","content":"and now?"}]}`
			if _, text := w.post(t, "/v1/ag-ui/run", unanswered); !strings.Contains(text, `"code":"busy"`) || !strings.Contains(text, asked[1]) {
				t.Errorf("a new message without an answer: %s", text)
			}
			has := regexp.MustCompile(`"type":"MESSAGES_SNAPSHOT","messages":(.*)}`).FindStringSubmatch(text)[1]
			resume := `{"threadId":"t1","runId":"r3","protocolVersion":"1.0","messages":` + has + `,"resume":[{"interruptId":"` + asked[1] + `",` + test.answer + `}]}`
			for range 2 { // the second request is the same again
				status, text := w.post(t, "/v1/ag-ui/run", resume)
				if status != 200 || !strings.Contains(text, test.want) || !strings.Contains(text, `"type":"RUN_FINISHED"`) || strings.Contains(text, "RUN_ERROR") {
					t.Errorf("status %d\n%s", status, text)
				}
			}
		})
	}
}
