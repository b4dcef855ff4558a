package agui_test

import (
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
