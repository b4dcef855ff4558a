package rules

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/internal/incoming"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
)

// agents are a runtime that keeps what is submitted.
type agents struct{ submitted []mailbox.Submission }

func (*agents) HasAgent(string) bool { return true }
func (*agents) DefaultAgent() string { return "demo" }
func (a *agents) Submit(_ context.Context, s mailbox.Submission) (mailbox.Receipt, error) {
	if s.Thread.Thread == "full" {
		return mailbox.Receipt{}, core.Errorf(core.CodeFull, "8 runs are queued")
	}
	a.submitted = append(a.submitted, s)
	return mailbox.Receipt{ThreadID: s.Thread.Thread, RunID: core.ID{1}, DispatchID: core.ID{2}}, nil
}

const signingSecret = "secret"

// now is the server's clock.
var now = time.Unix(1531420618, 0)

var quiet = slog.New(slog.DiscardHandler)

// newSite is the routes of four triggers.
func newSite(t *testing.T, a *agents) http.Handler {
	t.Helper()
	slack := &webhook{Scheme: schemeSlack, Secret: "SLACK_SECRET"}
	set, err := newSet([]trigger{
		{Name: "chat", Source: incoming.Webhook, Webhook: slack, Prompt: "{{.}}"},
		{Name: "full", Source: incoming.Webhook, Webhook: slack, Prompt: "x", Thread: "full"},
		{Name: "code", Source: incoming.Webhook, Webhook: &webhook{Scheme: schemeGitHub, Secret: "SLACK_SECRET"}, Prompt: "x"},
		{Name: "orders", Source: incoming.EventBridge, Prompt: "x"},
	}, Options{Runtime: a, Tenant: "acme", Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	e := env.System()
	e.Now = func() time.Time { return now }
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "next: ", r.URL.Path) })
	routes, err := set.Routes(RouteOptions{Next: next, Env: e, Secret: func(name string) string {
		return map[string]string{"SLACK_SECRET": signingSecret}[name]
	}})
	if err != nil {
		t.Fatal(err)
	}
	return routes
}

// signed posts a body as Slack would.
func signed(path, body string) *http.Request {
	mac := hmac.New(sha256.New, []byte(signingSecret))
	mac.Write([]byte("v0:1531420618:" + body))
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	r.Header.Set("X-Slack-Request-Timestamp", "1531420618")
	r.Header.Set("X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
	return r
}

func TestRequests(t *testing.T) {
	with := func(r *http.Request, name, value string) *http.Request {
		r.Header.Set(name, value)
		return r
	}
	tests := []struct {
		name    string
		request *http.Request
		status  int
		want    string
	}{
		{"an event", signed("/v1/triggers/chat", `{"event_id":"Ev1"}`), 202,
			`{"status":"queued","runs":[{"thread_id":"chat-937b134ec59fe881a941a58c3d96d4cc","run_id":"01000000-0000-0000-0000-000000000000","dispatch_id":"02000000-0000-0000-0000-000000000000","duplicate":false}]}`},
		{"a challenge", signed("/v1/triggers/chat", `{"type":"url_verification","challenge":"3eZbrw1aB"}`), 200, `{"challenge":"3eZbrw1aB"}`},
		{"what is a challenge to Slack alone", func() *http.Request {
			const body = `{"type":"url_verification","challenge":"3eZbrw1aB"}`
			mac := hmac.New(sha256.New, []byte(signingSecret))
			mac.Write([]byte(body))
			return with(with(signed("/v1/triggers/code", body), "X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil))), "X-GitHub-Delivery", "d1")
		}(), 202, `{"status":"queued","runs":[{"thread_id":"code-6b0602208ad04ee70b032087ec92ada2","run_id":"01000000-0000-0000-0000-000000000000","dispatch_id":"02000000-0000-0000-0000-000000000000","duplicate":false}]}`},
		{"a challenge that nobody signed", with(signed("/v1/triggers/chat", `{"type":"url_verification","challenge":"3eZbrw1aB"}`), "X-Slack-Signature", "v0=00"), 401, `{"error":"the request has no valid signature of scheme slack","code":"unauthorized"}`},
		{"no JSON", signed("/v1/triggers/chat", `{"a":`), 400, `{"error":"the body is not JSON","code":"invalid"}`},
		{"a form", with(signed("/v1/triggers/chat", `a=b`), "Content-Type", "application/x-www-form-urlencoded"), 415, `{"error":"content type of an event must be application/json","code":"unsupported"}`},
		{"a thread that is full", signed("/v1/triggers/full", `{}`), 429, `{"error":"trigger full: 8 runs are queued","code":"full"}`},
		{"another source's, where nobody plays them in", signed("/v1/triggers/orders", `{}`), 404, `{"error":"trigger orders not found","code":"not_found"}`},
		{"no trigger", signed("/v1/triggers/", `{}`), 404, `{"error":"trigger  not found","code":"not_found"}`},
		{"a path below a trigger", signed("/v1/triggers/chat/more", `{}`), 404, `{"error":"trigger chat/more not found","code":"not_found"}`},
		{"another method", httptest.NewRequest(http.MethodPut, "/v1/triggers/chat", http.NoBody), 405, `{"error":"PUT is not allowed here, allowed are POST","code":"method_not_allowed"}`},
		{"another route", signed("/v1/runs", `{}`), 200, `next: /v1/runs`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			newSite(t, &agents{}).ServeHTTP(w, tt.request)
			if got := strings.TrimSpace(w.Body.String()); w.Code != tt.status || got != tt.want {
				t.Errorf("status %d: %s, want %d: %s", w.Code, got, tt.status, tt.want)
			}
		})
	}
}

// What proves who sent a request is nothing for a prompt: whoever reads the thread could
// send it again.
func TestAnEventHasTheHeadersThatAreNoSecrets(t *testing.T) {
	a := &agents{}
	r := signed("/v1/triggers/chat", `{"event_id":"Ev1","text":"hello"}`)
	for _, name := range []string{"Authorization", "Cookie", "Proxy-Authorization", "X-Hub-Signature", "X-Hub-Signature-256", "Webhook-Signature"} {
		r.Header.Set(name, "hush")
	}
	r.Header.Add("X-Twice", "a")
	r.Header.Add("X-Twice", "b")
	r.Header.Del("X-Slack-Retry-Num")
	newSite(t, a).ServeHTTP(httptest.NewRecorder(), r)
	want := `{"body":{"event_id":"Ev1","text":"hello"},"headers":{"content-type":"application/json; charset=utf-8","x-slack-request-timestamp":"1531420618","x-twice":"a, b"}}`
	if len(a.submitted) != 1 {
		t.Fatalf("%d submissions", len(a.submitted))
	}
	if diff := cmp.Diff(want, a.submitted[0].Messages[0].Text()); diff != "" {
		t.Error(diff)
	}
	if a.submitted[0].Key.Value != "trigger:chat:Ev1" {
		t.Errorf("the key is %s", a.submitted[0].Key.Value)
	}
}
