package local

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// serveTriggers is serveHost with the triggers of the sample events.
func serveTriggers(t *testing.T) string {
	t.Helper()
	t.Setenv("WEBHOOK_SECRET", "secret")
	s, err := settings.Read([]string{"REVEILLE_TRIGGERS=../../../events/triggers.json"})
	if err != nil {
		t.Fatal(err)
	}
	s.Data = filepath.Join(t.TempDir(), "data.db")
	url, _ := serveSettings(t, s)
	return url
}

// sample is the body and the headers with which a sample event comes over HTTP.
func sample(t *testing.T, name string) (body []byte, header http.Header) {
	t.Helper()
	text, err := os.ReadFile("../../../events/trigger-" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	header = http.Header{"Content-Type": {"application/json"}}
	if name != "webhook" {
		return text, header
	}
	var request struct {
		Body    string
		Headers map[string]string
	}
	if err := json.Unmarshal(text, &request); err != nil {
		t.Fatal(err)
	}
	for name, value := range request.Headers {
		if strings.HasPrefix(name, "x-github-") || strings.HasPrefix(name, "x-hub-") {
			header.Set(name, value)
		}
	}
	return []byte(request.Body), header
}

// fired is the body of a 202 of a trigger's route.
type fired struct {
	Status string
	Runs   []struct {
		ThreadID  string `json:"thread_id"`
		RunID     string `json:"run_id"`
		Duplicate bool
	}
}

func fire(t *testing.T, url, name string, body []byte, header http.Header) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/triggers/"+name, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, response)
}

func TestEachSampleEventStartsOneRunInItsThread(t *testing.T) {
	url := serveTriggers(t)
	tests := []struct{ sample, trigger, thread, asked, last string }{
		{"eventbridge", "orders", "customer-c-17", "echo: order o-4711 of 129.9", "Echo: order o-4711 of 129.9"},
		{"s3", "uploads", "upload-in-annual-report--2026.pdf-c5af2a40fe9081dc", "echo: in/annual report, 2026.pdf in acme-documents", "Echo: in/annual report, 2026.pdf in acme-documents"},
		{"sqs", "tickets", "ticket-4242", "echo: where is my order?", "Echo: where is my order?"},
		{"dynamodb", "stock", "stock-lamp-3", "echo: lamp-3 is sold out", "Echo: lamp-3 is sold out"},
		{"schedule", "report", "report", "echo: report of 2026-11-23T07:00:00Z", "Echo: report of 2026-11-23T07:00:00Z"},
		{"webhook", "issues", "issue-17", "echo: The lamp flickers", "Echo: The lamp flickers"},
	}
	for _, tt := range tests {
		t.Run(tt.sample, func(t *testing.T) {
			var first fired
			for i, duplicate := range []bool{false, true, true} {
				body, header := sample(t, tt.sample)
				status, text := fire(t, url, tt.trigger, body, header)
				var f fired
				if err := json.Unmarshal([]byte(text), &f); err != nil || status != http.StatusAccepted || f.Status != "queued" || len(f.Runs) != 1 {
					t.Fatalf("delivery %d: status %d: %s, %v", i+1, status, text, err)
				}
				if i == 0 {
					first = f
				}
				if f.Runs[0].ThreadID != tt.thread || f.Runs[0].Duplicate != duplicate || f.Runs[0].RunID != first.Runs[0].RunID {
					t.Errorf("delivery %d: %+v, want thread %s, duplicate %v, run %s", i+1, f.Runs[0], tt.thread, duplicate, first.Runs[0].RunID)
				}
				// Until it ends; the first event says the origin.
				if _, stream := get(t, url+"/v1/runs/"+f.Runs[0].RunID+"/events/stream"); !strings.Contains(stream, `"agent_id":"demo","origin":"internal"`) {
					t.Errorf("delivery %d: run_start does not say the run's origin: %s", i+1, stream)
				}
			}
			lines := said(t, url, tt.thread)
			if len(lines) != 4 || lines[0] != "user: "+tt.asked || lines[3] != "assistant: "+tt.last {
				t.Errorf("the thread has %q, want one run that ends with %q", lines, tt.last)
			}
			if _, run := get(t, url+"/v1/runs/"+first.Runs[0].RunID); !strings.Contains(run, `"origin":"internal"`) {
				t.Errorf("the run does not say its origin: %s", run)
			}
		})
	}
}

// A run that waits for a person is not what an event replies to: a second event waits
// behind it.
func TestAnEventLeavesARunThatWaitsAlone(t *testing.T) {
	url := serveTriggers(t)
	body, header := sample(t, "sns")
	var runs []string
	for _, id := range []string{"95df01b4-ee98-5cb9-9903-4c221d41eb5e", "another"} {
		status, text := fire(t, url, "alarms", bytes.Replace(body, []byte("95df01b4-ee98-5cb9-9903-4c221d41eb5e"), []byte(id), 1), header)
		var f fired
		if err := json.Unmarshal([]byte(text), &f); err != nil || status != http.StatusAccepted || len(f.Runs) != 1 || f.Runs[0].Duplicate {
			t.Fatalf("status %d: %s, %v", status, text, err)
		}
		if runs = append(runs, f.Runs[0].RunID); len(runs) == 1 {
			get(t, url+"/v1/runs/"+runs[0]+"/events/stream")
		}
	}
	var waiting struct {
		Status  string
		Tickets []struct {
			Call string `json:"tool_call_id"`
		}
	}
	_, text := get(t, url+"/v1/runs/"+runs[0])
	if err := json.Unmarshal([]byte(text), &waiting); err != nil || waiting.Status != "waiting" || len(waiting.Tickets) != 1 {
		t.Fatalf("%v in %s", err, text)
	}
	if _, text := get(t, url+"/v1/runs/"+runs[1]); !strings.Contains(text, `"status":"created"`) {
		t.Errorf("the second run does not wait behind the first: %s", text)
	}
	status, text := post(t, url+"/v1/runs/"+runs[0]+"/decision", fmt.Sprintf(`{"tool_call_id":%q,"action":"resume"}`, waiting.Tickets[0].Call))
	if status != http.StatusAccepted {
		t.Fatalf("decision: status %d: %s", status, text)
	}
	get(t, url+"/v1/runs/"+runs[0]+"/events/stream")
	get(t, url+"/v1/runs/"+runs[1]+"/events/stream")
	if _, text := get(t, url+"/v1/runs/"+runs[0]); !strings.Contains(text, `"natural_end"`) {
		t.Errorf("the first run did not end: %s", text)
	}
	if _, text := get(t, url+"/v1/runs/"+runs[1]); !strings.Contains(text, `"status":"waiting"`) {
		t.Errorf("the second run does not ask for itself: %s", text)
	}
}

func TestEventsThatAreRefused(t *testing.T) {
	url := serveTriggers(t)
	event, _ := sample(t, "eventbridge")
	hook, signed := sample(t, "webhook")
	with := func(name, value string) http.Header {
		h := signed.Clone()
		h.Set(name, value)
		return h
	}
	plain := http.Header{"Content-Type": {"application/json"}}
	tests := []struct {
		name, trigger string
		body          []byte
		header        http.Header
		status        int
		want          string
	}{
		{"no such trigger", "other", event, plain, 404, `{"error":"trigger other not found","code":"not_found"}`},
		{"no signature", "issues", hook, plain, 401, `{"error":"header X-Hub-Signature-256 is required, exactly once","code":"unauthorized"}`},
		{"another signature", "issues", hook, with("X-Hub-Signature-256", "sha256="+strings.Repeat("0", 64)), 401, `{"error":"the request has no valid signature of scheme github","code":"unauthorized"}`},
		{"another body", "issues", append(bytes.Clone(hook), ' '), signed, 401, `{"error":"the request has no valid signature of scheme github","code":"unauthorized"}`},
		{"an event the filter does not want", "issues", hook, with("X-GitHub-Event", "push"), 202, `{"status":"ignored","runs":[]}`},
		{"another source's event", "uploads", event, plain, 400, `{"error":"the event is of source eventbridge, trigger uploads accepts s3","code":"invalid"}`},
		{"another trigger's moment", "report", []byte(`{"trigger":"weekly","time":"2026-11-23T07:00:00Z"}`), plain, 400, `{"error":"the event is for trigger weekly, not for report","code":"invalid"}`},
		{"no event", "orders", []byte(`{"a":1}`), plain, 400, `{"error":"the event has the keys a, known are an EventBridge event (version, id, detail-type, source, detail), Records of aws:s3, aws:sns, aws:sqs or aws:dynamodb, and {\"trigger\", \"time\"} of a schedule","code":"invalid"}`},
		{"an event without what the prompt needs", "orders", []byte(`{"version":"0","id":"1","detail-type":"Order placed","source":"shop.orders","detail":{"customer":"c","total":100}}`), plain, 400,
			`{"error":"trigger orders: prompt: template: prompt:1:21: executing \"prompt\" at <.detail.order>: map has no entry for key \"order\"","code":"invalid"}`},
		{"a page of another site", "orders", event, http.Header{"Content-Type": {"application/json"}, "Origin": {"https://evil.example"}}, 403,
			`{"error":"the request comes from a page of another site; set REVEILLE_ORIGINS to allow its origin","code":"forbidden"}`},
		{"what a page may send without asking", "orders", event, http.Header{"Content-Type": {"text/plain"}}, 415,
			`{"error":"content type of a POST must be application/json, or absent without a body: a form could come from a page of another site","code":"unsupported"}`},
		{"too large", "orders", bytes.Repeat([]byte(" "), 1<<20+1), plain, 413, `{"error":"request body is larger than 1048576 bytes","code":"too_large"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, text := fire(t, url, tt.trigger, tt.body, tt.header)
			if status != tt.status || strings.TrimSpace(text) != tt.want {
				t.Errorf("status %d: %s, want %d: %s", status, text, tt.status, tt.want)
			}
		})
	}
	if status, text := get(t, url+"/v1/triggers/orders"); status != 405 || !strings.Contains(text, `"GET is not allowed here, allowed are POST"`) {
		t.Errorf("GET: status %d: %s", status, text)
	}
	rebound := exchange(t, strings.TrimPrefix(url, "http://"), "POST /v1/triggers/orders HTTP/1.1\nHost: evil.example\nContent-Type: application/json\nContent-Length: 2\nConnection: close\n\n{}")
	if !strings.HasPrefix(rebound, `421 {"error":"host \"evil.example\" is not a name of this machine`) {
		t.Errorf("by a name that was made to lead here: %s", rebound)
	}
}

func TestTheHostDoesNotStartWithBrokenTriggers(t *testing.T) {
	t.Setenv("WEBHOOK_SECRET", "")
	tests := []struct{ name, triggers, want string }{
		{"no file", "none.json", "REVEILLE_TRIGGERS: open none.json: no such file or directory"},
		{"an unknown agent", `{"triggers":[{"name":"a","source":"sqs","prompt":"x","agent":"nobody"}]}`, `triggers[0] (a): agent "nobody" is unknown: the deployment has no such agent`},
		{"no secret", "../../../events/triggers.json", "trigger issues: environment variable WEBHOOK_SECRET is required: it is the secret that signs requests"},
	}
	for _, tt := range tests {
		s, err := settings.Read([]string{"REVEILLE_DATA=memory", "REVEILLE_TRIGGERS=" + tt.triggers})
		if err != nil {
			t.Fatal(err)
		}
		h, err := newHost(t.Context(), env.System(), s, slog.New(slog.DiscardHandler), demonstration)
		if err == nil {
			h.shutDown()
		}
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
}

// TestTheHostKeepsTheTimeOfItsSchedules: its clock stands just before a minute when it
// starts. Where that takes so long that it has missed the minute, the next one counts.
func TestTheHostKeepsTheTimeOfItsSchedules(t *testing.T) {
	s, err := settings.Read([]string{`REVEILLE_TRIGGERS={"triggers":[
		{"name":"tick","source":"schedule","schedule":"rate(1 minute)","thread":"ticks","prompt":"echo: {{.trigger}}"},
		{"name":"never","source":"schedule","thread":"never","prompt":"x"}]}`, "REVEILLE_DATA=memory"})
	if err != nil {
		t.Fatal(err)
	}
	e := env.System()
	ahead := time.Minute - time.Duration(time.Now().UnixNano())%time.Minute - 500*time.Millisecond
	e.Now = func() time.Time { return time.Now().Add(ahead) }
	h, err := newHost(t.Context(), e, s, slog.New(slog.DiscardHandler), demonstration)
	if err != nil {
		t.Fatal(err)
	}
	defer h.shutDown()
	server := httptest.NewServer(h.handler)
	defer server.Close()
	var lines []string
	for end := time.Now().Add(90 * time.Second); len(lines) < 4 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if status, _ := get(t, server.URL+"/v1/threads/ticks"); status == http.StatusOK {
			lines = said(t, server.URL, "ticks")
		}
	}
	if diff := cmp.Diff([]string{"user: echo: tick", `assistant: echo{"text":"tick"}`, `tool: {"text":"tick"}`, "assistant: Echo: tick"}, lines); diff != "" {
		t.Error(diff)
	}
	if status, _ := get(t, server.URL+"/v1/threads/never"); status != http.StatusNotFound {
		t.Errorf("a trigger without schedule has a thread: status %d", status)
	}
}
