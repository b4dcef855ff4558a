package httpapi_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
)

func TestApprovals(t *testing.T) {
	var asked []host.ApprovalQuery
	waits := host.Approval{ThreadID: "t1", RunID: runID, AgentID: "demo", ThreadTitle: "Boots", Asked: "Refund me", Ticket: core.Ticket{CreatedAt: 5,
		Suspension: core.Suspension{ID: "s1", Action: "tool:danger", Message: "Really?", Parameters: json.RawMessage(`{"a":1}`), ResponseSchema: json.RawMessage(`{"type":"string"}`)},
		CallID:     "c1", Tool: "danger", Arguments: json.RawMessage(`{"text":"x"}`),
		Mode: core.ResumeReplay, Kind: core.TicketPerson, Deadline: 9,
	}}
	bare := host.Approval{ThreadID: "t:2", RunID: runID, AgentID: "demo", Ticket: core.Ticket{CreatedAt: 6, Kind: core.TicketClient,
		Suspension: core.Suspension{ID: "s2", Action: "tool:ask"}, CallID: "c2", Tool: "ask", Arguments: json.RawMessage(`{}`), Mode: core.ResumeAsResult,
	}}
	f := &fake{approvals: func(id core.Identity, q host.ApprovalQuery) (host.Page[host.Approval], error) {
		if id != (core.Identity{Tenant: "acme", User: "ann"}) {
			t.Errorf("read as %v", id)
		}
		asked = append(asked, q)
		if q.After == "" {
			return host.Page[host.Approval]{Items: []host.Approval{waits, bare}, Next: "1700000000000:t:2"}, nil
		}
		return host.Page[host.Approval]{}, nil
	}}
	h := newServer(f)
	const cursor = "YXBwcm92YWxzOjE3MDAwMDAwMDAwMDA6dDoy"
	check(t, do(h, "GET", "/v1/approvals", ""), 200, `{"approvals":[`+
		`{"thread_id":"t1","run_id":"`+runText+`","agent_id":"demo","thread_title":"Boots","asked":"Refund me","tool_call_id":"c1","tool_name":"danger","arguments":{"text":"x"},"suspension_id":"s1","action":"tool:danger","message":"Really?","parameters":{"a":1},"response_schema":{"type":"string"},"resume_mode":"replay_tool_call","kind":"person","created_at":5,"expires_at":9},`+
		`{"thread_id":"t:2","run_id":"`+runText+`","agent_id":"demo","tool_call_id":"c2","tool_name":"ask","arguments":{},"suspension_id":"s2","action":"tool:ask","resume_mode":"use_decision_as_tool_result","kind":"client","created_at":6}`+
		`],"has_more":true,"next_cursor":"`+cursor+`","limit":50}`)
	check(t, do(h, "GET", "/v1/approvals?limit=7&cursor="+cursor, ""), 200, `{"approvals":[],"has_more":false,"next_cursor":null,"limit":7}`)
	check(t, do(h, "GET", "/v1/approvals?kind=client&agent=clerk&cursor="+cursor, ""), 200, `{"approvals":[],"has_more":false,"next_cursor":null,"limit":50}`)
	want := []host.ApprovalQuery{{}, {After: "1700000000000:t:2", Limit: 7}, {After: "1700000000000:t:2", Kind: core.TicketClient, Agent: "clerk"}}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
}

func TestBadApprovalQueries(t *testing.T) {
	const cursor = ` is not one that this route returned`
	for query, want := range map[string]string{
		"limit=1.5":             `limit \"1.5\" is not a whole number`,
		"user=bob":              `query has the unknown parameter \"user\", allowed are limit, cursor, kind, agent`,
		"cursor=7":              `cursor \"7\"` + cursor,
		"cursor=bWVzc2FnZXM6MQ": `cursor \"bWVzc2FnZXM6MQ\"` + cursor, // another route's
	} {
		t.Run(query, func(t *testing.T) {
			f := &fake{}
			check(t, do(newServer(f), "GET", "/v1/approvals?"+query, ""), 400, `{"error":"`+want+`","code":"invalid"}`)
			silent(t, f)
		})
	}
	check(t, do(newServer(&fake{}), "POST", "/v1/approvals", ""), 405, `{"error":"POST is not allowed here, allowed are GET, HEAD","code":"method_not_allowed"}`)
}

// Over the real runtime: each caller finds what it may decide, and no decision
// that another took is left.
func TestEachUserFindsTheirApprovals(t *testing.T) {
	r := newReal(t)
	for thread, user := range map[string]string{"t1": "ann", "t2": "bob", "t3": ""} {
		rec := do(r, "POST", "/v1/threads/"+thread+"/messages", `{"messages":[{"role":"user","content":"call: confirm {}"}]}`, "User", user)
		if rec.Code != 202 {
			t.Fatalf("status %d, %s", rec.Code, rec.Body)
		}
	}
	r.work()
	found := func(user string) map[string]string {
		var page struct {
			Approvals []struct {
				Thread string `json:"thread_id"`
				Call   string `json:"tool_call_id"`
			}
		}
		rec := do(r, "GET", "/v1/approvals", "", "User", user)
		if rec.Code != 200 {
			t.Fatalf("status %d, %s", rec.Code, rec.Body)
		}
		r.read(rec, &page)
		calls := map[string]string{}
		for _, a := range page.Approvals {
			calls[a.Thread] = a.Call
		}
		return calls
	}
	want := func(user string, threads ...string) map[string]string {
		t.Helper()
		got := found(user)
		for _, thread := range threads {
			if got[thread] == "" {
				t.Errorf("%q finds %v, want %v", user, got, threads)
			}
		}
		if len(got) != len(threads) {
			t.Errorf("%q finds %v, want %v", user, got, threads)
		}
		return got
	}
	want("ann", "t1", "t3")
	want("", "t3")
	calls := want("bob", "t2", "t3")
	for thread, status := range map[string]int{"t1": 404, "t2": 202} {
		call := calls[thread]
		if call == "" {
			call = found("ann")[thread]
		}
		rec := do(r, "POST", "/v1/threads/"+thread+"/decision", `{"tool_call_id":"`+call+`","action":"resume","payload":"yes"}`, "User", "bob")
		if rec.Code != status {
			t.Errorf("bob decides on %s: status %d, want %d: %s", thread, rec.Code, status, rec.Body)
		}
	}
	want("bob", "t3")
	want("ann", "t1", "t3")
}
