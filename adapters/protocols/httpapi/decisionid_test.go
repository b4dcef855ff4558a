package httpapi_test

import (
	"testing"

	"github.com/reveille-run/reveille/core"
)

// A decision that is sent again under its id is the same one: before the run has heard
// it, after, and when the run is over. Another content under the id is refused, and so
// is another id on the ticket.
func TestDecisionIdIsAnIdempotencyKey(t *testing.T) {
	r := newReal(t)
	run := r.waits("call: confirm")
	at, call, suspension := "/v1/runs/"+run.ID.String()+"/decision", run.Tickets[0].CallID, run.Tickets[0].Suspension.ID
	body := `{"tool_call_id":"` + call + `","action":"resume","payload":{"n":1},"decision_id":"d1"}`
	response := func(duplicate string) string {
		return `{"status":"decision_submitted","run_id":"` + run.ID.String() + `","thread_id":"t1","tool_call_id":"` + call +
			`","suspension_id":"` + suspension + `","decision_id":"d1","duplicate":` + duplicate + `}`
	}
	check(t, do(r, "POST", at, body), 202, response("false"))
	check(t, do(r, "POST", at, body), 202, response("true"))
	check(t, do(r, "POST", "/v1/threads/t1/decision", `{"suspension_id":"`+suspension+`","action":"resume","payload":{ "n": 1 },"decision_id":"d1"}`), 202, response("true"))
	r.work()
	check(t, do(r, "POST", at, body), 202, response("true"))
	if got := r.result(); got.Status != core.ResultSet {
		t.Errorf("the call is %s, want it set by the decision", got.Status)
	}
	check(t, do(r, "POST", at, `{"tool_call_id":"`+call+`","action":"resume","payload":{"n":2},"decision_id":"d1"}`), 409,
		`{"error":"decision id \"d1\" was used before with other content","code":"conflict"}`)
	check(t, do(r, "POST", at, `{"tool_call_id":"`+call+`","action":"resume","payload":{"n":1},"decision_id":"d2"}`), 409,
		`{"error":"tool call or suspension \"`+call+`\": the call was already decided otherwise","code":"decided"}`)
}
