package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/reveille-run/reveille/core"
)

// scrape reads the metrics as Prometheus does, and returns the lines of those whose
// names begin with reveille_, without comments.
func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	rec := httptest.NewRecorder()
	m.ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
	if kind := rec.Header().Get("Content-Type"); rec.Code != 200 || !strings.HasPrefix(kind, "text/plain; version=0.0.4; charset=utf-8") {
		t.Errorf("status %d, content type %q", rec.Code, kind)
	}
	text := rec.Body.String()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for name, f := range families {
		if f.GetHelp() == "" || f.GetType().String() == "UNTYPED" {
			t.Errorf("%s has no help or no type", name)
		}
		if counter := f.GetType().String() == "COUNTER"; counter != strings.HasSuffix(name, "_total") {
			t.Errorf("%s is a %s", name, f.GetType())
		}
	}
	var lines strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "reveille_") {
			lines.WriteString(line)
		}
	}
	return lines.String()
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestWhatStepsDoIsCounted(t *testing.T) {
	m := New(Options{Log: quiet()})
	turn := func(took time.Duration, retries int, usage core.Usage) {
		m.Inferred("demo", &core.Message{Role: core.RoleAssistant, Model: "m", StopReason: core.StopToolUse, Usage: &usage}, took, retries)
	}
	call := func(name string, status core.ResultStatus, took time.Duration) {
		m.ToolCalled("demo", &core.ToolResult{Name: name, Status: status}, took)
	}
	turn(1500*time.Millisecond, 2, core.Usage{Input: 10, Output: 3, CacheRead: 4, CacheWrite: 5, Reasoning: 1})
	call("echo", core.ResultOK, 5*time.Millisecond)
	call("echo", core.ResultOK, 6*time.Millisecond)
	call("echo", core.ResultDenied, 0)
	call("search", core.ResultOK, 7*time.Millisecond)
	call("search", core.ResultError, 8*time.Millisecond)
	m.InferenceFailed("demo", "rate_limited")
	turn(0, 0, core.Usage{Output: 2})
	m.Stepped("demo", 2*time.Second)
	m.Ended(core.Run{AgentID: "demo", Status: core.RunWaiting})
	m.Ended(core.Run{AgentID: "demo", Status: core.RunDone, StartedAt: 1000, FinishedAt: 91_000, Termination: &core.Termination{Type: core.TerminationNatural}})
	m.Ended(core.Run{AgentID: "demo", Status: core.RunDone, FinishedAt: 1, Termination: &core.Termination{Type: core.TerminationError, Code: "model"}})
	want := `reveille_inference_failures_total{kind="rate_limited"} 1
reveille_inference_retries_total{model="m"} 2
reveille_inferences_total{model="m",stop="tool_use"} 2
reveille_run_duration_seconds_bucket{agent="demo",le="0.1"} 0
reveille_run_duration_seconds_bucket{agent="demo",le="0.25"} 0
reveille_run_duration_seconds_bucket{agent="demo",le="0.5"} 0
reveille_run_duration_seconds_bucket{agent="demo",le="1"} 0
reveille_run_duration_seconds_bucket{agent="demo",le="2.5"} 0
reveille_run_duration_seconds_bucket{agent="demo",le="5"} 0
reveille_run_duration_seconds_bucket{agent="demo",le="10"} 0
reveille_run_duration_seconds_bucket{agent="demo",le="30"} 0
reveille_run_duration_seconds_bucket{agent="demo",le="60"} 0
reveille_run_duration_seconds_bucket{agent="demo",le="120"} 1
reveille_run_duration_seconds_bucket{agent="demo",le="300"} 1
reveille_run_duration_seconds_bucket{agent="demo",le="900"} 1
reveille_run_duration_seconds_bucket{agent="demo",le="3600"} 1
reveille_run_duration_seconds_bucket{agent="demo",le="+Inf"} 1
reveille_run_duration_seconds_sum{agent="demo"} 90
reveille_run_duration_seconds_count{agent="demo"} 1
reveille_run_errors_total{code="model"} 1
reveille_run_waits_total{agent="demo"} 1
reveille_runs_total{agent="demo",end="error"} 1
reveille_runs_total{agent="demo",end="natural_end"} 1
reveille_steps_total{agent="demo"} 1
reveille_streams_open 0
reveille_tokens_total{kind="cache_read",model="m"} 4
reveille_tokens_total{kind="cache_write",model="m"} 5
reveille_tokens_total{kind="input",model="m"} 10
reveille_tokens_total{kind="output",model="m"} 5
reveille_tokens_total{kind="reasoning",model="m"} 1
reveille_tool_calls_total{status="denied",tool="echo"} 1
reveille_tool_calls_total{status="error",tool="search"} 1
reveille_tool_calls_total{status="ok",tool="echo"} 2
reveille_tool_calls_total{status="ok",tool="search"} 1
`
	got := scrape(t, m)
	for _, histogram := range []string{"reveille_step_duration_seconds", "reveille_inference_duration_seconds", "reveille_tool_call_duration_seconds"} {
		var kept strings.Builder
		for line := range strings.Lines(got) {
			if !strings.HasPrefix(line, histogram) {
				kept.WriteString(line)
			}
		}
		for _, line := range map[string][]string{
			"reveille_step_duration_seconds":      {`_bucket{agent="demo",le="1"} 0`, `_bucket{agent="demo",le="2.5"} 1`, `_sum{agent="demo"} 2`},
			"reveille_inference_duration_seconds": {`_bucket{model="m",le="0.1"} 1`, `_bucket{model="m",le="2.5"} 2`, `_sum{model="m"} 1.5`},
			// A bound is of its bucket: 5 ms are in that of 5 ms, 6 ms are not.
			"reveille_tool_call_duration_seconds": {`_bucket{tool="echo",le="0.001"} 0`, `_bucket{tool="echo",le="0.005"} 1`, `_bucket{tool="echo",le="0.01"} 2`, `_count{tool="echo"} 2`, `_count{tool="search"} 2`},
		}[histogram] {
			if !strings.Contains(got, histogram+line+"\n") {
				t.Errorf("there is no %s%s", histogram, line)
			}
		}
		got = kept.String()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

func TestWhatTheProcessIsAsked(t *testing.T) {
	var waiting error
	m := New(Options{
		Queue:     func() (int, int, time.Duration) { return 3, 2, 1500 * time.Millisecond },
		Working:   func() int { return 4 },
		Followers: func() int { return 5 },
		Abandoned: func() int { return 6 },
		Waiting:   func(context.Context) (int, error) { return 7, waiting },
		Log:       quiet(), EffectFailures: func() int64 { return 8 },
	})
	want := `reveille_effect_failures_total 8
reveille_followers 5
reveille_queue_delayed 2
reveille_queue_oldest_seconds 1.5
reveille_queue_ready 3
reveille_runs_working 4
reveille_streams_open 0
reveille_threads_waiting 7
reveille_tools_abandoned 6
`
	if diff := cmp.Diff(want, scrape(t, m)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	waiting = errors.New("the disk is gone")
	if got := scrape(t, m); strings.Contains(got, "threads_waiting") || !strings.Contains(got, "reveille_effect_failures_total 8") {
		t.Errorf("metrics of a store that fails:\n%s", got)
	}
}

func TestRequestsAndStreamsAreCounted(t *testing.T) {
	m := New(Options{Log: quiet()})
	var during string
	h := m.Count(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/stream":
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusOK)
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			during = scrape(t, m)
		case "/cut":
			w.WriteHeader(http.StatusOK)
			panic(http.ErrAbortHandler)
		case "/gone":
			http.Error(w, "gone", http.StatusGone)
		case "/text":
			_, _ = io.WriteString(w, "a")
		}
	}))
	for _, request := range []string{"GET /stream", "POST /cut", "GET /gone", "GET /text", "GET /silent", "BREW /silent"} {
		method, path, _ := strings.Cut(request, " ")
		func() {
			defer func() { _ = recover() }() // as net/http does
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, path, nil))
		}()
	}
	want := `reveille_http_requests_total{method="GET",status="200"} 3
reveille_http_requests_total{method="GET",status="410"} 1
reveille_http_requests_total{method="POST",status="200"} 1
reveille_http_requests_total{method="other",status="200"} 1
reveille_streams_open 0
`
	if diff := cmp.Diff(want, scrape(t, m)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	if during != "reveille_streams_open 1\n" {
		t.Errorf("while a stream was open: %s", during)
	}
}

// Names that a model makes up do not make a scrape longer and longer, and cannot break it.
func TestNamesAreBoundedAndEscaped(t *testing.T) {
	m := New(Options{Log: quiet()})
	for n := range 1000 {
		m.ToolCalled("demo", &core.ToolResult{Name: fmt.Sprintf("tool-%d", n), Status: core.ResultInvalid}, 0)
	}
	got := scrape(t, m)
	if lines := strings.Count(got, "reveille_tool_calls_total{"); lines != 201 || !strings.Contains(got, `{status="other",tool="other"} 800`+"\n") {
		t.Errorf("%d lines:\n%s", lines, got)
	}
	m = New(Options{Log: quiet()})
	m.ToolCalled("demo", &core.ToolResult{Name: "a\"b\\c\nd\xff", Status: core.ResultInvalid}, 0)
	if got := scrape(t, m); !strings.Contains(got, `{status="invalid",tool="a\"b\\c\nd?"} 1`+"\n") {
		t.Errorf("metrics:\n%s", got)
	}
}

func TestTheProcessIsShown(t *testing.T) {
	rec := httptest.NewRecorder()
	New(Options{}).ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(rec.Body)
	if err != nil {
		t.Fatal(err)
	}
	value := func(name string) float64 {
		f := families[name]
		if f == nil {
			t.Errorf("there is no %s", name)
			return 0
		}
		return f.Metric[0].GetGauge().GetValue() + f.Metric[0].GetCounter().GetValue()
	}
	if n := value("go_goroutines"); n < 1 || n > 1000 {
		t.Errorf("%v goroutines", n)
	}
	if heap, all := value("go_memstats_heap_alloc_bytes"), value("go_memstats_sys_bytes"); heap < 1000 || heap > all {
		t.Errorf("a heap of %v bytes, %v in all", heap, all)
	}
	if at := time.Unix(int64(value("process_start_time_seconds")), 0); time.Since(at) > time.Hour || at.After(time.Now().Add(time.Second)) {
		t.Errorf("began at %s", at)
	}
}
