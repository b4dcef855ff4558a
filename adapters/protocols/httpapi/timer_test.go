package httpapi_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/tool"
)

// nap is a tool that waits for an hour, and says who has woken it.
var nap = tool.New(tool.Spec{Name: "nap"}, func(_ context.Context, call tool.Call, _ map[string]any) (tool.Result, error) {
	switch {
	case call.Resume == nil:
		return tool.Suspended(core.TicketRequest{Kind: core.TicketTimer, WakeAt: time.Now().Add(time.Hour)}), nil
	case call.Resume.Decision.Woken():
		return tool.NewResult("woken by the clock"), nil
	}
	return tool.NewResult("woken by a person"), nil
})

// A call that waits for a time is woken or cancelled with a decision on its thread. Sent again
// it is the same decision, and a decision after the clock is refused.
func TestATimerIsDecidedEarly(t *testing.T) {
	for _, tt := range []struct {
		name     string
		after    time.Duration
		body     string
		status   int
		error    string // the body of a refusal, without the call
		result   core.ResultStatus
		says     string
		timeline string // of the call, when it is over
	}{
		{"wake", time.Minute, `"action":"resume"`, 202, ``, core.ResultOK, `"woken by a person"`,
			`"asked_at":946684800000,"answered_at":946684860000,"action":"resume","wakes_at":946688400000}`},
		{"cancel", time.Minute, `"action":"cancel","reason":"too late"`, 202, ``, core.ResultCancelled, ``,
			`"asked_at":946684800000,"answered_at":946684860000,"action":"cancel","reason":"too late","wakes_at":946688400000}`},
		{"late", time.Hour, `"action":"resume"`, 409, `the call was already decided otherwise","code":"decided"}`, core.ResultOK, `"woken by the clock"`,
			`"asked_at":946684800000,"answered_at":946688400000,"action":"resume","wakes_at":946688400000,"woken":true}`},
		{"edited", time.Minute, `"action":"resume","arguments":{"a":1}`, 400,
			`arguments of a call of kind \"timer\" with resume_mode \"replay_tool_call\" cannot be edited, allowed are kind \"person\" with \"replay_tool_call\" or \"pass_decision_to_tool\"","code":"invalid"}`, "", ``, ``},
		{"remembered", time.Minute, `"action":"resume","remember":"thread"`, 400, `remember applies to requests for permission, the call waits for something else","code":"invalid"}`, "", ``, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newReal(t, nap)
				run := r.waits("call: nap")
				ticket := run.Tickets[0]
				if ticket.Kind != core.TicketTimer || ticket.WakeAt != 946688400000 {
					t.Fatalf("it waits with %+v", ticket)
				}
				if got := r.get("/v1/approvals"); !strings.Contains(got, `"approvals":[]`) {
					t.Errorf("approvals %s", got)
				}
				if got := r.get("/v1/runs/" + run.ID.String() + "/steps"); !strings.Contains(got, `"status":"suspended","asked_at":946684800000,"wakes_at":946688400000}`) {
					t.Errorf("while it waits: %s", got)
				}
				time.Sleep(tt.after)
				if tt.after == time.Hour {
					if err := r.runtime.WorkLocal(t.Context(), core.WakeUp{Tenant: "secret-tenant", Thread: "t1"}); err != nil {
						t.Fatal(err)
					}
				}
				decide := func() (int, string) {
					rec := do(r, "POST", "/v1/threads/t1/decision", `{"suspension_id":"`+ticket.Suspension.ID+`","decision_id":"d1",`+tt.body+`}`)
					return rec.Code, rec.Body.String()
				}
				status, text := decide()
				if status != tt.status || !strings.Contains(text, tt.error) {
					t.Fatalf("status %d, want %d: %s", status, tt.status, text)
				}
				if tt.result == "" {
					return
				}
				again := func(when string) {
					if status, text := decide(); status == 202 && !strings.Contains(text, `"duplicate":true`) || status != tt.status {
						t.Errorf("again %s: %d %s", when, status, text)
					}
				}
				again("before it continues")
				r.work()
				again("after it has continued")
				if got := r.result(); got.Status != tt.result || string(got.Data) != tt.says {
					t.Errorf("the call is %s with %s, want %s with %s", got.Status, got.Data, tt.result, tt.says)
				}
				if got := r.get("/v1/runs/" + run.ID.String() + "/steps"); !strings.Contains(got, tt.timeline) {
					t.Errorf("afterwards: %s\nwant %s", got, tt.timeline)
				}
			})
		})
	}
}
