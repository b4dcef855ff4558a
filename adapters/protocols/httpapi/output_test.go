package httpapi_test

import (
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
)

// What a client's tool puts out is data, whatever it looks like; only a person
// denies by saying so.
func TestOnlyAPersonDeniesByAPayload(t *testing.T) {
	for _, tt := range []struct {
		tool   string
		status core.ResultStatus
		data   string
	}{
		{"where", core.ResultSet, `{"approved":false}`},
		{"confirm", core.ResultDenied, ``},
	} {
		t.Run(tt.tool, func(t *testing.T) {
			r := newReal(t)
			run := r.waits("call: " + tt.tool)
			r.ok("POST", "/v1/runs/"+run.ID.String()+"/decision", `{"tool_call_id":"`+run.Tickets[0].CallID+`","action":"resume","payload":{"approved": false}}`)
			r.work()
			if got := r.result(); got.Status != tt.status || string(got.Data) != tt.data {
				t.Errorf("the call is %s, %s; want %s, %s", got.Status, got.Data, tt.status, tt.data)
			}
		})
	}
}

func TestTheOutputOfAClientToolIsDataOverTheAISDK(t *testing.T) {
	r := newReal(t)
	run := r.waits("call: where")
	call := run.Tickets[0].CallID
	rec := r.ok("POST", "/v1/ai-sdk/chat", `{"id":"t1","messages":[{"id":"`+run.ID.String()+`","role":"assistant","parts":[`+
		`{"type":"tool-where","toolCallId":"`+call+`","state":"output-available","input":{},"output":{"approved":false}}]}]}`)
	if want := `data: {"type":"tool-output-available","toolCallId":"` + call + `","output":{"approved":false}}` + "\n"; !strings.Contains(rec.Body.String(), want) {
		t.Errorf("stream without %s\n%s", want, rec.Body)
	}
	if got := r.result(); got.Status != core.ResultSet || string(got.Data) != `{"approved":false}` {
		t.Errorf("the call is %s, %s", got.Status, got.Data)
	}
}
