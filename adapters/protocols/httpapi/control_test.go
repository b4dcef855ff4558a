package httpapi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

const (
	interruptPath = "/v1/threads/t1/interrupt"
	mailboxPath   = "/v1/threads/t1/mailbox"
	inputPath     = mailboxPath + "/" + dispatchText
	inputsPath    = "/v1/runs/" + runText + "/inputs"
	retryPath     = "/v1/runs/" + runText + "/retry"
	sayHi         = `{"messages":[{"role":"user","content":"hi"}]}`
)

func TestInterrupt(t *testing.T) {
	var keys []string
	f := &fake{interrupt: func(key string) (mailbox.Receipt, error) {
		keys = append(keys, key)
		if key != "" {
			return mailbox.Receipt{Duplicate: true}, nil
		}
		return mailbox.Receipt{RunID: runID, Superseded: 2}, nil
	}}
	h := newServer(f)
	const came = `{"status":"interrupt_requested","thread_id":"t1","superseded_dispatches":2,"interrupted_run_id":"` + runText + `","duplicate":false}`
	check(t, do(h, "POST", interruptPath, ""), 202, came)
	check(t, do(h, "POST", interruptPath, " {} "), 202, came)
	check(t, do(h, "POST", interruptPath, "", "Idempotency-Key", "k"), 202,
		`{"status":"interrupt_requested","thread_id":"t1","superseded_dispatches":0,"duplicate":true}`)
	if diff := cmp.Diff([]string{"", "", "http:k"}, keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	check(t, do(newServer(&fake{}), "POST", interruptPath, ""), 404, `{"error":"active run of thread t1 not found","code":"not_found"}`)
}

func TestInterruptWithInput(t *testing.T) {
	f := &fake{submit: func(s mailbox.Submission) (mailbox.Receipt, error) {
		return mailbox.Receipt{ThreadID: s.Thread.Thread, RunID: runID, DispatchID: dispatchID, Superseded: 1}, nil
	}}
	check(t, do(newServer(f), "POST", interruptPath, `{"messages":[{"role":"user","content":"hi"}],"priority":0}`, "Idempotency-Key", "k"), 202,
		`{"status":"interrupt_requested","thread_id":"t1","superseded_dispatches":1,`+ids+`,"duplicate":false}`)
	first := uint8(0)
	want := mailbox.Submission{
		Thread: core.ThreadKey{Tenant: "acme", Thread: "t1"}, User: "ann", Opening: mailbox.Opening{AgentID: "demo", Priority: &first}, Mode: mailbox.ModeInterrupt, Key: mailbox.Key{Value: "http:k"},
		Messages: []core.Message{{Role: core.RoleUser, Content: []core.Block{{Type: core.BlockText, Text: "hi"}}}},
	}
	if diff := cmp.Diff([]mailbox.Submission{want}, f.submissions); diff != "" {
		t.Errorf("submission (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Submit"}, f.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestActiveRun(t *testing.T) {
	f := &fake{active: func() (core.Run, bool, error) {
		return core.Run{ID: runID, ThreadID: "t1", AgentID: "demo", Status: core.RunWaiting, CreatedAt: 5, Tickets: []core.Ticket{ticket()}}, true, nil
	}}
	check(t, do(newServer(f), "GET", "/v1/threads/t1/runs/active", ""), 200,
		`{"active_run":{"run_id":"`+runText+`","thread_id":"t1","agent_id":"demo","status":"waiting","steps":0,"created_at":5,"tickets":[`+ticketText+`]}}`)
	f.active = func() (core.Run, bool, error) { return core.Run{}, false, nil }
	check(t, do(newServer(f), "GET", "/v1/threads/t1/runs/active", ""), 200, `{"active_run":null}`)
}

func TestInputsForARun(t *testing.T) {
	f := &fake{submit: func(mailbox.Submission) (mailbox.Receipt, error) {
		return mailbox.Receipt{ThreadID: "t1", RunID: runID, DispatchID: dispatchID}, nil
	}}
	check(t, do(newServer(f), "POST", inputsPath, `{"mode":"queue","agentId":"other","delay_ms":1500,"messages":[{"role":"user","content":"hi"}]}`), 202,
		`{"status":"inputs_accepted","thread_id":"t1",`+ids+`}`)
	want := mailbox.Submission{ // the runtime fills in the rest
		Opening: mailbox.Opening{AgentID: "other", Delay: 1500 * time.Millisecond}, Mode: mailbox.ModeQueue,
		Messages: []core.Message{{Role: core.RoleUser, Content: []core.Block{{Type: core.BlockText, Text: "hi"}}}},
	}
	if diff := cmp.Diff([]mailbox.Submission{want}, f.submissions); diff != "" {
		t.Errorf("submission (-want +got):\n%s", diff)
	}
}

func TestInputThatIsForLater(t *testing.T) {
	tests := []struct {
		name, fields string
		want         func(s *mailbox.Submission)
		refused      string
	}{
		{"priority", `"priority":255`, func(s *mailbox.Submission) { p := uint8(255); s.Opening.Priority = &p }, ""},
		{"available_at", `"available_at":1900000000000`, func(s *mailbox.Submission) { s.Opening.AvailableAt = 1_900_000_000_000 }, ""},
		{"delay_ms", `"delay_ms":1`, func(s *mailbox.Submission) { s.Opening.Delay = time.Millisecond }, ""},
		{"a whole number with a point", `"priority":7.0`, func(s *mailbox.Submission) { p := uint8(7); s.Opening.Priority = &p }, ""},
		{"a whole number with an exponent", `"delay_ms":1e3`, func(s *mailbox.Submission) { s.Opening.Delay = time.Second }, ""},
		{"more than a float says exactly", `"available_at":9007199254740993.0`, nil, "available_at is 9007199254740993.0, want a whole number from 0 to 9223372036854775807"},
		{"more than there is", `"available_at":1e400`, nil, "available_at is 1e400, want a whole number from 0 to 9223372036854775807"},
		{"256", `"priority":256`, nil, "priority is 256, want a whole number from 0 to 255"},
		{"-1", `"priority":-1`, nil, "priority is -1, want a whole number from 0 to 255"},
		{"a fraction", `"priority":1.5`, nil, "priority is 1.5, want a whole number from 0 to 255"},
		{"a text", `"priority":"1"`, nil, "priority is \\\"1\\\", want a whole number from 0 to 255"},
		{"null", `"available_at":null`, nil, "available_at is null, want a whole number from 0 to 9223372036854775807"},
		{"too long", `"delay_ms":31536000001`, nil, "delay_ms is 31536000001, want a whole number from 0 to 31536000000"},
		{"both", `"delay_ms":1,"available_at":1`, nil, "both available_at and a delay are given, at most one is allowed"},
		{"steered", `"delay_ms":1,"mode":"steer"`, nil, "input of mode steer cannot be delayed, only queue and reject can"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &fake{}
			rec := do(newServer(f), "POST", "/v1/threads/t1/messages", `{`+tt.fields+`,"messages":[{"role":"user","content":"hi"}]}`)
			if tt.refused != "" {
				check(t, rec, 400, `{"error":"`+tt.refused+`","code":"invalid"}`)
				silent(t, f)
				return
			}
			check(t, rec, 202, `{"status":"queued","thread_id":"t1",`+ids+`}`)
			want := mailbox.Submission{
				Thread: core.ThreadKey{Tenant: "acme", Thread: "t1"}, User: "ann", Opening: mailbox.Opening{AgentID: "demo"},
				Messages: []core.Message{{Role: core.RoleUser, Content: []core.Block{{Type: core.BlockText, Text: "hi"}}}},
			}
			tt.want(&want)
			if diff := cmp.Diff([]mailbox.Submission{want}, f.submissions); diff != "" {
				t.Errorf("submission (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMailboxComesInPages(t *testing.T) {
	var asked []mailbox.ListQuery
	priority := uint8(0)
	f := &fake{list: func(q mailbox.ListQuery) (mailbox.ListPage, error) {
		asked = append(asked, q)
		if q.After != "" {
			return mailbox.ListPage{}, nil
		}
		return mailbox.ListPage{Epoch: 3, Next: "R#x", Dispatches: []core.Dispatch{
			{ID: dispatchID, RunID: runID, Kind: core.DispatchRun, Status: core.DispatchQueued, RunStatus: core.RunCreated, Priority: &priority, AvailableAt: 7, MaxAttempts: 5, CreatedAt: 5},
		}}, nil
	}}
	h := newServer(f)
	check(t, do(h, "GET", mailboxPath, ""), 200, `{"epoch":3,"items":[{"dispatch_id":"`+dispatchText+`","run_id":"`+runText+
		`","kind":"run","status":"queued","run_status":"created","priority":0,"available_at":7,"max_attempts":5,"created_at":5}],"has_more":true,"next_cursor":"bWFpbGJveDpSI3g","limit":50}`)
	check(t, do(h, "GET", mailboxPath+"?limit=200&status=dead_letter&cursor=bWFpbGJveDpSI3g", ""), 200, `{"epoch":0,"items":[],"has_more":false,"next_cursor":null,"limit":200}`)
	if diff := cmp.Diff([]mailbox.ListQuery{{}, {After: "R#x", Limit: 200, Status: core.DispatchDeadLetter}}, asked); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
	for query, want := range map[string]string{
		"limit=all":               `limit \"all\" is not a whole number`,
		"state=queued":            `query has the unknown parameter \"state\", allowed are limit, cursor, status`,
		"cursor=R":                `cursor \"R\" is not one that this route returned`,
		"cursor=bWVzc2FnZXM6MQ":   `cursor \"bWVzc2FnZXM6MQ\" is not one that this route returned`, // of messages
		"status=":                 `query has the parameter \"status\" without a value`,
		"status=acked&status=all": `query has the parameter \"status\" 2 times`,
	} {
		f := &fake{}
		check(t, do(newServer(f), "GET", mailboxPath+"?"+query, ""), 400, `{"error":"`+want+`","code":"invalid"}`)
		silent(t, f)
	}
}

func TestUnreadInputIsChangedAndTakenBack(t *testing.T) {
	var said []string
	f := &fake{edit: func(m []core.Message) error { said = append(said, m[0].Text()); return nil }, remove: func() error { return nil }}
	h := newServer(f)
	check(t, do(h, "PATCH", inputPath, sayHi), 200, `{"dispatch_id":"`+dispatchText+`","status":"edited","thread_id":"t1"}`)
	if rec := do(h, "DELETE", inputPath, ""); rec.Code != 204 || rec.Body.Len() != 0 {
		t.Errorf("status %d, body %q", rec.Code, rec.Body)
	}
	if diff := cmp.Diff([]string{"EditInput t1 " + dispatchText, "RetractInput t1 " + dispatchText}, f.calls); diff != "" || len(said) != 1 || said[0] != "hi" {
		t.Errorf("it says %v; calls (-want +got):\n%s", said, diff)
	}
	const absent = `{"error":"unread input ` + dispatchText + ` of thread t1 not found","code":"not_found"}`
	check(t, do(newServer(&fake{}), "PATCH", inputPath, sayHi), 404, absent)
	check(t, do(newServer(&fake{}), "DELETE", inputPath, ""), 404, absent)
	f = &fake{}
	check(t, do(newServer(f), "DELETE", mailboxPath+"/xyz", ""), 404, `{"error":"unread input xyz of thread t1 not found","code":"not_found"}`)
	check(t, do(newServer(f), "PATCH", inputPath, `{"messages":[{"role":"user","content":"a"}],"mode":"queue"}`), 400, `{"error":"unknown field \"mode\" in body, allowed are messages","code":"invalid"}`)
	check(t, do(newServer(f), "PATCH", inputPath, ""), 400, `{"error":"body is empty, want an object","code":"invalid"}`)
	silent(t, f)
}

func TestDeleteAndRetry(t *testing.T) {
	f := &fake{remove: func() error { return nil }, retry: func() (mailbox.Receipt, error) {
		return mailbox.Receipt{ThreadID: "t1", RunID: runID, DispatchID: dispatchID}, nil
	}}
	if rec := do(newServer(f), "DELETE", "/v1/threads/t1", ""); rec.Code != 204 || rec.Body.Len() != 0 {
		t.Errorf("status %d, body %q", rec.Code, rec.Body)
	}
	check(t, do(newServer(f), "POST", retryPath, ""), 202, `{"status":"queued","thread_id":"t1",`+ids+`}`)
	check(t, do(newServer(&fake{}), "DELETE", "/v1/threads/t1", ""), 404, `{"error":"thread t1 not found","code":"not_found"}`)
	check(t, do(newServer(&fake{}), "POST", retryPath, ""), 404, `{"error":"run `+runText+` not found","code":"not_found"}`)
	f = &fake{retry: func() (mailbox.Receipt, error) {
		return mailbox.Receipt{}, core.Errorf(core.CodeConflict, "no")
	}}
	check(t, do(newServer(f), "POST", retryPath, "{}"), 409, `{"error":"no","code":"conflict"}`)
}

// A field that means nothing is named, and nothing happens.
func TestBadControlRequestsNeverReachTheRuntime(t *testing.T) {
	for _, tt := range []struct{ method, path, body, want string }{
		{"POST", interruptPath, `{"force":true}`, `unknown field \"force\" in body, allowed are agentId, messages, mode, request, priority, available_at, delay_ms, regenerate_from, replace_message`},
		{"POST", interruptPath, `{"mode":"queue",` + sayHi[1:], `mode \"queue\" of an interrupt, want interrupt`},
		{"POST", interruptPath, `{"delay_ms":1,` + sayHi[1:], `input of mode interrupt cannot be delayed, only queue and reject can`},
		{"POST", interruptPath, `[]`, `body is a list, want an object`},
		{"DELETE", "/v1/threads/t1", `{"child_strategy":"cascade"}`, `unknown field \"child_strategy\" in body, none is allowed`},
		{"DELETE", inputPath, `{"why":1}`, `unknown field \"why\" in body, none is allowed`},
		{"POST", retryPath, `{"agentId":"x"}`, `unknown field \"agentId\" in body, none is allowed`},
		{"POST", "/v1/threads/t1/cancel", `{"mode":"all"}`, `unknown field \"mode\" in body, none is allowed`},
		{"POST", "/v1/runs/" + runText + "/cancel", `{"mode":"all"}`, `unknown field \"mode\" in body, none is allowed`},
		{"POST", interruptPath, `{"agentId":"demo"}`, `messages is required`},
		{"POST", inputsPath, `{"threadId":"t2",` + sayHi[1:], `unknown field \"threadId\" in body, allowed are agentId, messages, mode, request, priority, available_at, delay_ms`},
		{"POST", inputsPath, `{}`, `messages is required`},
		{"POST", "/v1/runs", `{"x":1}`, `unknown field \"x\" in body, allowed are agentId, messages, mode, request, priority, available_at, delay_ms, regenerate_from, replace_message, threadId`},
		{"POST", "/v1/runs/" + runText + "/decision", `{"tool_call_id":"c1","actoin":"resume"}`, `unknown field \"actoin\" in body, did you mean \"action\"?`},
		{"POST", "/v1/threads/t1/fork", `{"form":"m1"}`, `unknown field \"form\" in body, allowed are at, threadId`},
		{"POST", "/v1/runs", `{"regenerate_from":"m1"}`, `threadId is required: the thread that has message m1`},
		{"DELETE", "/v1/threads/a%23b", "", `thread id \"a#b\" has the character '#', allowed are A-Z a-z 0-9 . _ : -`},
	} {
		t.Run(tt.method+" "+tt.path+" "+tt.body, func(t *testing.T) {
			f := &fake{}
			check(t, do(newServer(f), tt.method, tt.path, tt.body), 400, `{"error":"`+tt.want+`","code":"invalid"}`)
			silent(t, f)
		})
	}
	for _, path := range []string{inputsPath, retryPath} {
		f := &fake{}
		check(t, do(newServer(f), "POST", strings.Replace(path, runText, "xyz", 1), ""), 404, `{"error":"run xyz not found","code":"not_found"}`)
		silent(t, f)
	}
}

func TestAPayloadIsPushed(t *testing.T) {
	for _, tt := range []struct{ payload, text string }{
		{`{"text":"hi \u00e4"}`, "hi ä"},
		{`{"order":7}`, `{"order":7}`},
		{`{"text":7}`, `{"text":7}`},
		{`[1, 2]`, `[1, 2]`},
		{`"hi"`, `"hi"`},
		{`null`, `null`},
	} {
		f := &fake{}
		check(t, do(newServer(f), "POST", mailboxPath, `{"payload":`+tt.payload+`,"agentId":"other","priority":1}`, "Idempotency-Key", "k"), 201,
			`{"dispatch_id":"`+dispatchText+`","run_id":"`+runText+`","thread_id":"t1"}`)
		one := uint8(1)
		want := mailbox.Submission{
			Thread: core.ThreadKey{Tenant: "acme", Thread: "t1"}, User: "ann", Opening: mailbox.Opening{AgentID: "other", Priority: &one}, Key: mailbox.Key{Value: "http:k"},
			Messages: []core.Message{core.UserMessage(tt.text)},
		}
		if diff := cmp.Diff([]mailbox.Submission{want}, f.submissions); diff != "" {
			t.Errorf("submission of %s (-want +got):\n%s", tt.payload, diff)
		}
	}
	for body, want := range map[string]string{
		`{}`:                            `payload is required`,
		`{"payload":1,"mode":"steer"}`:  `unknown field \"mode\" in body, allowed are payload, agentId, priority, available_at, delay_ms`,
		`{"payload":{"text":" "}}`:      `messages[0].content has no text and no file`,
		`{"payload":{"a":1,"a":2}}`:     `payload.a is given twice`,
		`{"payload":1,"priority":1000}`: `priority is 1000, want a whole number from 0 to 255`,
	} {
		f := &fake{}
		check(t, do(newServer(f), "POST", mailboxPath, body), 400, `{"error":"`+want+`","code":"invalid"}`)
		silent(t, f)
	}
}
