package local

import (
	"context"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// The metrics of a host that has said something, called a tool, and waits.
func TestMetrics(t *testing.T) {
	url, _ := serveOpenHost(t, filepath.Join(t.TempDir(), "reveille.db"))
	for _, input := range []string{"echo: a", "approve: b", "fail"} {
		if status, body := post(t, url+"/v1/runs", `{"messages":[{"role":"user","content":"`+input+`"}]}`); status != 200 {
			t.Fatalf("status %d: %s", status, body)
		}
	}
	if status, body := post(t, url+"/v1/threads/later/messages", `{"delay_ms":3600000,"messages":[{"role":"user","content":"hi"}]}`); status != 202 {
		t.Fatalf("status %d: %s", status, body)
	}
	get(t, url+"/v1/threads/nowhere")
	status, text := get(t, url+"/metrics")
	parser := expfmt.NewTextParser(model.LegacyValidation)
	if _, err := parser.TextToMetricFamilies(strings.NewReader(text)); err != nil || status != 200 {
		t.Fatalf("status %d, %v", status, err)
	}
	for _, line := range []string{
		`reveille_runs_total{agent="demo",end="natural_end"} 1`,
		`reveille_runs_total{agent="demo",end="error"} 1`,
		`reveille_run_waits_total{agent="demo"} 1`,
		`reveille_threads_waiting 1`,
		`reveille_steps_total{agent="demo"} 2`,
		`reveille_tool_calls_total{status="ok",tool="echo"} 1`,
		`reveille_queue_ready 0`,
		`reveille_followers 0`,
		`reveille_streams_open 0`,
		`reveille_http_requests_total{method="POST",status="200"} 3`,
		`reveille_http_requests_total{method="GET",status="404"} 1`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("there is no %s in\n%s", line, regexp.MustCompile("(?m)^(#|reveille_.*_bucket|go_|process_).*\n").ReplaceAllString(text, ""))
		}
	}
	if status, body := post(t, url+"/metrics", "{}"); status != 404 {
		t.Errorf("a POST is %d: %s", status, body)
	}
}

// A stream that follows a run which nobody works on yet is a follower, until it is closed.
func TestFollowersAreCounted(t *testing.T) {
	url, _ := serveOpenHost(t, "memory")
	_, body := post(t, url+"/v1/threads/later/messages", `{"delay_ms":3600000,"messages":[{"role":"user","content":"hi"}]}`)
	run := regexp.MustCompile(`"run_id":"([^"]+)"`).FindStringSubmatch(body)[1]
	shows := func(want string) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			_, text := get(t, url+"/metrics")
			if strings.Contains(text, "reveille_followers "+want+"\n") && strings.Contains(text, "reveille_streams_open "+want+"\n") {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("followers and streams do not become %s:\n%s", want, text)
			}
		}
	}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/v1/runs/"+run+"/events/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	shows("1")
	leave()
	shows("0")
}
