//go:build aws

package deployed

import (
	"strings"
	"testing"
	"time"
)

// TestLimitsAreDeployed deploys template.yaml with limits: each function that queues or
// takes steps counts, the one that is refused says until when, and each role allows what
// was called.
func TestLimitsAreDeployed(t *testing.T) {
	d := deploy(t, map[string]string{
		"Auth": "none", "LogLevel": "error", "StepTimeout": "60", "Limits": `{"default":{"runs_a_day":3,"concurrent_runs":2}}`,
	})
	d.poll(t)
	rest, http := d.door(t, "RestApi"), d.door(t, "HttpApi")
	if body := readAll(t, chat(t, rest, "t1", "echo: a").Body); !strings.Contains(body, `"finishReason":"stop"`) {
		t.Errorf("the chat streamed\n%s", body)
	}
	if status, body := send(t, "POST", http+"/v1/threads/t2/messages", `{"messages":[{"role":"user","content":"echo: b"}]}`); status != 202 {
		t.Errorf("the submission came to %d %s", status, body)
	}
	d.ends(t, "t2")
	if _, err := d.host.Invoke(t.Context(), d.name(t, "TriggerFunction"), sampleEvent(t, "schedule")); err != nil {
		t.Error(err)
	}
	d.ends(t, "report")
	for tries := 0; ; tries++ { // a run's place is given back behind the write that ends it
		_, body := send(t, "GET", rest+"/v1/limits", "")
		if strings.Contains(body, `"concurrent_runs":0}`) {
			break
		}
		if tries == 60 {
			t.Fatalf("the places of three runs that are over are not given back: %s", body)
		}
		time.Sleep(500 * time.Millisecond)
	}
	for _, door := range []string{rest, http} {
		status, body := send(t, "POST", door+"/v1/threads/t3/messages", `{"messages":[{"role":"user","content":"echo: c"}]}`)
		if status != 429 || !strings.Contains(body, `"code":"tenant_limit","limit":"runs_a_day","allowed":"3","used":"3","ends_at":"`) {
			t.Errorf("the fourth run came to %d %s", status, body)
		}
		status, body = send(t, "GET", door+"/v1/limits", "")
		if status != 200 || !strings.Contains(body, `"used":{"runs":3,`) || !strings.Contains(body, `"concurrent_runs":0}`) {
			t.Errorf("the limits are %d %s", status, body)
		}
	}
	if result, err := d.host.Invoke(t.Context(), d.name(t, "SweepFunction"), []byte(`{}`)); err != nil || !strings.Contains(string(result.Payload), `"woken":`) {
		t.Errorf("the sweep returned %s, %v", result.Payload, err)
	}
	for _, r := range d.roles(t) {
		for _, c := range r.refused {
			t.Errorf("%s may not %s", r.function, c)
		}
		for _, g := range r.unused { // the rest is the smoke test's
			if strings.HasPrefix(g, "dynamodb:UpdateItem ") || r.function == "SweepFunction" && strings.HasSuffix(g, "/index/listed") {
				t.Errorf("%s does not use %s", r.function, g)
			}
		}
	}
}
