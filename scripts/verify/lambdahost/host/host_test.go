package host

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

var bootstrap string // the built test function

func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "lambdahost")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	bootstrap = filepath.Join(dir, "bootstrap")
	build := exec.Command("go", "build", "-tags", "lambda.norpc", "-o", bootstrap, "./testdata/function")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		panic(string(out))
	}
	return m.Run()
}

// function is the test function in one of its modes.
func function(mode string) Function {
	return Function{Name: mode, Bootstrap: bootstrap, Env: []string{"MODE=" + mode}}
}

func newHost(t *testing.T, functions ...Function) *Host {
	t.Helper()
	h, err := New(Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Output: io.Discard}, functions...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

// gate lets a function's call wait for the test: arrived gets a value when a
// function calls, and it goes on when the test sends to open.
type gate struct {
	url           string
	arrived, open chan struct{}
}

func newGate(t *testing.T) gate {
	t.Helper()
	g := gate{arrived: make(chan struct{}), open: make(chan struct{})}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		for _, step := range []func() bool{
			func() bool {
				select {
				case g.arrived <- struct{}{}:
					return true
				case <-r.Context().Done():
					return false
				}
			},
			func() bool {
				select {
				case <-g.open:
					return true
				case <-r.Context().Done():
					return false
				}
			},
		} {
			if !step() {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	g.url = server.URL
	return g
}

func invoke(t *testing.T, h *Host, function, event string) (string, error) {
	t.Helper()
	result, err := h.Invoke(t.Context(), function, []byte(event))
	return string(result.Payload), err
}

func TestInvocationsShareASandbox(t *testing.T) {
	h := newHost(t, function("event"))
	first, err := invoke(t, h, "event", `{"do":"pid"}`)
	if err != nil {
		t.Fatal(err)
	}
	second, err := invoke(t, h, "event", `{"do":"pid"}`)
	if err != nil || first != second {
		t.Errorf("responses %s and %s, %v", first, second, err)
	}
	starts := h.Starts()
	if len(starts) != 1 || starts[0].Function != "event" || starts[0].PID <= 0 || starts[0].Init <= 0 {
		t.Errorf("starts = %+v", starts)
	}
}

func TestARecycledSandboxIsNotUsedAgain(t *testing.T) {
	h := newHost(t, function("event"))
	if err := h.Recycle("event"); err != nil { // there is none yet
		t.Fatal(err)
	}
	first, err := invoke(t, h, "event", `{"do":"pid"}`)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Recycle("event"); err != nil {
		t.Fatal(err)
	}
	second, err := invoke(t, h, "event", `{"do":"pid"}`)
	if err != nil || first == second || len(h.Starts()) != 2 {
		t.Errorf("responses %s and %s of %d sandboxes, %v; want two sandboxes", first, second, len(h.Starts()), err)
	}
	if err := h.Recycle("other"); !errors.Is(err, ErrUnknownFunction) {
		t.Errorf("error %v, want ErrUnknownFunction", err)
	}
}

func TestFailuresOfAFunction(t *testing.T) {
	t.Parallel() // it waits for a timeout
	slow := function("event")
	slow.Name, slow.Timeout = "slow", 3*time.Second // enough for the invocations that do not hang
	hang := function("hang")
	hang.InitTimeout = 300 * time.Millisecond
	h := newHost(t, function("event"), slow, function("exit"), hang)
	tests := []struct {
		name, function, event string
		want                  string // the type
		wantMessage           string // a part of it
		fresh                 bool   // the next invocation gets another process
	}{
		{"an error", "event", `{"do":"error"}`, "errorString", "as ordered", false},
		{"a panic", "event", `{"do":"panic"}`, "string", "as ordered", true},
		{"an exit", "event", `{"do":"exit"}`, "Runtime.ExitError", "Runtime exited: exit status 3", true},
		{"a response over 6 MB", "event", `{"do":"large"}`, "Function.ResponseSizeTooLarge", "6291456", true},
		{"a timeout", "slow", `{"do":"hang"}`, "Sandbox.Timedout", "Task timed out after 3.00 seconds", true},
		{"an exit at start", "exit", `{}`, "Runtime.ExitError", "Runtime exited: exit status 7", false},
		{"no sign of life at start", "hang", `{}`, "Sandbox.Timedout", "initialisation took more than 300ms", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			usable := tt.function == "event" || tt.function == "slow"
			var before, after string
			if usable {
				before, _ = invoke(t, h, tt.function, `{"do":"pid"}`)
			}
			_, err := invoke(t, h, tt.function, tt.event)
			var failure *FunctionError
			if !errors.As(err, &failure) || failure.Type != tt.want || !strings.Contains(failure.Message, tt.wantMessage) {
				t.Errorf("error = %v", err)
			}
			if !usable {
				return
			}
			if after, err = invoke(t, h, tt.function, `{"do":"pid"}`); err != nil {
				t.Fatal(err)
			}
			if (before != after) != tt.fresh {
				t.Errorf("pid %s before, %s after", before, after)
			}
		})
	}
}

func TestInvocationsAtOnceGetTheirOwnSandboxes(t *testing.T) {
	f := function("event")
	f.Concurrency = 2
	h := newHost(t, f)
	g := newGate(t)
	pids := make(chan string, 3)
	for range 3 {
		go func() {
			result, _ := h.Invoke(t.Context(), "event", []byte(`{"do":"call","url":"`+g.url+`"}`))
			pids <- string(result.Payload)
		}()
	}
	<-g.arrived
	<-g.arrived // two are inside at once; the third waits for a sandbox
	g.open <- struct{}{}
	first := <-pids
	<-g.arrived
	g.open <- struct{}{}
	g.open <- struct{}{}
	got := []string{first, <-pids, <-pids}
	slices.Sort(got)
	if got = slices.Compact(got); len(got) != 2 || len(h.Starts()) != 2 {
		t.Errorf("pids %q, starts %+v", got, h.Starts())
	}
}

func TestEnvironment(t *testing.T) {
	f := function("event")
	f.MemoryMB = 512
	f.Env = append(f.Env, "AWS_REGION=eu-central-1", "AWS_LAMBDA_FUNCTION_NAME=other")
	h := newHost(t, f)
	response, err := invoke(t, h, "event", `{"do":"env"}`)
	if err != nil {
		t.Fatal(err)
	}
	var env []string
	if err := json.Unmarshal([]byte(response), &env); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"MODE=event", "AWS_REGION=eu-central-1", "AWS_LAMBDA_FUNCTION_NAME=event", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=512",
		"AWS_LAMBDA_FUNCTION_VERSION=$LATEST", "_HANDLER=bootstrap", "LAMBDA_TASK_ROOT=" + filepath.Dir(bootstrap),
	} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is missing", want)
		}
	}
	if slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "HOME=") }) {
		t.Error("the host's environment leaks")
	}
}

func TestDeadlineIsAnnounced(t *testing.T) {
	f := function("event")
	f.Timeout = time.Minute
	h := newHost(t, f)
	before := time.Now().Add(time.Minute).UnixMilli()
	response, err := invoke(t, h, "event", `{"do":"deadline"}`)
	after := time.Now().Add(time.Minute).UnixMilli()
	var deadline int64
	if err := errors.Join(err, json.Unmarshal([]byte(response), &deadline)); err != nil {
		t.Fatal(err)
	}
	if deadline < before || deadline > after {
		t.Errorf("deadline %d, want between %d and %d", deadline, before, after)
	}
}

func TestInvocationOutlivesItsCaller(t *testing.T) {
	h := newHost(t, function("event"))
	g := newGate(t)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := h.Invoke(ctx, "event", []byte(`{"do":"call","url":"`+g.url+`"}`))
		failed <- err
	}()
	<-g.arrived
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
	g.open <- struct{}{} // blocks unless the function still waits
}

func TestRefusals(t *testing.T) {
	h := newHost(t, function("event"))
	if _, err := invoke(t, h, "other", `{}`); !errors.Is(err, ErrUnknownFunction) {
		t.Errorf("unknown function: %v", err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if _, err := invoke(t, h, "event", `{}`); !errors.Is(err, ErrClosed) {
		t.Errorf("closed host: %v", err)
	}
	for name, functions := range map[string][]Function{
		"no name":   {{Bootstrap: bootstrap}},
		"no binary": {{Name: "a", Bootstrap: "testdata/none"}},
		"two":       {function("event"), function("event")},
	} {
		if _, err := New(Options{}, functions...); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestEachInvocationIsReported(t *testing.T) {
	var reports []Report // one sandbox: one at a time
	h, err := New(Options{Logger: slog.New(slog.DiscardHandler), Output: io.Discard, Report: func(r Report) { reports = append(reports, r) }}, function("event"))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	var ids []string
	for range 2 {
		result, err := h.Invoke(t.Context(), "event", []byte(`{"do":"pid"}`))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, result.RequestID)
	}
	if len(reports) != 2 || reports[0].RequestID != ids[0] || reports[1].RequestID != ids[1] {
		t.Fatalf("reports %+v of %q", reports, ids)
	}
	if reports[0].Init != h.Starts()[0].Init || reports[1].Init != 0 {
		t.Errorf("the first sandbox took %v to start, reported are %v and %v", h.Starts()[0].Init, reports[0].Init, reports[1].Init)
	}
	for _, r := range reports {
		if r.Function != "event" || r.Duration <= 0 || r.Duration > time.Minute {
			t.Errorf("report %+v", r)
		}
		if runtime.GOOS == "linux" && (r.CPU <= 0 || r.MaxMemoryMB < 2 || r.MaxMemoryMB > 200) {
			t.Errorf("report %+v", r)
		}
	}
}
