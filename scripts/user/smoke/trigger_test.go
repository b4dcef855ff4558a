package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const standardSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// triggers have one of each scheme, one that asks a person, and one that wants other
// events, each on a thread that its event names.
const triggers = `{"triggers": [
	{"name": "github", "source": "webhook", "webhook": {"scheme": "github", "secret": "PLAIN"}, "filter": {"headers": {"x-github-event": ["issues"]}}, "thread": "{{.body.thread}}", "prompt": "echo: github"},
	{"name": "standard", "source": "webhook", "webhook": {"scheme": "standard", "secret": "STANDARD"}, "thread": "{{.body.smoke}}", "prompt": "echo: {{.body.smoke}}"},
	{"name": "slack", "source": "webhook", "webhook": {"scheme": "slack", "secret": "PLAIN"}, "thread": "{{.body.thread}}", "prompt": "approve: slack"},
	{"name": "stripe", "source": "webhook", "webhook": {"scheme": "hmac", "secret": "PLAIN", "hmac": {"header": "Stripe-Signature", "prefix": "v1=", "timestamp_prefix": "t=", "content": "{timestamp}.{body}"}}, "thread": "{{.body.smoke}}", "prompt": "echo: stripe"},
	{"name": "shop", "source": "webhook", "webhook": {"scheme": "hmac", "secret": "PLAIN", "hmac": {"header": "X-Shop", "algorithm": "sha512", "encoding": "base64", "timestamp": "X-Time", "id": "X-ID", "content": "{id}:{timestamp}:{body}"}}, "thread": "{{.body.smoke}}", "prompt": "echo: shop"},
	{"name": "orders", "source": "eventbridge", "thread": "{{.detail.thread}}", "prompt": "fail"}
]}`

// An event of each scheme starts a run, which ends or waits. A thread stays, unless it is
// one of smoke's own.
func TestAnEventStartsARun(t *testing.T) {
	url := startHost(t, "REVEILLE_TRIGGERS="+triggers, "PLAIN=p", "STANDARD="+standardSecret)
	event := func(text string) string {
		file := filepath.Join(t.TempDir(), "event.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	order := event(`{"version":"0","id":"e1","source":"shop","detail-type":"x","detail":{"thread":"order-1"}}`)
	tests := []struct {
		name, trigger, secret string
		arguments             []string
		want                  string // how the line of the report begins
	}{
		{"github", "github", "p", []string{"-scheme", "github", "-header", "X-GitHub-Event: issues", "-event", event(`{"thread":"issue-1"}`)}, "trigger: ok"},
		{"github, of another kind", "github", "p", []string{"-scheme", "github", "-event", event(`{"thread":"issue-2"}`)}, "trigger: FAILED: the event started no run: the filter of the trigger does not match; use another -event"},
		{"github, with another secret", "github", "q", []string{"-scheme", "github"}, "trigger: FAILED: POST " + url + `/v1/triggers/github: status 401, want 202: {"error":"the request has no valid signature of scheme github"`},
		{"standard, on a thread of smoke's own", "standard", standardSecret, []string{"-scheme", "standard"}, "trigger: ok"},
		{"slack, whose run waits", "slack", "p", []string{"-scheme", "slack", "-event", event(`{"thread":"slack-1"}`)}, "trigger: ok"},
		{"hmac, as Stripe has it", "stripe", "p", []string{"-scheme", "hmac", "-hmac", `{"header": "Stripe-Signature", "prefix": "v1=", "timestamp_prefix": "t=", "content": "{timestamp}.{body}"}`}, "trigger: ok"},
		{"hmac, with everything signed", "shop", "p", []string{"-scheme", "hmac", "-hmac", `{"header": "X-Shop", "algorithm": "sha512", "encoding": "base64", "timestamp": "X-Time", "id": "X-ID", "content": "{id}:{timestamp}:{body}"}`}, "trigger: ok"},
		{"hmac, in another form", "shop", "p", []string{"-scheme", "hmac", "-hmac", `{"header": "X-Shop", "timestamp": "X-Time", "id": "X-ID"}`}, "trigger: FAILED: POST " + url + `/v1/triggers/shop: status 401, want 202: {"error":"the request has no valid signature of scheme hmac"`},
		{"a run that fails", "orders", "", []string{"-event", order}, "trigger: FAILED: run 01"},
		{"the same event again", "orders", "", []string{"-event", order}, "trigger: FAILED: run 01"},
		{"no such trigger", "weekly", "", nil, "trigger: FAILED: POST " + url + "/v1/triggers/weekly: status 404, want 202: "},
	}
	reports := map[string]string{}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			report, err := smokesWith(t, tt.secret, append(tt.arguments, "-url", url, "-long", "slow: 3", "-trigger", url+"/v1/triggers/"+tt.trigger)...)
			if len(report) != 7 || !strings.HasPrefix(report[5], tt.want) || (err == nil) != (tt.want == "trigger: ok") {
				t.Errorf("report %q, error %v, want %q in it", report, err, tt.want)
			}
			reports[tt.name] = report[5]
		})
	}
	for name, want := range map[string]string{
		"a run that fails":     " of thread order-1: the run has not ended naturally: it ended with error model ",
		"the same event again": " of thread order-1: an earlier delivery of the same event has started this run: use an -event with another id",
	} {
		if !strings.Contains(reports[name], want) {
			t.Errorf("%s: %q, want %q in it", name, reports[name], want)
		}
	}
	if diff := cmp.Diff([]string{"order-1", "slack-1", "issue-1"}, threads(t, url)); diff != "" {
		t.Errorf("threads that are left (-want +got):\n%s", diff)
	}
}

// threads are the ids of all threads, the newest first.
func threads(t *testing.T, url string) (ids []string) {
	t.Helper()
	response, err := http.Get(url + "/v1/threads")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var page struct {
		Threads []struct {
			ID string `json:"thread_id"`
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&page); err != nil {
		t.Fatal(err)
	}
	for _, thread := range page.Threads {
		ids = append(ids, thread.ID)
	}
	return ids
}

func TestFlagsOfATriggerGoTogether(t *testing.T) {
	tests := []struct {
		name, secret string
		arguments    []string
		want         string
	}{
		{"an event without a trigger", "", []string{"-event", "x.json"}, "-event, -scheme, -hmac and -header require -trigger"},
		{"no address", "", []string{"-trigger", "issues"}, `-trigger is "issues", want the address of a trigger, with http:// or https://`},
		{"an unknown scheme", "s", []string{"-trigger", "http://x", "-scheme", "gitlab"}, `-scheme is "gitlab", want github, standard, slack or hmac`},
		{"a scheme without a secret", "", []string{"-trigger", "http://x", "-scheme", "slack"}, "-scheme slack requires the variable SMOKE_TRIGGER_SECRET"},
		{"hmac without its form", "s", []string{"-trigger", "http://x", "-scheme", "hmac"}, "-scheme hmac and -hmac require each other"},
		{"a form of another scheme", "s", []string{"-trigger", "http://x", "-scheme", "slack", "-hmac", `{"header":"X"}`}, "-scheme hmac and -hmac require each other"},
		{"a form without a scheme", "", []string{"-trigger", "http://x", "-hmac", `{"header":"X"}`}, "-scheme hmac and -hmac require each other"},
		{"a secret without a scheme", "s", []string{"-trigger", "http://x"}, "SMOKE_TRIGGER_SECRET is set without -scheme: want github, standard, slack or hmac"},
		{"half a header", "", []string{"-trigger", "http://x", "-header", "X-Y"}, `invalid value "X-Y" for flag -header: want NAME: VALUE`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := smokesWith(t, tt.secret, append(tt.arguments, "-url", "http://127.0.0.1:1")...); err == nil || err.Error() != tt.want {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}
