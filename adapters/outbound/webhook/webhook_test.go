package webhook_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/internal/egress"
	"github.com/reveille-run/reveille/adapters/outbound/webhook"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/secret"
)

// The first is the key of the specification's example.
const (
	key      = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	otherKey = "whsec_QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE="
)

var announcement = mailbox.Announcement{
	ID: "01020304-0506-4708-890a-0b0c0d0e0f10.17.waiting", Type: mailbox.RunWaiting, At: time.UnixMilli(1_674_087_231_250).UTC(),
	Tenant: "acme", User: "ann", ThreadID: "t1", RunID: core.ID{1, 2, 3, 4, 5, 6, 0x47, 8, 0x89, 10, 11, 12, 13, 14, 15, 16}, AgentID: "demo",
	Steps: 1, Usage: core.Usage{Input: 10, Output: 5}, Missed: 2,
	Tickets: []mailbox.AnnouncedTicket{{SuspensionID: "s1", CallID: "c1", Tool: "deploy", Action: "tool:PermissionConfirm", Kind: core.TicketPerson, Deadline: 1_674_090_831_250}},
}

const body = `{"id":"01020304-0506-4708-890a-0b0c0d0e0f10.17.waiting","type":"run.waiting","timestamp":"2023-01-19T00:13:51.25Z",` +
	`"data":{"tenant":"acme","user":"ann","thread_id":"t1","run_id":"01020304-0506-4708-890a-0b0c0d0e0f10","agent_id":"demo","steps":1,` +
	`"usage":{"input":10,"output":5},` +
	`"tickets":[{"suspension_id":"s1","tool_call_id":"c1","tool_name":"deploy","action":"tool:PermissionConfirm","kind":"person","expires_at":1674090831250}],"missed":2}}`

// at is a clock that stands.
func at(unix int64) *env.Env {
	e := env.System()
	e.Now = func() time.Time { return time.Unix(unix, 0) }
	return e
}

// hook starts a receiver and returns a webhook to it.
func hook(t *testing.T, secrets string, receive http.HandlerFunc) mailbox.Publisher {
	t.Helper()
	server := httptest.NewServer(receive)
	t.Cleanup(server.Close)
	w, err := webhook.New(webhook.Options{
		URL: server.URL + "/in?token=abc", Secret: secret.New(secrets), Loopback: true, Env: at(1_674_087_231),
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestRequest(t *testing.T) {
	w := hook(t, key+" "+otherKey, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if diff := cmp.Diff(body, string(b)); diff != "" {
			t.Errorf("body (-want +got):\n%s", diff)
		}
		got := map[string]string{"method": r.Method, "url": r.URL.String()}
		for _, name := range []string{"Content-Type", "Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"} {
			got[name] = r.Header.Get(name)
		}
		want := map[string]string{
			"method": "POST", "url": "/in?token=abc", "Content-Type": "application/json",
			"Webhook-Id":        "01020304-0506-4708-890a-0b0c0d0e0f10.17.waiting",
			"Webhook-Timestamp": "1674087231",
			"Webhook-Signature": "v1,2ygbaeui71gtOITAO+OnqT0FgF8jRTcJBJ7kIvCwwjI= v1,AD7BCzFmG21spfs+xi4Y/gdsXZl5aLXYanDTDTUDhDo=",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("request (-want +got):\n%s", diff)
		}
		w.WriteHeader(http.StatusAccepted)
	})
	if err := w.Publish(t.Context(), announcement); err != nil {
		t.Error(err)
	}
}

// A receiver that fails twice gets it once after that, under the same id.
func TestTriesHaveOneID(t *testing.T) {
	statuses := []int{http.StatusInternalServerError, http.StatusFound, http.StatusNoContent}
	var ids []string
	w := hook(t, key, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(statuses[len(ids)])
		ids = append(ids, r.Header.Get("Webhook-Id"))
	})
	for i, want := range []string{"webhook: status 500", "webhook: status 302: the server redirects to another path of the same host, and redirects are not followed: configure the final address", ""} {
		err := w.Publish(t.Context(), announcement)
		if want == "" && err != nil || want != "" && (core.CodeOf(err) != core.CodeUnavailable || err.Error() != want) {
			t.Errorf("try %d: %v, want %q", i, err, want)
		}
	}
	if len(ids) != 3 || ids[0] != ids[1] || ids[1] != ids[2] {
		t.Errorf("ids %v", ids)
	}
}

// A secret that is kept elsewhere is asked for at each try, so that one that was replaced
// signs from then on; while there is none nothing is sent.
func TestSecretThatIsReplaced(t *testing.T) {
	var signatures []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		signatures = append(signatures, r.Header.Get("Webhook-Signature"))
	}))
	defer server.Close()
	var text string
	var away error
	source := func(context.Context, secret.String) (secret.String, error) { return secret.New(text), away }
	w, err := webhook.New(webhook.Options{URL: server.URL, Source: source, Loopback: true, Env: at(1_674_087_231)})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		text string
		away error
		want string
	}{
		{key, nil, ""},
		{otherKey, nil, ""},
		{"hunter2", nil, "webhook: secret 1 is not whsec_ and the base64 of 24 to 64 bytes, as Standard Webhooks has them"},
		{"", errors.New("the store is away"), "webhook: the store is away"},
	} {
		text, away = step.text, step.away
		if err := w.Publish(t.Context(), announcement); step.want == "" && err != nil || step.want != "" && (err == nil || err.Error() != step.want) {
			t.Errorf("%q: %v, want %q", step.text, err, step.want)
		}
	}
	want := []string{"v1,2ygbaeui71gtOITAO+OnqT0FgF8jRTcJBJ7kIvCwwjI=", "v1,AD7BCzFmG21spfs+xi4Y/gdsXZl5aLXYanDTDTUDhDo="}
	if diff := cmp.Diff(want, signatures); diff != "" {
		t.Errorf("signatures (-want +got):\n%s", diff)
	}
}

func TestReceiverThatIsGone(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	w, err := webhook.New(webhook.Options{URL: server.URL + "/?token=abc", Secret: secret.New(key), Loopback: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Publish(t.Context(), announcement); err == nil || strings.Contains(err.Error(), "abc") {
		t.Errorf("error %v, want one without the token", err)
	}
}

func TestOptions(t *testing.T) {
	tests := []struct {
		name    string
		options webhook.Options
		want    string
	}{
		{"complete", webhook.Options{URL: "https://hooks.example/x", Secret: secret.New(key)}, ""},
		{"plain", webhook.Options{URL: "http://hooks.example/x", Secret: secret.New(key)}, "webhook: outgoing request refused: the scheme of host hooks.example is http, allowed is https: for a host in your own network, list hooks.example in REVEILLE_EGRESS_ALLOW"},
		{"inside", webhook.Options{URL: "https://10.0.0.1/x", Secret: secret.New(key)}, "webhook: outgoing request refused: host 10.0.0.1 is not public: to allow it, list it in REVEILLE_EGRESS_ALLOW"},
		{"no secret", webhook.Options{URL: "https://hooks.example/x"}, "webhook: there is no secret"},
		{"one of two", webhook.Options{URL: "https://hooks.example/x", Secret: secret.New(key + " whsec_")}, "webhook: secret 2 is not whsec_ and the base64 of 24 to 64 bytes, as Standard Webhooks has them"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, err := webhook.New(tt.options)
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (w != nil || core.CodeOf(err) != core.CodeInvalid || err.Error() != tt.want):
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
	if _, err := webhook.New(webhook.Options{URL: "https://10.0.0.1", Secret: secret.New(key)}); !errors.Is(err, egress.ErrRefused) {
		t.Errorf("error %v does not wrap ErrRefused", err)
	}
}
