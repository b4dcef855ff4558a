package eventbridge

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
)

var announcement = mailbox.Announcement{
	ID: "01020304-0506-4708-890a-0b0c0d0e0f10.17.ended", Type: mailbox.RunEnded, At: time.UnixMilli(1_674_087_231_250).UTC(),
	Tenant: "acme", ThreadID: "t1", RunID: core.ID{1, 2, 3, 4, 5, 6, 0x47, 8, 0x89, 10, 11, 12, 13, 14, 15, 16}, AgentID: "demo", Steps: 2,
	Termination: &core.Termination{Type: core.TerminationNatural},
}

const detail = `{"id":"01020304-0506-4708-890a-0b0c0d0e0f10.17.ended","type":"run.ended","timestamp":"2023-01-19T00:13:51.25Z",` +
	`"data":{"tenant":"acme","thread_id":"t1","run_id":"01020304-0506-4708-890a-0b0c0d0e0f10","agent_id":"demo","steps":2,"termination":{"type":"natural_end"}}}`

// bus is the bus "runs" at a server of these variables.
func bus(t *testing.T, variables map[string]string) (mailbox.Publisher, error) {
	t.Helper()
	e := env.System()
	e.Now = func() time.Time { return time.Unix(1_674_087_231, 0) }
	return New(awsenv.Config{Getenv: func(name string) string { return variables[name] }}, e, "runs")
}

func variables(endpoint string) map[string]string {
	return map[string]string{
		"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "SECRET", "AWS_SESSION_TOKEN": "TOKEN",
		"AWS_ENDPOINT_URL_EVENTBRIDGE": endpoint,
	}
}

func TestCall(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var got struct{ Entries []map[string]any }
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		want := []map[string]any{{"EventBusName": "runs", "Source": "reveille", "DetailType": "run.ended", "Detail": detail, "Time": 1674087231.0}}
		if diff := cmp.Diff(want, got.Entries); diff != "" {
			t.Errorf("entries (-want +got):\n%s", diff)
		}
		scope := "AWS4-HMAC-SHA256 Credential=AKID/20230119/eu-west-1/events/aws4_request, SignedHeaders="
		if a := r.Header.Get("Authorization"); !strings.HasPrefix(a, scope) || !strings.Contains(a, "x-amz-target") {
			t.Errorf("authorization %s", a)
		}
		if r.Method != "POST" || r.URL.Path != "/" || r.Header.Get("X-Amz-Target") != "AWSEvents.PutEvents" ||
			r.Header.Get("Content-Type") != "application/x-amz-json-1.1" || r.Header.Get("X-Amz-Security-Token") != "TOKEN" {
			t.Errorf("%s %s with %v", r.Method, r.URL, r.Header)
		}
		_, _ = io.WriteString(w, `{"FailedEntryCount":0,"Entries":[{"EventId":"11710aed-b79e-4468-a20b-bb3c0c3b4860"}]}`)
	}))
	defer server.Close()
	b, err := bus(t, variables(server.URL+"/"))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Publish(t.Context(), announcement); err != nil {
		t.Error(err)
	}
}

// Only an entry that was taken counts: the call succeeds also when its entry fails.
func TestWhatIsNoYes(t *testing.T) {
	tests := []struct {
		name   string
		status int
		body   string
		want   string
	}{
		{"a failed entry", 200, `{"FailedEntryCount":1,"Entries":[{"ErrorCode":"ThrottlingException","ErrorMessage":"slow down"}]}`, "put event on bus runs: ThrottlingException: slow down"},
		{"no entry", 200, `{}`, "put event on bus runs: no entry"},
		{"no JSON", 200, `<html>`, "put event on bus runs: the response is not JSON"},
		{"refused", 400, `{"__type":"AccessDeniedException"}`, `put event on bus runs: status 400: {"__type":"AccessDeniedException"}`},
		{"a redirect", 302, ``, "put event on bus runs: status 302: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			}))
			defer server.Close()
			b, err := bus(t, variables(server.URL))
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Publish(t.Context(), announcement); core.CodeOf(err) != core.CodeUnavailable || err.Error() != tt.want {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

func TestTheEnvironmentIsChecked(t *testing.T) {
	if _, err := bus(t, map[string]string{"AWS_REGION": "eu-west-1"}); err == nil || err.Error() != "EventBridge client: environment variable AWS_ACCESS_KEY_ID is not set" {
		t.Errorf("error %v", err)
	}
}
