package aisdk_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/protocols/aisdk"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

const runText = "01890000-0000-7000-8000-000000000001"

// A child run of the run.
const childText = "01890000-0000-7000-8000-00000000c41d"

var childID, _ = core.ParseID(childText)

// The parts of tool calls as the client sends them.
func approval(id, approved string) string {
	return fmt.Sprintf(`{"type":"tool-danger","toolCallId":"c-%s","state":"approval-responded","input":{},"approval":{"id":%q,"approved":%s,"reason":"why"}}`, id, id, approved)
}

func output(call, output string) string {
	return fmt.Sprintf(`{"type":"tool-ask_user","toolCallId":%q,"state":"output-available","input":{},"output":%s}`, call, output)
}

func outputError(call, text string) string {
	return fmt.Sprintf(`{"type":"dynamic-tool","toolName":"x","toolCallId":%q,"state":"output-error","input":{},"errorText":%q}`, call, text)
}

// chatWith is a request whose last message is the run's, with these parts.
func chatWith(parts ...string) string {
	return `{"id":"t1","trigger":"submit-message","messageId":"` + runText + `","messages":[` + user("m1", "x") +
		`,{"id":"` + runText + `","role":"assistant","parts":[` + strings.Join(parts, ",") + `]}]}`
}

// asks is a ticket that wants an approval, gives one that wants an output.
func asks(suspension string) core.Ticket {
	return core.Ticket{Suspension: core.Suspension{ID: suspension}, CallID: "c-" + suspension, Tool: "danger", Mode: core.ResumeReplay, Kind: core.TicketPerson}
}

func gives(call string) core.Ticket {
	return core.Ticket{Suspension: core.Suspension{ID: "s-" + call}, CallID: call, Tool: "ask_user", Mode: core.ResumeAsResult, Kind: core.TicketClient}
}

func decidedTicket(t core.Ticket, d core.Decision) core.Ticket {
	t.Decision = &d
	return t
}

// waitsWith is a run of thread t1 that waits with the tickets.
func waitsWith(tickets ...core.Ticket) func(core.ID) (core.Run, error) {
	return func(run core.ID) (core.Run, error) {
		return core.Run{ID: run, ThreadID: "t1", Status: core.RunWaiting, Tickets: tickets}, nil
	}
}

func says(target string, action core.DecisionAction, payload, reason string) mailbox.Deciding {
	d := mailbox.Deciding{Run: runID, Target: target, Decision: core.Decision{Action: action, Reason: reason}}
	if payload != "" {
		d.Decision.Payload = []byte(payload)
	}
	return d
}

func remembered(d mailbox.Deciding, r core.Remember, as core.RememberAs) mailbox.Deciding {
	d.Decision.Remember, d.Decision.RememberAs = r, as
	return d
}

// withApproval is a request with the member approval beside the messages.
func withApproval(body, approval string) string { return `{"approval":` + approval + `,` + body[1:] }

func TestAnswersThatSayWrongHowLongTheyHold(t *testing.T) {
	step := `{"type":"step-start"}`
	for body, want := range map[string]string{
		withApproval(chatWith(step, approval("a", "true")), `{"remember":"ever"}`):                         `tool part \"c-a\": invalid remember \"ever\", allowed are \"once\", \"run\" and \"thread\"`,
		withApproval(chatWith(step, approval("a", "true")), `{"remember":"run","rememberAs":"tool"}`):      `tool part \"c-a\": invalid remember_as \"tool\", allowed are \"call\" and \"rule\"`,
		withApproval(chatWith(step, approval("a", "true")), `{"rememberAs":"rule"}`):                       `tool part \"c-a\": remember_as needs remember \"run\" or \"thread\"`,
		withApproval(chatWith(step, approval("a", "true")), `{"remember":true}`):                           `approval: remember and rememberAs must be strings`,
		strings.Replace(chatWith(step, approval("a", "true")), `"reason":"why"`, `"remember":"always"`, 1): `tool part \"c-a\": invalid remember \"always\", allowed are \"once\", \"run\" and \"thread\"`,
	} {
		f := &fake{run: waitsWith(asks("a"))}
		rec := do(newServer(t, f), "POST", "/v1/ai-sdk/chat", body)
		if got := strings.TrimSpace(rec.Body.String()); rec.Code != 400 || got != `{"error":"`+want+`","code":"invalid"}` || len(f.decisions) > 0 {
			t.Errorf("status %d, %s; want %s", rec.Code, got, want)
		}
	}
}

func TestToolPartsOfTheLastMessageAreDecisions(t *testing.T) {
	yes := func(id string) mailbox.Deciding { return says(id, core.DecisionResume, `{"approved":true}`, "why") }
	no := func(id string) mailbox.Deciding { return says(id, core.DecisionCancel, `{"approved":false}`, "why") }
	step := `{"type":"step-start"}`
	tests := []struct {
		name    string
		body    string
		tickets []core.Ticket
		want    []mailbox.Deciding
	}{
		{"approved", chatWith(step, approval("a", "true")), []core.Ticket{asks("a")}, []mailbox.Deciding{yes("a")}},
		{"denied", chatWith(step, approval("a", "false")), []core.Ticket{asks("a")}, []mailbox.Deciding{no("a")}},
		{"a client's output", chatWith(step, output("c1", `{"n":[1, 2]}`)), []core.Ticket{gives("c1")},
			[]mailbox.Deciding{says("c1", core.DecisionResume, `{"n":[1, 2]}`, "")}},
		{"a client's error", chatWith(step, outputError("c1", "no idea")), []core.Ticket{gives("c1")},
			[]mailbox.Deciding{says("c1", core.DecisionCancel, "", "no idea")}},
		{"all of a step", chatWith(step, approval("a", "true"), output("c1", `1`), approval("b", "false")), []core.Ticket{asks("a"), gives("c1"), asks("b")},
			[]mailbox.Deciding{yes("a"), says("c1", core.DecisionResume, "1", ""), no("b")}},
		{"one of two that wait", chatWith(step, approval("b", "true")), []core.Ticket{asks("a"), asks("b")}, []mailbox.Deciding{yes("b")}},
		{"not those of steps before", chatWith(step, approval("old", "true"), output("c0", "1"), step, approval("a", "true")), []core.Ticket{asks("a")},
			[]mailbox.Deciding{yes("a")}},
		{"not what the server's tools put out", chatWith(step, output("echo", `"hi"`), outputError("bad", "no"), approval("a", "true")), []core.Ticket{asks("a")},
			[]mailbox.Deciding{yes("a")}},
		{"an approval that was sent before goes first", chatWith(step, approval("a", "true"), approval("sent", "true")), []core.Ticket{asks("a")},
			[]mailbox.Deciding{yes("sent"), yes("a")}},
		{"one that is decided and not read, too", chatWith(step, approval("a", "true"), approval("sent", "true")),
			[]core.Ticket{asks("a"), decidedTicket(asks("sent"), core.Decision{Action: core.DecisionResume})}, []mailbox.Deciding{yes("sent"), yes("a")}},
		{"a request sent again, when nothing waits", chatWith(step, approval("a", "true"), output("c1", "1")), nil,
			[]mailbox.Deciding{yes("a"), says("c1", core.DecisionResume, "1", "")}},
		{"remembered, as the part says", strings.Replace(chatWith(step, approval("a", "true")), `"reason":"why"`, `"reason":"why","remember":"thread","rememberAs":"rule"`, 1), []core.Ticket{asks("a")},
			[]mailbox.Deciding{remembered(yes("a"), core.RememberThread, core.RememberRule)}},
		{"remembered, as the body says", withApproval(chatWith(step, approval("a", "false"), approval("b", "true"), output("c1", "1")), `{"remember":"run","more":1}`), []core.Ticket{asks("a"), asks("b"), gives("c1")},
			[]mailbox.Deciding{remembered(no("a"), core.RememberRun, ""), remembered(yes("b"), core.RememberRun, ""), says("c1", core.DecisionResume, "1", "")}},
		{"remembered, as the part says and not the body", withApproval(strings.Replace(chatWith(step, approval("a", "true")), `"reason":"why"`, `"reason":"why","remember":"once"`, 1), `{"remember":"thread"}`), []core.Ticket{asks("a")},
			[]mailbox.Deciding{remembered(yes("a"), core.RememberOnce, "")}},
		{"an application's own approval", withApproval(chatWith(step, approval("a", "true")), `true`), []core.Ticket{asks("a")}, []mailbox.Deciding{yes("a")}},
		{"the message that is named, not the last", `{"id":"t1","messageId":"` + runText + `","messages":[{"id":"` + runText +
			`","role":"assistant","parts":[` + approval("a", "true") + `]},` + user("m2", "meanwhile") + `]}`, []core.Ticket{asks("a")}, []mailbox.Deciding{yes("a")}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := &fake{run: waitsWith(test.tickets...), decided: readEvents(t, "testdata/approved.events")}
			rec := do(newServer(t, f), "POST", "/v1/ai-sdk/chat", test.body)
			if rec.Code != 200 {
				t.Fatalf("status %d: %s", rec.Code, rec.Body)
			}
			if diff := cmp.Diff([][]mailbox.Deciding{test.want}, f.decisions); diff != "" {
				t.Errorf("decisions (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"Run", "StreamDecisions"}, f.calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// Refused here, since a decision that names the call would count as an approval.
func TestAnAnswerOfTheWrongKindIsNoDecision(t *testing.T) {
	child := gives("c1")
	child.Kind = core.TicketChild
	timer := gives("c1")
	timer.Kind, timer.WakeAt = core.TicketTimer, 946688400000
	tests := []struct {
		name, part string
		ticket     core.Ticket
		status     int
		want       string
	}{
		{"an output for an approval", output("c-a", `{"approved":true}`), asks("a"), 400, `{"error":"tool call \"c-a\" waits for an approval, not for an output","code":"invalid"}`},
		{"an approval for an output", approval("s-c1", "true"), gives("c1"), 400, `{"error":"tool call \"c-s-c1\" does not wait for an answer of this kind","code":"invalid"}`},
		{"an output for a child run", output("c1", "1"), child, 409, `{"error":"tool call \"c1\": the call waits for a child run, whose end alone decides it","code":"child"}`},
		{"an approval for a child run", approval("s-c1", "true"), child, 409, `{"error":"tool call \"c-s-c1\": the call waits for a child run, whose end alone decides it","code":"child"}`},
		{"an output for a timer", output("c1", "1"), timer, 400, `{"error":"tool call \"c1\": the call waits for a time, not for an answer","code":"invalid"}`},
		{"an error for a timer", `{"type":"tool-nap","toolCallId":"c1","state":"output-error","input":{},"errorText":"left"}`, timer, 400, `{"error":"tool call \"c1\": the call waits for a time, not for an answer","code":"invalid"}`},
		{"an approval for a timer", approval("s-c1", "true"), timer, 400, `{"error":"tool call \"c-s-c1\": the call waits for a time, not for an answer","code":"invalid"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := &fake{run: waitsWith(test.ticket)}
			rec := do(newServer(t, f), "POST", "/v1/ai-sdk/chat", chatWith(test.part))
			if got := strings.TrimSpace(rec.Body.String()); rec.Code != test.status || got != test.want || len(f.decisions) != 0 {
				t.Errorf("response %d %s, decisions %v", rec.Code, got, f.decisions)
			}
		})
	}
}

func TestTheSecondStreamGoesOnWithTheSameMessage(t *testing.T) {
	f := &fake{run: waitsWith(asks("1")), decided: readEvents(t, "testdata/approved.events")}
	body := strings.ReplaceAll(chatWith(approval("1", "true")), "c-1", "call_1")
	rec := do(newServer(t, f), "POST", "/v1/ai-sdk/threads/t1/runs", body)
	if diff := cmp.Diff(frames(t, "approved"), rec.Body.String()); rec.Code != 200 || diff != "" {
		t.Errorf("status %d, body (-want +got):\n%s", rec.Code, diff)
	}
}

// A client may settle the call that waits and send nothing until its person says something
// new: what it settled is decided first, and the response is a message of its own.
func TestSettledPartsAreDecidedBeforeTheNewMessage(t *testing.T) {
	call := core.Ticket{CallID: "c1", Kind: core.TicketClient, Mode: core.ResumeAsResult, Suspension: core.Suspension{ID: "s1"}}
	output := `{"type":"tool-ask_user","toolCallId":"c1","state":"output-available","input":{},"output":{"name":"Ann"}}`
	failed := `{"type":"tool-ask_user","toolCallId":"c1","state":"output-error","input":{},"errorText":"left"}`
	gaveUp := `{"type":"tool-danger","toolCallId":"c1","state":"output-error","input":{},"errorText":"left"}`
	asked := core.Ticket{CallID: "c1", Suspension: core.Suspension{ID: "a"}}
	decided := asked
	decided.Decision = &core.Decision{Action: core.DecisionResume}
	for _, test := range []struct {
		name, part string
		ticket     core.Ticket
		want       []mailbox.Deciding
	}{
		{"an output", output, call, []mailbox.Deciding{says("c1", core.DecisionResume, `{"name":"Ann"}`, "")}},
		{"an error", failed, call, []mailbox.Deciding{says("c1", core.DecisionCancel, "", "left")}},
		{"an approval", approval("a", "true"), asked, []mailbox.Deciding{says("a", core.DecisionResume, `{"approved":true}`, "why")}},
		{"an approval that the client gave up", gaveUp, asked, []mailbox.Deciding{says("c1", core.DecisionCancel, "", "left")}},
		{"what is decided", gaveUp, decided, nil},
		{"what waits for a child run, whose end alone decides it", failed, core.Ticket{CallID: "c1", Kind: core.TicketChild, Suspension: core.Suspension{ID: "s1"}}, nil},
		{"what waits for a time", failed, core.Ticket{CallID: "c1", Kind: core.TicketTimer, Suspension: core.Suspension{ID: "s1"}}, nil},
		{"what waits for a time, with an output", output, core.Ticket{CallID: "c1", Kind: core.TicketTimer, Suspension: core.Suspension{ID: "s1"}}, nil},
	} {
		steps := func(run core.ID) (core.Run, error) {
			return core.Run{ID: run, ThreadID: "t1", Steps: 1, Tickets: []core.Ticket{test.ticket}}, nil
		}
		f := &fake{run: steps, thread: func(core.Identity, string) (host.Thread, error) {
			return host.Thread{ID: "t1", ActiveRun: runID, Status: core.RunWaiting}, nil
		}, stream: func(_ context.Context, _ mailbox.Submission, sink sinkFunc) error {
			return play(sink, laterEvents())
		}}
		body := `{"id":"t1","messages":[{"id":"` + runText + `","role":"assistant","parts":[{"type":"step-start"},` + test.part + `]},` + user("m2", "no, wait") + `]}`
		rec := do(newServer(t, f), "POST", "/v1/ai-sdk/chat", body)
		var got []mailbox.Deciding
		if len(f.decisions) > 0 {
			got = f.decisions[0]
		}
		if diff := cmp.Diff(test.want, got); rec.Code != 200 || diff != "" || len(f.submissions) != 1 || f.submissions[0].Key.Value != "message:m2" {
			t.Errorf("%s: status %d, submissions %+v, decisions (-want +got):\n%s", test.name, rec.Code, f.submissions, diff)
		}
		if diff := cmp.Diff(later, chunks(rec.Body.String())); diff != "" {
			t.Errorf("%s: body (-want +got):\n%s", test.name, diff)
		}
	}
	// An output approves nothing, beside a message too.
	f := &fake{run: func(run core.ID) (core.Run, error) {
		return core.Run{ID: run, ThreadID: "t1", Tickets: []core.Ticket{asked}}, nil
	}}
	body := `{"id":"t1","messages":[{"id":"` + runText + `","role":"assistant","parts":[` + output + `]},` + user("m2", "go on") + `]}`
	if rec := do(newServer(t, f), "POST", "/v1/ai-sdk/chat", body); rec.Code != 400 || len(f.decisions) != 0 || len(f.submissions) != 0 {
		t.Errorf("status %d %s, decisions %v", rec.Code, rec.Body, f.decisions)
	}
}

func TestANewMessageNeedsNoApprovalThatIsAsked(t *testing.T) {
	f := &fake{}
	body := `{"id":"t1","messages":[{"id":"` + runText + `","role":"assistant","parts":[` + approval("a", "true") + `]},` + user("m2", "no, wait") + `]}`
	rec := do(newServer(t, f), "POST", "/v1/ai-sdk/chat", body)
	if rec.Code != 200 || len(f.decisions) != 0 || len(f.submissions) != 1 || f.submissions[0].Key.Value != "message:m2" {
		t.Errorf("status %d, decisions %v, submissions %+v", rec.Code, f.decisions, f.submissions)
	}
}

// The application can give messages ids of its own: then the open run counts.
func TestAMessageWithAnotherIDDecidesOnTheOpenRun(t *testing.T) {
	over := []core.Event{{Type: core.EventRunFinish}}
	f := &fake{decided: over, run: waitsWith(asks("a")), thread: func(core.Identity, string) (host.Thread, error) {
		return host.Thread{ID: "t1", ActiveRun: runID, Status: core.RunWaiting}, nil
	}}
	body := strings.ReplaceAll(chatWith(approval("a", "true")), runText, "my-message")
	rec := do(newServer(t, f), "POST", "/v1/ai-sdk/chat", body)
	want := [][]mailbox.Deciding{{says("a", core.DecisionResume, `{"approved":true}`, "why")}}
	if diff := cmp.Diff(want, f.decisions); rec.Code != 200 || diff != "" {
		t.Errorf("status %d, decisions (-want +got):\n%s", rec.Code, diff)
	}
	idle := &fake{decided: over, thread: func(core.Identity, string) (host.Thread, error) { return host.Thread{ID: "t1"}, nil }}
	want[0][0].Run = core.ID{}
	rec = do(newServer(t, idle), "POST", "/v1/ai-sdk/chat", body)
	if diff := cmp.Diff(want, idle.decisions); rec.Code != 200 || diff != "" {
		t.Errorf("without an open run: status %d, decisions (-want +got):\n%s", rec.Code, diff)
	}
}

// refuses is a runtime that takes no decision on the targets.
func refuses(code core.Code, targets ...string) func(mailbox.Deciding) (mailbox.Decided, error) {
	return func(d mailbox.Deciding) (mailbox.Decided, error) {
		for _, target := range targets {
			if d.Target == target {
				return mailbox.Decided{}, core.Errorf(code, "no")
			}
		}
		return mailbox.Decided{ThreadID: "t1", RunID: d.Run}, nil
	}
}

func TestDecisionsThatAreRefused(t *testing.T) {
	both := chatWith(approval("old", "true"), approval("a", "true"))
	tests := []struct {
		name    string
		body    string
		tickets []core.Ticket
		decide  func(mailbox.Deciding) (mailbox.Decided, error)
		status  int
		want    string // of a refusal
		tries   int
	}{
		{"an old one that nobody knows is left out", both, []core.Ticket{asks("a")}, refuses(core.CodeNotFound, "old"), 200, "", 2},
		{"an old one that somebody decided otherwise, too", both, []core.Ticket{asks("a")}, refuses(core.CodeDecided, "old"), 200, "", 2},
		{"not when the store is down", both, []core.Ticket{asks("a")}, refuses(core.CodeUnavailable, "old"), 503,
			`{"error":"the service cannot answer now, try again","code":"unavailable"}`, 1},
		{"an unknown approval", chatWith(approval("old", "true")), nil, refuses(core.CodeNotFound, "old"), 404,
			`{"error":"approval \"old\" of tool call \"c-old\": nothing waits for it","code":"not_found"}`, 1},
		{"nothing but what the server's tools put out", chatWith(output("echo", "1"), output("echo2", "1")), nil, refuses(core.CodeNotFound, "echo", "echo2"), 404,
			`{"error":"output of tool call \"echo2\": nothing waits for it, and there is no new message","code":"not_found"}`, 2},
		{"a new one that another client was faster with", chatWith(approval("a", "true")), []core.Ticket{asks("a")}, refuses(core.CodeDecided, "a"), 409,
			`{"error":"tool call \"c-a\" was already decided otherwise","code":"decided"}`, 1},
		{"one whose child began to wait meanwhile", chatWith(approval("a", "true")), []core.Ticket{asks("a")}, refuses(core.CodeChild, "a"), 409, `{"error":"no","code":"child"}`, 1},
		{"a payload that the ticket does not take", chatWith(output("c1", "1")), []core.Ticket{gives("c1")}, refuses(core.CodeInvalid, "c1"), 400, `{"error":"no","code":"invalid"}`, 1},
		{"another user's thread", chatWith(approval("a", "true")), []core.Ticket{asks("a")}, refuses(core.CodeForbidden, "a"), 404, `{"error":"not found","code":"not_found"}`, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := &fake{run: waitsWith(test.tickets...), decide: test.decide, decided: readEvents(t, "testdata/approved.events")}
			rec := do(newServer(t, f), "POST", "/v1/ai-sdk/chat", test.body)
			if got := strings.TrimSpace(rec.Body.String()); rec.Code != test.status || test.want != "" && got != test.want {
				t.Errorf("response %d %s\nwant   %d %s", rec.Code, got, test.status, test.want)
			}
			if len(f.decisions) != test.tries {
				t.Errorf("%d tries, want %d", len(f.decisions), test.tries)
			}
		})
	}
}

func TestDecisionsOnWhatDoesNotExist(t *testing.T) {
	elsewhere := &fake{run: func(run core.ID) (core.Run, error) { return core.Run{ID: run, ThreadID: "t9"}, nil }}
	for name, f := range map[string]*fake{"unknown run": {}, "a run of another thread": elsewhere} {
		rec := do(newServer(t, f), "POST", "/v1/ai-sdk/chat", chatWith(approval("a", "true")))
		if rec.Code != 404 || rec.Body.String() != "{\"error\":\"not found\",\"code\":\"not_found\"}\n" || len(f.decisions) != 0 {
			t.Errorf("%s: response %d %s", name, rec.Code, rec.Body)
		}
	}
	named := strings.ReplaceAll(chatWith(approval("a", "true")), runText, "my-message")
	if rec := do(newServer(t, &fake{}), "POST", "/v1/ai-sdk/chat", named); rec.Code != 404 {
		t.Errorf("unknown thread: response %d %s", rec.Code, rec.Body)
	}
	bare := aisdk.New(&fake{}, nil)
	if rec := do(bare, "POST", "/v1/ai-sdk/chat", chatWith(approval("a", "true"))); rec.Code != http.StatusUnauthorized {
		t.Errorf("nobody: response %d %s", rec.Code, rec.Body)
	}
}

func TestABufferedTransportTakesDecisions(t *testing.T) {
	buffered := func(o *aisdk.Options) { o.Buffered, o.StreamURL = true, "https://stream.example" }
	f := &fake{run: waitsWith(asks("a"), gives("c1")), decide: refuses(core.CodeNotFound, "old")}
	rec := do(newServer(t, f, buffered), "POST", "/v1/ai-sdk/chat", chatWith(approval("a", "true"), output("c1", "1"), approval("old", "true")))
	want := `{"status":"decision_submitted","thread_id":"t1","run_id":"` + runText + `","stream_url":"https://stream.example/v1/ai-sdk/chat/t1/stream"}` + "\n"
	if rec.Code != 202 || rec.Body.String() != want {
		t.Errorf("response %d %s", rec.Code, rec.Body)
	}
	if diff := cmp.Diff([]string{"Run", "DecideThread", "DecideThread", "DecideThread"}, f.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	f = &fake{run: waitsWith(asks("a"))}
	rec = do(newServer(t, f, buffered), "POST", "/v1/ai-sdk/chat", chatWith(approval("a", "true")), "Accept", "text/event-stream")
	if rec.Code != 406 || len(f.decisions) != 0 {
		t.Errorf("a stream demanded: response %d %s", rec.Code, rec.Body)
	}
	f = &fake{run: waitsWith(asks("a")), decide: refuses(core.CodeDecided, "a")}
	if rec = do(newServer(t, f, buffered), "POST", "/v1/ai-sdk/chat", chatWith(approval("a", "true"))); rec.Code != 409 {
		t.Errorf("decided otherwise: response %d %s", rec.Code, rec.Body)
	}
}

// A body has room for ten thousand answers, and each that nothing waits for took one more
// try with all the others.
func TestNoMoreAnswersAreTriedThanATurnHasCalls(t *testing.T) {
	var parts []string
	for i := range 1000 {
		parts = append(parts, output(fmt.Sprint("c", i), "1"))
	}
	f := &fake{run: waitsWith(), decide: func(mailbox.Deciding) (mailbox.Decided, error) {
		return mailbox.Decided{}, core.Errorf(core.CodeNotFound, "call not found")
	}}
	rec := do(newServer(t, f), "POST", "/v1/ai-sdk/chat", chatWith(parts...))
	if rec.Code != 404 || len(f.decisions) != 32 || len(f.decisions[0]) != 32 || f.decisions[0][0].Target != "c968" {
		t.Errorf("%d %s: %d tries", rec.Code, rec.Body, len(f.decisions))
	}
}
