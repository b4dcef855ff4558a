package httpapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

const (
	decideRun    = "/v1/runs/" + runText + "/decision"
	decideThread = "/v1/threads/t1/decision"
)

// A child run, whose calls are decided through its parent.
const childText = "01890000-0000-7000-8000-00000000c41d"

var childID, _ = core.ParseID(childText)

// taken is a runtime that takes every decision.
func taken(duplicate bool) *fake {
	return &fake{decide: func(d mailbox.Deciding) (mailbox.Decided, error) {
		return mailbox.Decided{ThreadID: "t1", RunID: runID, CallID: "c1", SuspensionID: "s1", DecisionID: "d1", Duplicate: duplicate, Turn: 2}, nil
	}}
}

func TestDecision(t *testing.T) {
	const response = `{"status":"decision_submitted","run_id":"` + runText + `","thread_id":"t1","tool_call_id":"c1","suspension_id":"s1","decision_id":"d1","duplicate":false}`
	tests := []struct {
		name, path, body string
		want             mailbox.Deciding
	}{
		{"by the call", decideRun, `{"tool_call_id":"c1","action":"resume"}`, mailbox.Deciding{Target: "c1", Decision: core.Decision{Action: core.DecisionResume}}},
		{"of a thread", decideThread, `{"tool_call_id":"c1","action":"resume"}`, mailbox.Deciding{Target: "c1", Decision: core.Decision{Action: core.DecisionResume}}},
		{"in camel case", decideRun, `{"toolCallId":"c1","action":"cancel","decisionId":"d1"}`, mailbox.Deciding{Target: "c1", Decision: core.Decision{ID: "d1", Action: core.DecisionCancel}}},
		{"by the suspension", decideRun, `{"suspension_id":"s1","action":"resume"}`, mailbox.Deciding{Target: "s1", Decision: core.Decision{Action: core.DecisionResume}}},
		{"by the suspension in camel case", decideThread, `{"suspensionId":"s1","action":"resume"}`, mailbox.Deciding{Target: "s1", Decision: core.Decision{Action: core.DecisionResume}}},
		{"with everything", decideRun, `{"tool_call_id":"c1","action":"resume","payload":{"approved":true},"reason":"fine","decision_id":"d1"}`,
			mailbox.Deciding{Target: "c1", Decision: core.Decision{ID: "d1", Action: core.DecisionResume, Payload: json.RawMessage(`{"approved":true}`), Reason: "fine"}}},
		{"to be remembered", decideRun, `{"tool_call_id":"c1","action":"resume","remember":"thread","remember_as":"rule"}`,
			mailbox.Deciding{Target: "c1", Decision: core.Decision{Action: core.DecisionResume, Remember: core.RememberThread, RememberAs: core.RememberRule}}},
		{"to be remembered, in camel case", decideThread, `{"tool_call_id":"c1","action":"cancel","remember":"run","rememberAs":"call"}`,
			mailbox.Deciding{Target: "c1", Decision: core.Decision{Action: core.DecisionCancel, Remember: core.RememberRun, RememberAs: core.RememberCall}}},
		{"for once", decideRun, `{"tool_call_id":"c1","action":"resume","remember":"once"}`,
			mailbox.Deciding{Target: "c1", Decision: core.Decision{Action: core.DecisionResume, Remember: core.RememberOnce}}},
		{"with arguments", decideRun, `{"tool_call_id":"c1","action":"resume","arguments":{"order":"4711", "amount":49.0}}`,
			mailbox.Deciding{Target: "c1", Decision: core.Decision{Action: core.DecisionResume, Arguments: json.RawMessage(`{"order":"4711", "amount":49.0}`)}}},
		{"of a child run", decideRun, `{"run_id":"` + childText + `","tool_call_id":"c1","action":"resume"}`,
			mailbox.Deciding{Run: childID, Target: "c1", Decision: core.Decision{Action: core.DecisionResume}}},
		{"of a child run, in camel case", decideThread, `{"runId":"` + childText + `","toolCallId":"c1","action":"resume"}`,
			mailbox.Deciding{Run: childID, Target: "c1", Decision: core.Decision{Action: core.DecisionResume}}},
		{"with a payload that is no object", decideRun, `{"tool_call_id":"c1","action":"resume","payload":"yes"}`,
			mailbox.Deciding{Target: "c1", Decision: core.Decision{Action: core.DecisionResume, Payload: json.RawMessage(`"yes"`)}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := taken(false)
			check(t, do(newServer(f), "POST", tt.path, tt.body), 202, response)
			if diff := cmp.Diff([]mailbox.Deciding{tt.want}, f.decisions); diff != "" {
				t.Errorf("decisions (-want +got):\n%s", diff)
			}
			call := "Decide " + runText
			if tt.path == decideThread {
				call = "DecideThread t1"
			}
			if diff := cmp.Diff([]string{call}, f.calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
	check(t, do(newServer(taken(true)), "POST", decideRun, `{"tool_call_id":"c1","action":"resume"}`), 202, strings.Replace(response, "false", "true", 1))
}

// What is wrong with a decision by itself is said before anything is looked for.
func TestBadDecisionsNeverReachTheRuntime(t *testing.T) {
	for body, want := range map[string]string{
		``:                      `body is empty, want an object`,
		`[]`:                    `body is a list, want an object`,
		`{"action":"resume"}`:   `tool_call_id or suspension_id is required`,
		`{"tool_call_id":"c1"}`: `action is required`,
		`{"run_id":"r1","tool_call_id":"c1","action":"resume"}`: `run_id \"r1\" is not the id of a run`,
		`{"tool_call_id":7}`:                                                                      `tool_call_id is 7, want a string`,
		`{"tool_call_id":"c1","action":"approve"}`:                                                `invalid action \"approve\", allowed are \"resume\" and \"cancel\"`,
		`{"tool_call_id":"c1","suspension_id":"s1","action":"resume"}`:                            `body has both tool_call_id and suspension_id`,
		`{"tool_call_id":"c1","toolCallId":"c1","action":"resume"}`:                               `toolCallId is given twice, as tool_call_id too`,
		`{"tool_call_id":"c1","action":"resume","payloud":1}`:                                     `unknown field \"payloud\" in body, did you mean \"payload\"?`,
		`{"tool_call_id":"c1","action":"resume","action":"cancel"}`:                               `action is given twice`,
		`{"tool_call_id":"c1","action":"resume","remember":"ever"}`:                               `invalid remember \"ever\", allowed are \"once\", \"run\" and \"thread\"`,
		`{"tool_call_id":"c1","action":"resume","remember":true}`:                                 `remember is true, want a string`,
		`{"tool_call_id":"c1","action":"resume","remember":"run","remember_as":"tool"}`:           `invalid remember_as \"tool\", allowed are \"call\" and \"rule\"`,
		`{"tool_call_id":"c1","action":"resume","remember":"once","remember_as":"rule"}`:          `remember_as needs remember \"run\" or \"thread\"`,
		`{"tool_call_id":"c1","action":"resume","remember_as":"call"}`:                            `remember_as needs remember \"run\" or \"thread\"`,
		`{"tool_call_id":"c1","action":"resume","reason":1}`:                                      `reason is 1, want a string`,
		`{"tool_call_id":"c1","action":"resume","arguments":[]}`:                                  `arguments is a list, want an object`,
		`{"tool_call_id":"c1","action":"resume","arguments":null}`:                                `arguments is null, want an object`,
		`{"tool_call_id":"c1","action":"resume","arguments":{"a":1,"a":2}}`:                       `arguments.a is given twice`,
		`{"tool_call_id":"c1","action":"cancel","arguments":{"a":1}}`:                             `action \"cancel\" has arguments, allowed are arguments with \"resume\"`,
		`{"tool_call_id":"c1","action":"resume","decision_id":{}}`:                                `decision_id is an object, want a string`,
		`{"tool_call_id":"c1","action":"resume","decision_id":"a#b"}`:                             `decision_id \"a#b\" has the character '#', allowed are A-Z a-z 0-9 . _ : -`,
		`{"tool_call_id":"c1","action":"resume","decisionId":"` + strings.Repeat("d", 129) + `"}`: ``,
	} {
		t.Run(body, func(t *testing.T) {
			for _, path := range []string{decideRun, decideThread} {
				f := &fake{}
				rec := do(newServer(f), "POST", path, body)
				if want == "" {
					if rec.Code != 400 {
						t.Errorf("status %d, want 400", rec.Code)
					}
				} else {
					check(t, rec, 400, `{"error":"`+want+`","code":"invalid"}`)
				}
				silent(t, f)
			}
		})
	}
}

func TestRefusedDecisions(t *testing.T) {
	const body = `{"tool_call_id":"c1","action":"resume"}`
	const ofRun = `{"error":"suspended call c1 of run ` + runText + ` not found","code":"not_found"}`
	for _, tt := range []struct {
		code   core.Code
		status int
		want   string
	}{
		{core.CodeNotFound, 404, ofRun},
		{core.CodeForbidden, 404, ofRun},
		{core.CodeDecided, 409, `{"error":"no","code":"decided"}`},
		{core.CodeConflict, 409, `{"error":"no","code":"conflict"}`},
		{core.CodeInvalid, 400, `{"error":"no","code":"invalid"}`},
		{core.CodeTooLarge, 413, `{"error":"no","code":"too_large"}`},
		{core.CodeDeleted, 410, `{"error":"no","code":"deleted"}`},
	} {
		t.Run(string(tt.code), func(t *testing.T) {
			f := &fake{decide: func(mailbox.Deciding) (mailbox.Decided, error) {
				return mailbox.Decided{}, core.Errorf(tt.code, "no")
			}}
			check(t, do(newServer(f), "POST", decideRun, body), tt.status, tt.want)
			check(t, do(newServer(f), "POST", decideThread, body), tt.status, strings.Replace(tt.want, "run "+runText, "thread t1", 1))
		})
	}
}

// ticket is what a call waits with.
func ticket() core.Ticket {
	return core.Ticket{
		Suspension: core.Suspension{ID: "s1", Action: "tool:ask", Message: "Really?", Parameters: json.RawMessage(`{"n":1}`), ResponseSchema: json.RawMessage(`{"type":"object"}`)},
		CallID:     "c1", Tool: "ask", Arguments: json.RawMessage(`{}`), Mode: core.ResumeReplay, Kind: core.TicketPerson, Deadline: 7,
	}
}

const ticketText = `{"tool_call_id":"c1","tool_name":"ask","arguments":{},"suspension_id":"s1","action":"tool:ask","message":"Really?","parameters":{"n":1},` +
	`"response_schema":{"type":"object"},"resume_mode":"replay_tool_call","kind":"person","expires_at":7}`

func TestAWaitingRunHasItsTickets(t *testing.T) {
	f := &fake{run: func(core.Identity) (core.Run, error) {
		return core.Run{ID: runID, ThreadID: "t1", AgentID: "demo", Status: core.RunWaiting, Steps: 1, CreatedAt: 5, Tickets: []core.Ticket{ticket()}}, nil
	}}
	check(t, do(newServer(f), "GET", "/v1/runs/"+runText, ""), 200,
		`{"run_id":"`+runText+`","thread_id":"t1","agent_id":"demo","status":"waiting","steps":1,"created_at":5,"tickets":[`+ticketText+`]}`)
}

// A ticket has no position: its frame repeats the id before it, and a client that
// reconnects there, or after the suspended end, is shown it again.
func TestSuspendedCallsAreStreamed(t *testing.T) {
	suspended := ticket()
	events := []core.Event{
		at("1.3.0-0-a", core.Event{Type: core.EventRunStart, RunID: runID, ThreadID: "t1", AgentID: "demo", Step: 1}),
		at("1.3.1-0-j", core.Event{Type: core.EventToolCallDone, Step: 1, CallID: "c0", Name: "ask", Result: json.RawMessage(`1`), Status: "ok"}),
		{Type: core.EventToolCallSuspended, Step: 1, CallID: "c1", Name: "ask", Ticket: &suspended},
		at("1.3.9999-0-m", core.Event{Type: core.EventRunFinish, RunID: runID, Step: 1, Termination: &core.Termination{Type: core.TerminationSuspended}}),
	}
	f := &fake{follow: func(_ core.Identity, sink sinkFunc) error { return play(sink, events) }}
	const last = "id: " + runText + ".1.3.1-0-j\n"
	rest := func(sequence int) string { // each stream numbers its own events
		return fmt.Sprintf(last+`data: {"event_type":"tool_call_suspended","sequence":%d,"step":1,"id":"c1","name":"ask","ticket":`+ticketText+"}\n\n"+
			last+`data: {"event_type":"run_finish","sequence":%d,"run_id":"`+runText+`","step":1,"termination":{"type":"suspended"}}`+"\n\n", sequence, sequence+1)
	}
	want := "id: " + runText + ".1.3.0-0-a\n" + `data: {"event_type":"run_start","sequence":1,"run_id":"` + runText + `","step":1,"thread_id":"t1","agent_id":"demo"}` + "\n\n" +
		last + `data: {"event_type":"tool_call_done","sequence":2,"step":1,"id":"c0","name":"ask","result":1,"status":"ok"}` + "\n\n" + rest(3)
	if diff := cmp.Diff(want, do(newServer(f), "GET", "/v1/runs/"+runText+"/events/stream", "").Body.String()); diff != "" {
		t.Errorf("stream (-want +got):\n%s", diff)
	}
	again := do(newServer(f), "GET", "/v1/runs/"+runText+"/events/stream", "", "Last-Event-ID", runText+".1.3.1-0-j").Body.String()
	if diff := cmp.Diff(rest(1), again); diff != "" {
		t.Errorf("after reconnecting (-want +got):\n%s", diff)
	}
}
