package httpapi_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
)

// The request of a step is shown as its model received it: after a call its result is in
// it, and the same hash says that tools and prompt are the same.
func TestRequestOfAStepAsSent(t *testing.T) { synctest.Test(t, requestOfAStep) }

func requestOfAStep(t *testing.T) {
	r := newReal(t)
	run := r.waits(`call: confirm {\"a\":1}`)
	path := "/v1/runs/" + run.ID.String() + "/steps/"
	body := settled(r.get(path + "1/request"))
	for _, part := range []string{
		`{"run_id":"ID","step":1,"model":"m","system":"","tools":[{"name":"confirm","description":"","parameters":{"type":"object"`,
		`"messages":[{"id":"ID.0","role":"user","content":[{"type":"text","text":"call: confirm {\"a\":1}"}],"run_id":"ID","created_at":946684800000}],"options":{},`,
		`"window":{"limit":111616,"estimate":93,"tokens":3,"omitted":0,"omitted_tokens":0,"shortened":0,"summary":false},"tokens":{"system":0,"tools":80,"messages":13},"hash":"`,
	} {
		if !strings.Contains(body, part) {
			t.Errorf("%s\nhas no %s", body, part)
		}
	}
	check(t, do(r, "GET", path+"2/request", ""), 404, `{"error":"run `+run.ID.String()+` has no step 2 with a committed turn","code":"not_found"}`)
	r.ok("POST", "/v1/threads/t1/decision", `{"tool_call_id":"`+run.Tickets[0].CallID+`","action":"resume","payload":{"ok":true},"decision_id":"d1"}`)
	r.work()
	r.want("hashes of both steps", names(body, "hash"), names(r.get(path+"2/request"), "hash"))
	if after := r.get(path + "2/request"); !strings.Contains(after, `"role":"tool","tool_result":{`) || !strings.Contains(after, `"data":{"ok":true}`) {
		t.Errorf("the second request has no result: %s", after)
	}
	for _, step := range []string{"0", "x", "-1"} {
		check(t, do(r, "GET", path+step+"/request", ""), 400, `{"error":"step is \"`+step+`\", want a number from 1","code":"invalid"}`)
	}
}

// Who owns a thread reads its requests. One without an owner is read by callers without a
// user, and by those who read what the tenant uses; a deployment may show none at all.
func TestWhoReadsRequests(t *testing.T) {
	r := newReal(t)
	r.says("t1", "hello")
	run := names(r.get("/v1/threads/t1/runs/latest"), "run_id")[0]
	path := "/v1/runs/" + run + "/steps/1/request"
	r.user = "ann"
	r.says("t2", "hello")
	owned := names(r.get("/v1/threads/t2/runs/latest"), "run_id")[0]
	theirs := "/v1/runs/" + owned + "/steps/1/request"
	o := r.options
	o.UsageReaders = []string{"ops"}
	h := httpapi.New(r.runtime, &o)
	for _, tt := range []struct {
		user, path string
		status     int
	}{{"", path, 200}, {"ann", path, 403}, {"ops", path, 200}, {"ann", theirs, 200}, {"bob", theirs, 404}, {"ops", theirs, 404}, {"", theirs, 404}} {
		if rec := do(h, "GET", tt.path, "", "User", tt.user); rec.Code != tt.status {
			t.Errorf("%q reads %s: status %d, want %d: %s", tt.user, tt.path, rec.Code, tt.status, rec.Body)
		}
	}
	check(t, do(h, "GET", path, "", "User", "ann"), 403, `{"error":"only its owner reads the requests of thread t1","code":"denied"}`)
	o.ShowRequests = false
	check(t, do(httpapi.New(r.runtime, &o), "GET", path, "", "User", ""), 403,
		`{"error":"this deployment does not show the requests to models: REVEILLE_SHOW_REQUESTS is off","code":"denied"}`)
}
