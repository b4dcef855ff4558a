package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/reveille-run/reveille/scripts/verify/lambdahost/host"
)

func build(t *testing.T) string {
	t.Helper()
	bootstrap := filepath.Join(t.TempDir(), "bootstrap")
	command := exec.Command("go", "build", "-tags", "lambda.norpc", "-o", bootstrap, "./host/testdata/function")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatal(string(out))
	}
	return bootstrap
}

func TestRunServesAFunction(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	function := build(t) // not in the goroutine below, which could not end the test
	output, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, []string{"-function", "stream=" + function, "-env", "MODE=stream", "-http", "127.0.0.1:0=stream:rest"}, nil, io.Discard, writer)
		_ = writer.Close()
		ended <- err
	}()
	lines := bufio.NewReader(output)
	listening, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	rest := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(lines)
		rest <- string(text)
	}()
	url := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(listening)
	response, err := http.Get(url + "/echo/")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != 201 {
		t.Errorf("status = %d", response.StatusCode)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if text := <-rest; !regexp.MustCompile(`sandbox stream pid \d+: init \d+\.\d ms\n`).MatchString(text) {
		t.Errorf("output = %q", text)
	}
}

func TestOneEventIsInvoked(t *testing.T) {
	function, folder := build(t), t.TempDir()
	event := func(text string) string {
		file := filepath.Join(folder, "event.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	invoke := func(file string) (string, error) {
		var out strings.Builder
		err := run(t.Context(), []string{"-function", "step=" + function, "-env", "MODE=event", "-invoke", "step=" + file}, nil, &out, io.Discard)
		return out.String(), err
	}
	if out, err := invoke(event(`{"do":"pid"}`)); err != nil || !regexp.MustCompile(`^[0-9]+\n$`).MatchString(out) {
		t.Errorf("it printed %q, %v, want the id of a process", out, err)
	}
	if out, err := invoke(event(`{"do":"error"}`)); err == nil {
		t.Errorf("it printed %q and the function's error was lost", out)
	}
	if _, err := invoke(event(`{`)); err == nil || !strings.HasSuffix(err.Error(), "event.json is not JSON") {
		t.Errorf("of an event that is not JSON: %v", err)
	}
	if _, err := invoke(filepath.Join(folder, "none.json")); !os.IsNotExist(err) {
		t.Errorf("of a file that is not there: %v", err)
	}
}

// Nothing is made where the SDK would reach AWS itself.
func TestScratchNeedsEndpoints(t *testing.T) {
	for _, environ := range [][]string{nil, {"AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:1"}, {"AWS_ENDPOINT_URL_SQS=http://127.0.0.1:1"}} {
		err := run(t.Context(), []string{"-function", "step=x", "-scratch", "-invoke", "step=x"}, environ, io.Discard, io.Discard)
		if err == nil || !strings.HasPrefix(err.Error(), "-scratch makes tables and a queue at AWS_ENDPOINT_URL_DYNAMODB and AWS_ENDPOINT_URL_SQS: set both") {
			t.Errorf("with %v: %v", environ, err)
		}
	}
}

func TestCommandLine(t *testing.T) {
	got, err := parse([]string{
		"-function", "step=/bin/step,timeout=1m,memory=512,concurrency=3", "-function", "stream=/bin/stream",
		"-http", "127.0.0.1:8080=stream:rest", "-http", ":80=stream",
		"-queue", "http://localhost:5000/1/mailbox=step,batch=5,retry=2s", "-queue", "http://localhost:5000/1/dead=step",
		"-every", "1m=step", "-env", "A=1", "-no-freeze",
	}, []string{"HOME=/root"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	retry, environ := 2*time.Second, []string{"HOME=/root", "A=1"}
	want := &config{
		functions: []host.Function{
			{Name: "step", Bootstrap: "/bin/step", Timeout: time.Minute, MemoryMB: 512, Concurrency: 3, Env: environ, NoFreeze: true},
			{Name: "stream", Bootstrap: "/bin/stream", Env: environ, NoFreeze: true},
		},
		fronts: []front{
			{address: "127.0.0.1:8080", Front: host.Front{Function: "stream", Shape: host.ShapeREST}},
			{address: ":80", Front: host.Front{Function: "stream"}},
		},
		queues: []queueSource{
			{url: "http://localhost:5000/1/mailbox", function: "step", batch: 5, retry: &retry},
			{url: "http://localhost:5000/1/dead", function: "step"},
		},
		schedules: []schedule{{every: time.Minute, function: "step"}},
		environ:   environ,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(config{}, front{}, queueSource{}, schedule{}), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if name := got.queues[0].name(); name != "mailbox" {
		t.Errorf("queue name = %q", name)
	}
}

func TestCommandLineErrors(t *testing.T) {
	tests := []struct{ args, want string }{
		{"", "no -function"},
		{"-function a=b c", `unexpected argument "c"`},
		{"-function a", `invalid value "a" for flag -function: no '='`},
		{"-function a=b,color=red", `invalid value "a=b,color=red" for flag -function: unknown setting "color"`},
		{"-function a=b,timeout=5", `invalid value "a=b,timeout=5" for flag -function: timeout: time: missing unit in duration "5"`},
		{"-function a=b -http :80=a:x", `invalid value ":80=a:x" for flag -http: shape "x" is unknown, allowed are url, rest, http`},
		{"-function a=b -http :80=c", "there is no -function c"},
		{"-function a=b -queue http://q=c", "there is no -function c"},
		{"-function a=b -invoke c=x.json", "there is no -function c"},
		{"-function a=b -invoke a", `invalid value "a" for flag -invoke: no '='`},
		{"-function a=b -invoke a=x -invoke a=y", `invalid value "a=y" for flag -invoke: given twice`},
		{"-function a=b -invoke a=x -every 1s=a", "-invoke ends after one event: it goes with no -http, -queue or -every"},
		{"-function a=b -every 0s=a", `invalid value "0s=a" for flag -every: the interval is not positive`},
		{"-function a=b -env A", `invalid value "A" for flag -env: no '='`},
	}
	for _, tt := range tests {
		if _, err := parse(strings.Fields(tt.args), nil, io.Discard); err == nil || err.Error() != tt.want {
			t.Errorf("%q: error %v, want %s", tt.args, err, tt.want)
		}
	}
}
