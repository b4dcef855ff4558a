package aisdk_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

// waitsForChild is a run of thread t1 that waits for a child run with two open calls.
func waitsForChild(run core.ID) (core.Run, error) {
	about := core.ChildRun{RunID: childID, ThreadID: "child.t1", AgentID: "helper", Parent: run, ParentCall: "a"}
	call := core.Ticket{CallID: "a", Tool: "delegate", Kind: core.TicketChild, Suspension: core.Suspension{ID: childText}}
	return core.Run{ID: run, ThreadID: "t1", Status: core.RunWaiting, Tickets: []core.Ticket{call}, Children: &core.RunChildren{Tickets: []core.ChildTicket{
		{ChildRun: about, Ticket: asks("s1")}, {ChildRun: about, Ticket: gives("c1")},
	}}}, nil
}

// dynamic is a part of a call of the child run as a client sends it back.
func dynamic(call, rest string) string {
	return fmt.Sprintf(`{"type":"dynamic-tool","toolName":"danger","toolCallId":"%s:%s","input":{},%s}`, childText, call, rest)
}

func approvedChild(suspension, approved string) string {
	return dynamic("c-"+suspension, fmt.Sprintf(`"state":"approval-responded","approval":{"id":"%s:%s","approved":%s,"reason":"why"}`, childText, suspension, approved))
}

// A part of a call of a child run decides that call, in the same request as others.
func TestPartsOfChildRunsAreDecisionsOnTheirCalls(t *testing.T) {
	of := func(d mailbox.Deciding) mailbox.Deciding { d.Run = childID; return d }
	yes := func(id string) mailbox.Deciding { return of(says(id, core.DecisionResume, `{"approved":true}`, "why")) }
	output := dynamic("c1", `"state":"output-available","output":7`)
	step := `{"type":"step-start"}`
	for name, test := range map[string]struct {
		body string
		want []mailbox.Deciding
	}{
		"approved":       {chatWith(step, approvedChild("s1", "true")), []mailbox.Deciding{yes("s1")}},
		"denied":         {chatWith(step, approvedChild("s1", "false")), []mailbox.Deciding{of(says("s1", core.DecisionCancel, `{"approved":false}`, "why"))}},
		"an output":      {chatWith(step, output), []mailbox.Deciding{of(says("c1", core.DecisionResume, "7", ""))}},
		"both":           {chatWith(step, approvedChild("s1", "true"), output), []mailbox.Deciding{yes("s1"), of(says("c1", core.DecisionResume, "7", ""))}},
		"sent again":     {chatWith(step, approvedChild("gone", "true")), []mailbox.Deciding{yes("gone")}},
		"an old output":  {chatWith(step, approvedChild("s1", "true"), dynamic("old", `"state":"output-available","output":7`)), []mailbox.Deciding{yes("s1")}},
		"a step earlier": {chatWith(step, output, step, approvedChild("s1", "true")), []mailbox.Deciding{yes("s1")}},
		// An id with a colon that no child run has.
		"its own": {chatWith(step, strings.ReplaceAll(approval("a:b", "true"), "c-", "c:")), []mailbox.Deciding{says("a:b", core.DecisionResume, `{"approved":true}`, "why")}},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{run: waitsForChild, decided: readEvents(t, "testdata/children_decided.events")}
			rec := do(newServer(t, f), "POST", "/v1/ai-sdk/chat", test.body)
			if rec.Code != 200 {
				t.Fatalf("status %d: %s", rec.Code, rec.Body)
			}
			if diff := cmp.Diff([][]mailbox.Deciding{test.want}, f.decisions); diff != "" {
				t.Errorf("decisions (-want +got):\n%s", diff)
			}
		})
	}
	f := &fake{run: waitsForChild}
	rec := do(newServer(t, f), "POST", "/v1/ai-sdk/chat", chatWith(step, dynamic("c-s1", `"state":"output-available","output":{"approved":true}`)))
	want := `{"error":"tool call \"` + childText + `:c-s1\" waits for an approval, not for an output","code":"invalid"}`
	if got := strings.TrimSpace(rec.Body.String()); rec.Code != 400 || got != want || len(f.decisions) != 0 {
		t.Errorf("an output for an approval: %d %s, decisions %v", rec.Code, got, f.decisions)
	}
}

// What a client settled of a child run's calls is decided before its person's new message.
func TestSettledPartsOfChildRunsAreDecidedToo(t *testing.T) {
	f := &fake{run: waitsForChild}
	body := chatWith(`{"type":"step-start"}`, approvedChild("s1", "false"))
	body = strings.Replace(body, `"messageId":"`+runText+`",`, "", 1)
	body = strings.TrimSuffix(body, "]}") + "," + user("m2", "leave it") + "]}"
	rec := do(newServer(t, f), "POST", "/v1/ai-sdk/chat", body)
	if rec.Code != 200 || len(f.decisions) != 1 || f.decisions[0][0].Run != childID || f.decisions[0][0].Target != "s1" {
		t.Errorf("status %d: %s, decisions %+v", rec.Code, rec.Body, f.decisions)
	}
}

// A run that waits for child runs alone is resumed: they work, and its stream ends by itself
// when they all wait.
func TestARunThatWaitsForChildRunsIsResumed(t *testing.T) {
	for name, test := range map[string]struct {
		also   []core.Ticket
		status int
	}{
		"child runs alone":         {nil, 200},
		"a decided one too":        {[]core.Ticket{decidedTicket(asks("x"), core.Decision{Action: core.DecisionResume})}, 200},
		"a person too":             {[]core.Ticket{asks("x")}, 204},
		"a time too, and a person": {[]core.Ticket{{Kind: core.TicketTimer}, asks("x")}, 204},
	} {
		f := &fake{
			thread: func(core.Identity, string) (host.Thread, error) {
				return host.Thread{ID: "t1", ActiveRun: runID, Status: core.RunWaiting}, nil
			},
			run: func(run core.ID) (core.Run, error) {
				record, err := waitsForChild(run)
				record.Tickets = append(record.Tickets, test.also...)
				return record, err
			},
		}
		if rec := do(newServer(t, f), "GET", "/v1/ai-sdk/chat/t1/stream", ""); rec.Code != test.status {
			t.Errorf("%s: status %d, want %d", name, rec.Code, test.status)
		}
	}
}

// The history has the open calls of child runs as the stream has shown them.
func TestTheHistoryHasTheOpenCallsOfChildRuns(t *testing.T) {
	record, _ := waitsForChild(runID)
	turn := core.Message{ID: runText + ".1", RunID: runID, Role: core.RoleAssistant, Step: 1, ToolCalls: []core.ToolCall{{ID: "a", Name: "delegate"}}}
	f := &fake{run: waitsForChild, messages: func(core.Identity, string, host.MessageQuery) (host.MessagePage, error) {
		return host.MessagePage{Messages: []core.Message{turn}}, nil
	}}
	rec := do(newServer(t, f), "GET", "/v1/ai-sdk/threads/t1/messages", "")
	want := `{"messages":[{"id":"` + runText + `","role":"assistant","parts":[{"type":"step-start"},` +
		`{"type":"tool-delegate","state":"input-available","toolCallId":"a","input":{}},{"type":"step-start"},` +
		`{"type":"dynamic-tool","state":"approval-requested","toolCallId":"` + childText + `:c-s1","input":{},"approval":{"id":"` + childText + `:s1"},"toolName":"danger"},` +
		`{"type":"dynamic-tool","state":"input-available","toolCallId":"` + childText + `:c1","input":{},"toolName":"ask_user"}]}]}`
	if diff := cmp.Diff(want, strings.TrimSpace(rec.Body.String())); diff != "" || len(record.ChildTickets()) != 2 {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
