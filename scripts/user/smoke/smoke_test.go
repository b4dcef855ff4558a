package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// startHost starts a local host with the demo agent, which ends with the test.
func startHost(t *testing.T, environ ...string) (url string) {
	t.Helper()
	folder := t.TempDir()
	binary := filepath.Join(folder, "demo")
	if out, err := exec.Command("go", "build", "-o", binary, "../demo").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		t.Fatal(err)
	}
	host := exec.Command(binary)
	host.Env = append(environ, "REVEILLE_ADDR=127.0.0.1:0", "REVEILLE_DATA=memory")
	host.Stderr = log
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = host.Process.Signal(os.Interrupt)
		_ = host.Wait() // how it ends is not looked at here
		_ = log.Close()
	})
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		text, err := os.ReadFile(log.Name())
		if err != nil {
			t.Fatal(err)
		}
		if _, rest, found := strings.Cut(string(text), "msg=listening url="); found {
			return strings.Fields(rest)[0]
		}
	}
	t.Fatal("the host did not start within a minute")
	return ""
}

// usage is what comes of that check on a local host.
const usage = "ok"

var seconds = regexp.MustCompile(` +[0-9.]+ s  `)

// smokes runs the command and returns what it reports, without the times.
func smokes(t *testing.T, arguments ...string) (report []string, err error) {
	t.Helper()
	return smokesWith(t, "", arguments...)
}

// smokesWith does so with a trigger's secret.
func smokesWith(t *testing.T, secret string, arguments ...string) (report []string, err error) {
	t.Helper()
	var out strings.Builder
	err = run(t.Context(), arguments, func(name string) string { return map[string]string{"SMOKE_TRIGGER_SECRET": secret}[name] }, &out, io.Discard)
	for line := range strings.Lines(out.String()) {
		report = append(report, seconds.ReplaceAllString(strings.TrimSuffix(line, "\n"), ": "))
	}
	return report, err
}

func TestAHostThatWorksPasses(t *testing.T) {
	url := startHost(t)
	report, err := smokes(t, "-url", url+"/")
	if err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"health: ok", "chat: ok", "tool: ok", "approval: ok", "resume: ok", "trigger: skipped: -trigger is not set", "usage: " + usage}, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	response, err := http.Get(url + "/v1/threads")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err != nil || strings.Contains(string(text), "smoke-") {
		t.Errorf("after the checks the threads are %s, %v, want none of theirs", text, err)
	}
}

// An agent that does not do what it is asked for fails the check, and the others go on.
func TestWhatDoesNotWorkIsNamed(t *testing.T) {
	report, err := smokes(t, "-url", startHost(t), "-chat", "fail", "-tool", "no tool", "-approval", "echo: at once", "-long", "fail")
	if want := "4 of 6 checks of "; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want it to begin with %q", err, want)
	}
	for i, want := range []string{
		"health: ok",
		`chat: FAILED: the agent returned no text for "fail": it ended with error model `,
		`tool: FAILED: the agent called no tool for "no tool"`,
		`approval: FAILED: the run does not wait for approval after "echo: at once": it ended with natural_end, and 1 calls are done`,
		`resume: FAILED: the agent returned no text for "fail"`,
		"trigger: skipped: -trigger is not set",
		"usage: " + usage,
	} {
		if i >= len(report) || !strings.HasPrefix(report[i], want) {
			t.Errorf("line %d of the report is not %q:\n%s", i+1, want, strings.Join(report, "\n"))
		}
	}
}

// A stream whose pieces are not the answer fails, as one does that has no end.
func TestAStreamThatLosesTextFails(t *testing.T) {
	const start = "id: 1\ndata: {\"event_type\":\"run_start\",\"run_id\":\"01938a5e-7b4c-7def-8123-456789abcdef\"}\n\n"
	const finish = "id: 3\ndata: {\"event_type\":\"run_finish\",\"response\":\"one two\",\"termination\":{\"type\":\"natural_end\"}}\n\n"
	var last []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodPost:
			_, _ = io.WriteString(w, start+"id: 2\ndata: {\"event_type\":\"text_delta\",\"delta\":\"one\"}\n\n")
		case http.MethodGet:
			last = append(last, r.URL.Path+" "+r.Header.Get("Last-Event-ID"))
			_, _ = io.WriteString(w, finish)
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	}))
	defer server.Close()
	report, err := smokes(t, "-url", server.URL)
	want := `resume: FAILED: the texts of 2 streams are "one", the response is "one two"`
	if err == nil || len(report) != 7 || report[4] != want {
		t.Errorf("report %q, want %q in it", report, want)
	}
	if got := last[len(last)-1]; got != "/v1/runs/01938a5e-7b4c-7def-8123-456789abcdef/events/stream 2" {
		t.Errorf("the client came back by %s", got)
	}
}

func TestRequestsSayWhoSendsThem(t *testing.T) {
	keys := map[string]string{"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "session"}
	tests := []struct {
		name, url   string
		environment map[string]string
		want        string // in Authorization
		failed      string
	}{
		{"a local host", "http://127.0.0.1:3000", keys, "", ""},
		{"a token", "https://abc.lambda-url.eu-central-1.on.aws", map[string]string{"SMOKE_TOKEN": "t"}, "Bearer t", ""},
		{"a function URL", "https://abc.lambda-url.eu-central-1.on.aws", keys, "/eu-central-1/lambda/aws4_request, SignedHeaders=", ""},
		{"an API", "https://abc.execute-api.us-east-1.amazonaws.com/live", keys, "/us-east-1/execute-api/aws4_request, SignedHeaders=", ""},
		{"no keys", "https://abc.lambda-url.eu-central-1.on.aws", nil, "", "abc.lambda-url.eu-central-1.on.aws requires signed requests or tokens: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or SMOKE_TOKEN"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			identify, err := identity(test.url, func(name string) string { return test.environment[name] })
			if err != nil {
				if err.Error() != test.failed {
					t.Errorf("error %v, want %q", err, test.failed)
				}
				return
			}
			r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, test.url+"/v1/runs", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			if err := identify(r, []byte("{}")); err != nil {
				t.Fatal(err)
			}
			got := r.Header.Get("Authorization")
			if test.failed != "" || !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
				t.Errorf("Authorization is %q, want %q in it", got, test.want)
			}
			if sum := r.Header.Get("X-Amz-Content-Sha256"); strings.Contains(test.want, "aws4") && sum != "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a" {
				t.Errorf("the body's hash is %s", sum)
			}
		})
	}
}

func TestAddressesThatAreNone(t *testing.T) {
	for _, url := range []string{"", "127.0.0.1:3000", "ftp://x"} {
		if _, err := smokes(t, "-url", url); err == nil || !strings.Contains(err.Error(), "want the address of a deployment") {
			t.Errorf("%q: %v", url, err)
		}
	}
}
